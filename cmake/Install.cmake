# What `cmake --install` puts where. The targets rpmem and rpmemd exist when this is read.
include(CMakePackageConfigHelpers)

install(TARGETS rpmem LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS rpmemd rpmemctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET rpmem-bench)
    install(TARGETS rpmem-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES include/librpmem.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

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
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/librpmemConfig.cmake
    ${PROJECT_BINARY_DIR}/librpmemConfigVersion.cmake
    DESTINATION ${rpmem_package_dir})

foreach(section 1 3 5 7)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/performance.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
