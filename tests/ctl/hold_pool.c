// SPDX-License-Identifier: BSD-3-Clause
// hold_pool TARGET SET [FILE]: opens the pool and prints "open". For each line of standard input it
// persists 64 bytes, one of which is the last character of the line, and prints "persisted". A
// failed call of librpmem ends it with the error text on standard output and its errno as the exit
// status. The memory of the pool is FILE, which must have 4 MiB, or anonymous.
#include <errno.h>
#include <fcntl.h>
#include <librpmem.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int argc, char** argv) {
    const size_t size = 4 << 20;
    unsigned lanes = 1;
    if (argc != 3 && argc != 4)
        return 2;
    const int file = argc == 4 ? open(argv[3], O_RDWR | O_CLOEXEC) : -1;
    char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        argc == 4 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
    if (memory == MAP_FAILED)
        return errno;
    RPMEMpool* pool = rpmem_open(argv[1], argv[2], memory, size, &lanes, NULL);
    if (pool == NULL) {
        printf("%s\n", rpmem_errormsg());
        return errno;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); // tests wait for each line
    printf("open\n");
    int code = 0;
    for (int c = getchar(); c != EOF && code == 0; c = getchar()) {
        memory[c == '\n' ? 8192 : 8193] = (char)c;
        if (c != '\n')
            continue;
        if (rpmem_persist(pool, 8192, 64, 0, 0) != 0)
            code = errno;
        printf("%s\n", code == 0 ? "persisted" : rpmem_errormsg());
    }
    rpmem_close(pool);
    return code;
}
