# SPDX-License-Identifier: BSD-3-Clause
# rpmem_options: what every target of the project is compiled with.
add_library(rpmem_options INTERFACE)
target_compile_options(rpmem_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<BOOL:${RPMEM_WERROR}>:-Werror>)
target_include_directories(rpmem_options INTERFACE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
if(RPMEM_SANITIZE)
    target_compile_options(rpmem_options INTERFACE
        -fsanitize=${RPMEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(rpmem_options INTERFACE -fsanitize=${RPMEM_SANITIZE})
    # Lines are all that the reports show. Optimised, it would take longer to compile than to run.
    set(CMAKE_C_FLAGS_DEBUG "-g1")
    set(CMAKE_CXX_FLAGS_DEBUG "-g1")
endif()
if(RPMEM_FUZZ)
    # The libraries tell libFuzzer which branches an input took. The fuzz targets run far more often
    # than they are compiled.
    target_compile_options(rpmem_options INTERFACE -fsanitize=fuzzer-no-link)
    set(CMAKE_C_FLAGS_DEBUG "-g1 -O1")
    set(CMAKE_CXX_FLAGS_DEBUG "-g1 -O1")
endif()

# Installed files are hardened. Debug and sanitizer builds are not installed: they leave this out,
# because _FORTIFY_SOURCE needs optimisation, and hides from the sanitizers what they look for.
set(RPMEM_FOR_INSTALLATION OFF)
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT RPMEM_SANITIZE)
    set(RPMEM_FOR_INSTALLATION ON)
    include(CheckCXXCompilerFlag)
    include(CheckPIESupported)
    check_pie_supported()
    add_compile_options(-fstack-protector-strong -fstack-clash-protection
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    # Only compilers for x86 know this option.
    check_cxx_compiler_flag(-fcf-protection=full RPMEM_HAS_CF_PROTECTION)
    if(RPMEM_HAS_CF_PROTECTION)
        add_compile_options(-fcf-protection=full)
    endif()
    add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

set(RPMEM_SPLIT_SYMBOLS OFF)
if(RPMEM_STRIP AND RPMEM_FOR_INSTALLATION AND CMAKE_OBJCOPY)
    set(RPMEM_SPLIT_SYMBOLS ON)
endif()

# rpmem_keep_symbols(TARGET): its debug symbols beside it, for Install.cmake. In the target's directory.
function(rpmem_keep_symbols target)
    if(RPMEM_SPLIT_SYMBOLS)
        add_custom_command(TARGET ${target} POST_BUILD VERBATIM
            COMMAND ${CMAKE_OBJCOPY} --only-keep-debug
                $<TARGET_FILE:${target}> $<TARGET_FILE:${target}>.debug)
    endif()
endfunction()
