# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where. The targets rpmem and rpmemd exist when this is read.
include(CMakePackageConfigHelpers)

# Programs find the library also where the dynamic linker does not look for it, as with --prefix.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE rpmem_bin_to_lib)

# rpmem_install_binary(TARGET DIRECTORY): stripped, if it was built for users. Its debug symbols are
# the component debug, in the folder .debug beside it, where gdb looks for them.
function(rpmem_install_binary target directory)
    set(file $<TARGET_FILE_NAME:${target}>)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "")
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if(rpmem IN_LIST libraries)
        set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${rpmem_bin_to_lib}")
    endif()
    install(TARGETS ${target} RUNTIME DESTINATION ${directory} LIBRARY DESTINATION ${directory})
    if(NOT RPMEM_SPLIT_SYMBOLS)
        return()
    endif()
    install(FILES $<TARGET_FILE:${target}>.debug DESTINATION ${directory}/.debug
        COMPONENT debug EXCLUDE_FROM_ALL)
    install(CODE "
        cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX OUTPUT_VARIABLE place)
        cmake_path(APPEND place \"${directory}/${file}\")
        execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND \"${CMAKE_OBJCOPY}\" --strip-unneeded
            \"--add-gnu-debuglink=$<TARGET_FILE:${target}>.debug\" \"\$ENV{DESTDIR}\${place}\")")
endfunction()

rpmem_install_binary(rpmem ${CMAKE_INSTALL_LIBDIR})
rpmem_install_binary(rpmemd ${CMAKE_INSTALL_BINDIR})
rpmem_install_binary(rpmemctl ${CMAKE_INSTALL_BINDIR})
if(TARGET rpmem-bench)
    rpmem_install_binary(rpmem-bench ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES include/librpmem.h include/librpmem.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Both packages find the files relative to their own place, so that the tree can be moved.
set(rpmem_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/librpmem)
set(rpmem_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
    BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${rpmem_pkgconfig_dir} OUTPUT_VARIABLE rpmem_pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR
    BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${rpmem_pkgconfig_dir} OUTPUT_VARIABLE rpmem_pc_includedir)
configure_file(cmake/librpmem.pc.in ${PROJECT_BINARY_DIR}/librpmem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/librpmem.pc DESTINATION ${rpmem_pkgconfig_dir})

configure_package_config_file(cmake/librpmemConfig.cmake.in
    ${PROJECT_BINARY_DIR}/librpmemConfig.cmake
    INSTALL_DESTINATION ${rpmem_package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/librpmemConfigVersion.cmake
    # Programs ask for the version of the interface (1.3), which never changes incompatibly.
    VERSION ${PROJECT_VERSION} COMPATIBILITY AnyNewerVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/librpmemConfig.cmake
    ${PROJECT_BINARY_DIR}/librpmemConfigVersion.cmake
    DESTINATION ${rpmem_package_dir})

# Pages of the manual get the version into their footer, and the place of the documentation.
foreach(section 1 3 5 7)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
    foreach(page IN LISTS pages)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
        cmake_path(GET page FILENAME name)
        file(READ ${page} text)
        string(REPLACE " librpmem \"Remote" " \"librpmem ${PROJECT_VERSION}\" \"Remote" text "${text}")
        string(REPLACE "/usr/local/share/doc/librpmem" "${CMAKE_INSTALL_FULL_DOCDIR}" text "${text}")
        file(WRITE ${PROJECT_BINARY_DIR}/man/${name} "${text}")
        install(FILES ${PROJECT_BINARY_DIR}/man/${name} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endforeach()
endforeach()

# The texts lie elsewhere than in the sources: a link to a page of the manual leads to where that is
# installed, and what a link to a file of the sources names stays, without the link.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_MANDIR
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_DOCDIR} OUTPUT_VARIABLE rpmem_doc_to_man)

# rpmem_install_text(FILE UP DIRECTORY): UP leads from FILE to the root of the sources.
function(rpmem_install_text file up directory)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REPLACE "[" "<open>" text "${text}") # CMake takes brackets for those of a list
    string(REPLACE "]" "<close>" text "${text}")
    string(REGEX REPLACE "<close>\\(${up}man/([a-z_.-]+)\\.([1-8])\\)"
        "<close>(${up}${rpmem_doc_to_man}/man\\2/\\1.\\2)" text "${text}")
    string(REGEX REPLACE "<open>([^<>]+)<close>\\(${up}(common|librpmem|rpmemd|tests|tools)/[^)]+\\)"
        "\\1" text "${text}")
    string(REPLACE "<open>" "[" text "${text}")
    string(REPLACE "<close>" "]" text "${text}")
    file(WRITE ${PROJECT_BINARY_DIR}/texts/${file} "${text}")
    install(FILES ${PROJECT_BINARY_DIR}/texts/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${directory})
endfunction()

rpmem_install_text(README.md "" "")
foreach(name architecture confinement durability installation operations performance reliability transport
        upgrade virtual-machines)
    rpmem_install_text(docs/${name}.md "../" docs)
endforeach()
foreach(name CHANGELOG CONTRIBUTING SECURITY)
    rpmem_install_text(${name}.md "" "")
endforeach()
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(RPMEM_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
    "Where zsh looks for completions")
install(FILES completion/bash/rpmemd completion/bash/rpmemctl
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completion/zsh/_rpmemd completion/zsh/_rpmemctl DESTINATION ${RPMEM_ZSH_COMPLETIONS})

add_custom_target(uninstall VERBATIM COMMENT "Remove what cmake --install has installed from here"
    COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake)
