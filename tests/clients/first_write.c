/* SPDX-License-Identifier: BSD-3-Clause */
// A program of librpmem that opens a pool and makes one write, the smallest one that lets the
// library make the replica equal.
//   first_write map FILE TARGET SET        the pool's memory is a shared mapping of FILE
//   first_write copy FILE TARGET SET       it is a copy of FILE in anonymous memory
//   first_write empty FILE TARGET SET      it is empty, and has the size of FILE
//   first_write read-into FILE TARGET SET  like map, but reads the replica into the memory first
//   first_write read-beside FILE TARGET SET  the same, through another mapping of FILE
//   first_write only-read FILE TARGET SET  like map, but reads and does not write
#include <errno.h>
#include <fcntl.h>
#include <librpmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { header_size = 4096, lanes_wanted = 4 };

static void fail(const char* what, const char* why) {
    fprintf(stderr, "first_write: %s: %s\n", what, why);
    exit(1);
}

static unsigned char* map(const char* path, size_t* size) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        fail(path, strerror(errno));
    *size = (size_t)status.st_size;
    void* memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        fail(path, strerror(errno));
    close(fd);
    return memory;
}

static unsigned char* anonymous(size_t size) {
    void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap", strerror(errno));
    return memory;
}

int main(int argc, char** argv) {
    if (argc != 5)
        fail("usage", "first_write MODE FILE TARGET SET");
    const char* const mode = argv[1];
    size_t size = 0;
    unsigned char* const file = map(argv[2], &size);
    unsigned char* memory = file;
    if (strcmp(mode, "copy") == 0 || strcmp(mode, "empty") == 0) {
        memory = anonymous(size);
        if (strcmp(mode, "copy") == 0)
            memcpy(memory, file, size);
    }
    unsigned lanes = lanes_wanted;
    RPMEMpool* const pool = rpmem_open(argv[3], argv[4], memory, size, &lanes, NULL);
    if (pool == NULL)
        fail("rpmem_open", rpmem_errormsg());
    unsigned char* into = NULL;
    if (strcmp(mode, "read-into") == 0)
        into = memory;
    if (strcmp(mode, "read-beside") == 0)
        into = map(argv[2], &size);
    if (strcmp(mode, "only-read") == 0)
        into = anonymous(size);
    // The lane of the write, so that a lane that a read has connected is no way around.
    if (into != NULL &&
        rpmem_read(pool, into + header_size, header_size, size - header_size, 0) != 0)
        fail("rpmem_read", rpmem_errormsg());
    // These bytes are zeros in every pool of libpmemobj: the end of the name of the layout.
    const size_t place = header_size + 1024 - 8;
    if (strcmp(mode, "only-read") != 0 && rpmem_persist(pool, place, 8, 0, 0) != 0)
        fail("rpmem_persist", rpmem_errormsg());
    if (rpmem_close(pool) != 0)
        fail("rpmem_close", rpmem_errormsg());
    return 0;
}
