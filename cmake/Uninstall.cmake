# SPDX-License-Identifier: BSD-3-Clause
# cmake -D BUILD=DIR -P Uninstall.cmake: removes what the last `cmake --install DIR` of each component
# has written, as its manifest lists it, and directories of ours that are then empty.
file(GLOB manifests ${BUILD}/install_manifest*.txt)
if(NOT manifests)
    message(FATAL_ERROR "Nothing was installed from ${BUILD}: there is no install_manifest.txt. "
        "If it was built again elsewhere, install from there first, to the same place.")
endif()

# rpmem_remove_empty(DIRECTORY): it and those above it, as long as the name says that they are ours.
function(rpmem_remove_empty directory)
    while(directory MATCHES "/librpmem(/|$)|/\\.debug$")
        file(GLOB left LIST_DIRECTORIES true ${directory}/* ${directory}/.*)
        if(left OR IS_SYMLINK ${directory} OR NOT IS_DIRECTORY ${directory})
            return()
        endif()
        file(REMOVE_RECURSE ${directory})
        cmake_path(GET directory PARENT_PATH directory)
    endwhile()
endfunction()

foreach(manifest IN LISTS manifests)
    set(kept OFF)
    file(STRINGS ${manifest} files)
    foreach(file IN LISTS files)
        set(file "$ENV{DESTDIR}${file}")
        if(NOT EXISTS ${file} AND NOT IS_SYMLINK ${file})
            message(STATUS "Not there: ${file}")
            continue()
        endif()
        file(REMOVE ${file})
        if(EXISTS ${file} OR IS_SYMLINK ${file})
            message(SEND_ERROR "Cannot remove ${file}: is it another user's (sudo)?")
            set(kept ON)
            continue()
        endif()
        message(STATUS "Removed: ${file}")
        cmake_path(GET file PARENT_PATH directory)
        rpmem_remove_empty(${directory})
    endforeach()
    if(NOT kept)
        file(REMOVE ${manifest}) # as after no installation
    endif()
endforeach()
