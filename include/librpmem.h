/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpmem.h -- replication of a memory pool to persistent memory of a remote node.
 *
 * Binary and source compatible with librpmem 1.3 of PMDK 1.12.1. See librpmem(7), rpmem_create(3)
 * and rpmem_persist(3).
 *
 * Every function reports failure by its return value, errno (always positive) and
 * rpmem_errormsg(). Offsets and lengths are in bytes.
 *
 * Thread safety: functions that take a lane may run in parallel for different lanes of one pool;
 * one lane belongs to one thread at a time. rpmem_create(), rpmem_open(), rpmem_remove() and
 * rpmem_close() may be called from any thread; no other call on the same pool may be running
 * during rpmem_close().
 */
#ifndef LIBRPMEM_H
#define LIBRPMEM_H 1

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPMEM_MAJOR_VERSION 1
#define RPMEM_MINOR_VERSION 3

#define RPMEM_POOL_HDR_SIG_LEN 8
#define RPMEM_POOL_HDR_UUID_LEN 16
#define RPMEM_POOL_USER_FLAGS_LEN 16

/* Smallest pool (8 KiB) and smallest part of a pool set on the target (2 MiB), in bytes. */
#define RPMEM_MIN_POOL ((size_t)(1024 * 8))
#define RPMEM_MIN_PART ((size_t)(1024 * 1024 * 2))

/* Flags of rpmem_persist() and rpmem_flush(): aligned 8-byte words may be torn by a crash. */
#define RPMEM_PERSIST_RELAXED (1U << 0)
#define RPMEM_FLUSH_RELAXED (1U << 0)

/* Flags of rpmem_remove(). */
#define RPMEM_REMOVE_FORCE 0x1    /* ignore parts that are missing or in use */
#define RPMEM_REMOVE_POOL_SET 0x2 /* remove the pool set file as well */

typedef struct rpmem_pool RPMEMpool;

/* Attributes in the headers of the pool's parts on the target. Integers in host byte order. */
struct rpmem_pool_attr {
    char signature[RPMEM_POOL_HDR_SIG_LEN];
    uint32_t major;
    uint32_t compat_features;
    uint32_t incompat_features;
    uint32_t ro_compat_features;
    unsigned char poolset_uuid[RPMEM_POOL_HDR_UUID_LEN];
    unsigned char uuid[RPMEM_POOL_HDR_UUID_LEN];      /* of the pool's first part */
    unsigned char next_uuid[RPMEM_POOL_HDR_UUID_LEN]; /* of the next replica */
    unsigned char prev_uuid[RPMEM_POOL_HDR_UUID_LEN]; /* of the previous replica */
    unsigned char user_flags[RPMEM_POOL_USER_FLAGS_LEN];
};

/*
 * Creates the pool that the target's pool set file POOL_SET_NAME describes and connects
 * POOL_SIZE bytes of memory at POOL_ADDR (both multiples of the page size, not 0) to it.
 *
 * target          [user@]host[:port]; an IPv6 address with a port is written [addr]:port
 * pool_set_name   relative to the target's poolset-dir
 * nlanes          in: lanes wanted, at least 1; out: lanes in force, at most as many
 * create_attr     contents of the pool's headers; NULL: a pool set with OPTION NOHDRS
 *
 * Returns the pool, or NULL with errno:
 *   EINVAL           an argument is out of range, or the target's pool set is not usable
 *   EEXIST           the pool exists already
 *   ENOENT           no such pool set on the target
 *   EACCES           the target's user may not use it
 *   EBUSY            the pool is in use
 *   EFBIG            POOL_SIZE is larger than the pool set
 *   ENOMEDIUM        no fabric provider reaches the target
 *   EMEDIUMTYPE      the target does not have the provider
 *   EPROTONOSUPPORT  the target speaks another protocol version
 *   EREMOTEIO        the target failed; its log says why
 *   ECONNRESET, ECONNREFUSED, ECONNABORTED, ETIMEDOUT
 *                    ssh or the fabric connection could not be made or broke
 *   ENOMEM           a limit of memory or of locked memory
 *   EMFILE           the limit of file descriptors of this process
 * After a failure nothing is left behind on either side.
 */
RPMEMpool* rpmem_create(const char* target, const char* pool_set_name, void* pool_addr,
                        size_t pool_size, unsigned* nlanes,
                        const struct rpmem_pool_attr* create_attr);

/*
 * Opens an existing pool; as rpmem_create() otherwise. OPEN_ATTR, if not NULL, receives the
 * attributes of the pool (all zero for OPTION NOHDRS). ENOENT: a part does not exist.
 */
RPMEMpool* rpmem_open(const char* target, const char* pool_set_name, void* pool_addr,
                      size_t pool_size, unsigned* nlanes, struct rpmem_pool_attr* open_attr);

/*
 * Overwrites the attributes in all headers of the pool; NULL stands for zeros, which only a pool
 * with OPTION NOHDRS takes. 0, or -1 with errno EINVAL (the target refuses) or ECONNRESET.
 */
int rpmem_set_attr(RPMEMpool* rpp, const struct rpmem_pool_attr* attr);

/*
 * Waits for what is in flight, ends the session and frees RPP, also when it returns -1: errno is
 * ECONNRESET if the session had broken before, ETIMEDOUT if the target does not answer.
 */
int rpmem_close(RPMEMpool* rpp);

/*
 * Makes [offset, offset + length) of the local pool durable on the target, with everything that
 * this lane flushed before. FLAGS: 0 (aligned 8-byte words are never torn) or
 * RPMEM_PERSIST_RELAXED. The first 4096 bytes of a pool with headers are not writable. LENGTH 0
 * does nothing. 0, or -1 with errno:
 *   EINVAL       flags, lane or range; the pool remains usable
 *   EACCES       the target serves the pool for reading only
 *   ECONNRESET   the session is over, for this and every later call
 *   EIO          the target's medium failed, for this and every later call
 *   ETIMEDOUT    the target sent nothing for RPMEM_OPERATION_TIMEOUT; the session is over
 *   EPERM        this process is a child of the one that opened the pool
 *   EMFILE, ENOMEM, EACCES, ECONNREFUSED, EPROTO, ETIMEDOUT
 *                a lane that is used for the first time cannot be connected; the call can be
 *                repeated. rpmem_persist(3) tells the causes
 */
int rpmem_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane, unsigned flags);

/* As rpmem_persist() with flags 0, down to the lowest persistence domain of the target. */
int rpmem_deep_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane);

/*
 * Starts to make a range durable; rpmem_drain() of the same lane completes it. The memory must
 * not change in between. A small range (up to 16 KiB over TCP) may wait for others to share a
 * message, until one of the other calls is made for the lane, or the pool closed. Flags and errors
 * as rpmem_persist().
 */
int rpmem_flush(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane, unsigned flags);

/* All that this lane flushed before is durable on return. FLAGS must be 0. */
int rpmem_drain(RPMEMpool* rpp, unsigned lane, unsigned flags);

/*
 * Reads LENGTH bytes at OFFSET of the target's pool, the header included, into BUFF. Sees
 * everything that this lane flushed before. Errors as rpmem_persist().
 */
int rpmem_read(RPMEMpool* rpp, void* buff, size_t offset, size_t length, unsigned lane);

/*
 * Removes the parts of a pool on the target. FLAGS: RPMEM_REMOVE_FORCE, RPMEM_REMOVE_POOL_SET.
 * 0, or -1 with errno: EINVAL for an argument, otherwise what the target reports (ENOENT,
 * EAGAIN if the pool is in use, EBADF for an absolute name, ...) or a failure of ssh.
 */
int rpmem_remove(const char* target, const char* pool_set, int flags);

/* NULL if the library can serve a program built for this API version, else why not. */
const char* rpmem_check_version(unsigned major_required, unsigned minor_required);

/*
 * The text of this thread's last call that failed; never NULL, empty before the first failure.
 * Valid until the next failing call of the thread.
 */
const char* rpmem_errormsg(void);

/*
 * Only this library has the rest of this file (LIBRPMEM_1.1); 1.12.1 does not.
 *
 * Statistics of an open pool. Counts are of calls that have succeeded, since the pool was opened,
 * on all lanes together. Times are in nanoseconds; quantiles are known to 12.5 %, from above.
 */
#define RPMEM_STATS_VERSION 1U

struct rpmem_call_stats {
    uint64_t calls;
    uint64_t bytes;    /* of their ranges */
    uint64_t total_ns; /* in all calls together */
    uint64_t p50_ns;   /* half of the calls took no longer */
    uint64_t p99_ns;
    uint64_t p999_ns;
    uint64_t longest_ns;
};

enum rpmem_link_state {
    RPMEM_LINK_CONNECTED,
    RPMEM_LINK_RECONNECTING, /* calls wait */
    RPMEM_LINK_FAILED        /* all calls fail */
};

struct rpmem_pool_stats {
    uint32_t version;           /* in: RPMEM_STATS_VERSION */
    uint32_t state;             /* enum rpmem_link_state */
    uint64_t lanes;             /* of the pool */
    uint64_t generation;        /* of the session: 0 for the first */
    uint64_t reconnects;        /* that came through */
    uint64_t replayed_bytes;    /* sent again after a loss */
    uint64_t unconfirmed_bytes; /* flushed, and not yet drained */
    uint64_t waits;             /* until the target had room for more */
    struct rpmem_call_stats persist;
    struct rpmem_call_stats flush;
    struct rpmem_call_stats drain;
    struct rpmem_call_stats deep_persist;
    struct rpmem_call_stats read;
};

/*
 * Fills STATS. From any thread, also while calls on lanes are running. 0, or -1 with errno:
 *   EINVAL   RPP or STATS is NULL, or the version is not known; then STATS is left alone
 *   EPERM    the pool belongs to the parent of this process
 *   ENOTSUP  there was no descriptor or memory file for statistics when the pool was opened
 */
int rpmem_stats(RPMEMpool* rpp, struct rpmem_pool_stats* stats);

#ifdef __cplusplus
}
#endif

#endif /* librpmem.h */
