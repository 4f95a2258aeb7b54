# rpmem_options: what every target of the project is compiled with.
add_library(rpmem_options INTERFACE)
target_compile_options(rpmem_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<BOOL:${RPMEM_WERROR}>:-Werror>)
target_include_directories(rpmem_options INTERFACE
    ${PROJECT_SOURCE_DIR}/common ${PROJECT_SOURCE_DIR}/include)
if(RPMEM_SANITIZE)
    target_compile_options(rpmem_options INTERFACE
        -fsanitize=${RPMEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(rpmem_options INTERFACE -fsanitize=${RPMEM_SANITIZE})
    # Lines are all that the reports show. Optimised, it would take longer to compile than to run.
    set(CMAKE_C_FLAGS_DEBUG "-g1")
    set(CMAKE_CXX_FLAGS_DEBUG "-g1")
endif()
