#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Replicates a pool of 32 MiB to another node: replicate.py TARGET POOL_SET

POOL_SET is a pool set file on the target, in the home directory of the user who logs in there
(or wherever rpmemd's poolset-dir points), for example:

    PMEMPOOLSET
    32M /mnt/pmem0/example.part0
"""
import mmap
import sys

import librpmem

POOL_SIZE = 32 << 20
HEADER_SIZE = 4096  # belongs to the pool's header, not to us
TEXT = b"kept on two machines\0"


def replicate(target, pool_set):
    memory = mmap.mmap(-1, POOL_SIZE)
    attributes = librpmem.Attributes(signature=b"EXAMPLE", major=1)
    with librpmem.Pool.create(target, pool_set, memory, attributes=attributes) as pool:
        print(f"{pool_set} on {target}: created, {pool.lanes} lane")
        with pool.lane() as lane:
            # Nobody reads it before it is complete: relaxed is enough.
            memory[HEADER_SIZE:] = b"\x2a" * (POOL_SIZE - HEADER_SIZE)
            lane.persist(HEADER_SIZE, POOL_SIZE - HEADER_SIZE, relaxed=True)

            # A small change: aligned words are old or new after a crash, never half of each.
            memory[HEADER_SIZE : HEADER_SIZE + len(TEXT)] = TEXT
            lane.persist(HEADER_SIZE, len(TEXT))

            if lane.read(HEADER_SIZE, len(TEXT)) != TEXT:
                sys.exit("the target has other bytes than we persisted")
    memory.close()
    print(f"{POOL_SIZE - HEADER_SIZE} bytes are durable on {target}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} TARGET POOL_SET")
    try:
        replicate(sys.argv[1], sys.argv[2])
    except librpmem.Error as error:
        sys.exit(f"{sys.argv[0]}: {error.strerror}")
