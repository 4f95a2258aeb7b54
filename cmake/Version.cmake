# SPDX-License-Identifier: BSD-3-Clause
# The versions. That of the product is in project(); that of the C interface, by which the file of the
# library is called, is in its header.
function(rpmem_read_api_version)
    set(header ${PROJECT_SOURCE_DIR}/include/librpmem.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    foreach(part MAJOR MINOR)
        file(STRINGS ${header} line REGEX "^#define RPMEM_${part}_VERSION [0-9]+$")
        string(REGEX REPLACE ".* " "" line "${line}")
        set(RPMEM_API_${part} ${line} PARENT_SCOPE)
    endforeach()
endfunction()
rpmem_read_api_version()

# RPMEM_ORIGIN: what was built, for --version. A package says which one it is; a clone has a commit.
set(RPMEM_PACKAGE "" CACHE STRING "Name and version of the package that is built, for --version")
function(rpmem_find_origin)
    set(RPMEM_ORIGIN "built from sources without a commit" PARENT_SCOPE)
    find_package(Git QUIET)
    if(RPMEM_PACKAGE)
        set(RPMEM_ORIGIN "built as package ${RPMEM_PACKAGE}" PARENT_SCOPE)
    elseif(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
        # The sources may belong to another user.
        set(git ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} -c safe.directory=${PROJECT_SOURCE_DIR})
        execute_process(COMMAND ${git} rev-parse --short=12 HEAD RESULT_VARIABLE status
            OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
        execute_process(COMMAND ${git} rev-parse --git-path logs/HEAD
            OUTPUT_VARIABLE log ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(status EQUAL 0)
            set(RPMEM_ORIGIN "built from commit ${commit}" PARENT_SCOPE)
            cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
            if(EXISTS ${log}) # a commit writes to it
                set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
            endif()
        endif()
    endif()
endfunction()
rpmem_find_origin()
