/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpmem.h -- replication of a memory pool to persistent memory of a remote node.
 *
 * Binary and source compatible with librpmem 1.3 of PMDK 1.12.1. See librpmem(7), rpmem_create(3)
 * and rpmem_persist(3).
 *
 * Every function reports a failure by its return value, errno (always positive) and
 * rpmem_errormsg(). Offsets and lengths are in bytes.
 *
 * Thread safety: functions with a lane may run at the same time for different lanes of one pool.
 * Only one thread at a time may use a lane. Any thread may call the other functions. No other call
 * on a pool may run during rpmem_close() of the pool.
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

/* Minimum size of a pool (8 KiB) and of a part of a pool set on the target (2 MiB), in bytes. */
#define RPMEM_MIN_POOL ((size_t)(1024 * 8))
#define RPMEM_MIN_PART ((size_t)(1024 * 1024 * 2))

/* Flags of rpmem_persist() and rpmem_flush(): a crash may tear aligned 8-byte words. */
#define RPMEM_PERSIST_RELAXED (1U << 0)
#define RPMEM_FLUSH_RELAXED (1U << 0)

/* Flags of rpmem_remove(). */
#define RPMEM_REMOVE_FORCE 0x1    /* remove what can be removed, and succeed */
#define RPMEM_REMOVE_POOL_SET 0x2 /* also remove the pool set file */

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
 * nlanes          in: lanes wanted, at least 1; out: lanes of the pool, at most as many
 * create_attr     contents of the pool's headers; NULL: a pool set with OPTION NOHDRS
 *
 * Returns the pool, or NULL with errno. rpmem_create(3) lists all values; the usual ones are:
 *   EINVAL           an argument or a setting is invalid, or the target's pool set is not usable
 *   EEXIST           the pool exists already
 *   ENOENT           no such pool set on the target
 *   EACCES           the target's user may not use it
 *   EBUSY            the pool is in use
 *   EFBIG            POOL_SIZE is larger than the pool set
 *   EIO              the target's medium failed
 *   ENOMEDIUM        no allowed provider reaches the target
 *   EMEDIUMTYPE      the target does not have the provider
 *   EPROTO           the remote command is not an rpmemd, or an end refuses protocol 0.1
 *   EPROTONOSUPPORT  the target uses another protocol version
 *   EREMOTEIO        the target failed; its log has the reason
 *   ECONNRESET, ECONNREFUSED, ECONNABORTED, ETIMEDOUT
 *                    ssh or a lane could not connect, or its connection broke
 *   ENOMEM           a limit of memory or of locked memory
 *   EMFILE           the limit of file descriptors of this process
 * After a failure nothing remains at either end.
 */
RPMEMpool* rpmem_create(const char* target, const char* pool_set_name, void* pool_addr,
                        size_t pool_size, unsigned* nlanes,
                        const struct rpmem_pool_attr* create_attr);

/*
 * Opens an existing pool. OPEN_ATTR, if not NULL, receives the attributes of the pool (all zero for
 * OPTION NOHDRS). The other arguments and the errors are those of rpmem_create(). ENOENT also means
 * that a part does not exist.
 */
RPMEMpool* rpmem_open(const char* target, const char* pool_set_name, void* pool_addr,
                      size_t pool_size, unsigned* nlanes, struct rpmem_pool_attr* open_attr);

/*
 * Overwrites the attributes in all headers of the pool. NULL stands for zeros, which only a pool
 * with OPTION NOHDRS accepts. Returns 0, or -1 with errno:
 *   EINVAL                   the pool has no headers and ATTR is not zero, or the reverse
 *   EACCES                   the target serves the pool for reading only, or its user may not write
 *   EREMOTEIO                the target failed
 *   ECONNRESET, EIO, ESTALE, EPERM, ETIMEDOUT
 *                            like rpmem_persist()
 */
int rpmem_set_attr(RPMEMpool* rpp, const struct rpmem_pool_attr* attr);

/*
 * Waits for the operations in flight, ends the session and frees RPP. Returns 0, or -1 with errno,
 * and also frees RPP then:
 *   ECONNRESET               the session was lost, and could not be replaced
 *   ETIMEDOUT                the target did not answer
 *   EREMOTEIO, EIO, ESTALE, EACCES
 *                            the target failed, its medium failed, or it refused to resume
 */
int rpmem_close(RPMEMpool* rpp);

/*
 * Makes [offset, offset + length) of the local pool durable on the target, with everything that
 * this lane flushed before. FLAGS is 0 (aligned 8-byte words are never torn) or
 * RPMEM_PERSIST_RELAXED. The first 4096 bytes of a pool with headers are not writable. LENGTH 0
 * has no effect. Returns 0, or -1 with errno:
 *   EINVAL       flags, lane or range is invalid; the pool remains usable
 *   EACCES       the target serves the pool for reading only
 *   EFAULT       memory of the range cannot be read; the pool remains usable
 *   ECONNRESET   the session is lost, for this and every later call
 *   EIO          the target's medium failed, for this and every later call
 *   ESTALE       the session was lost, and another session has opened the pool since
 *   ETIMEDOUT    the target sent nothing for RPMEM_OPERATION_TIMEOUT; the session is over
 *   EPERM        this process is a child of the one that opened the pool
 *   EMFILE, ENOMEM, EACCES, ECONNREFUSED, EPROTO, ETIMEDOUT
 *                a lane that is used for the first time cannot be connected; the call can be
 *                repeated. rpmem_persist(3) lists the causes
 */
int rpmem_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane, unsigned flags);

/* Like rpmem_persist() with flags 0, but down to the target's lowest persistence domain. */
int rpmem_deep_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane);

/*
 * Starts to make a range durable; rpmem_drain() of the same lane completes it. The memory must
 * not change in between. A small range (up to 16 KiB over TCP) may wait until others are sent with
 * it, until another of these functions is called for the lane, or until the pool is closed. Flags
 * and errors are those of rpmem_persist().
 */
int rpmem_flush(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane, unsigned flags);

/* Waits until everything that this lane flushed before is durable. FLAGS must be 0. */
int rpmem_drain(RPMEMpool* rpp, unsigned lane, unsigned flags);

/*
 * Reads LENGTH bytes at OFFSET of the target's pool, the header included, into BUFF. Sees
 * everything that this lane flushed before. Errors are those of rpmem_persist(), and
 *   ENOTCONN     the target is away or catching up (RPMEM_ON_LOSS=alone); the call can be repeated
 */
int rpmem_read(RPMEMpool* rpp, void* buff, size_t offset, size_t length, unsigned lane);

/*
 * Removes the parts of a pool on the target. FLAGS: RPMEM_REMOVE_FORCE, RPMEM_REMOVE_POOL_SET.
 * Returns 0, or -1 with errno: EINVAL for an argument, otherwise that of the target (ENOENT,
 * EAGAIN if the pool is in use, EBADF for an absolute name, ...) or that of a failed login.
 */
int rpmem_remove(const char* target, const char* pool_set, int flags);

/* Returns NULL if the library can serve a program built for this API version, else the reason. */
const char* rpmem_check_version(unsigned major_required, unsigned minor_required);

/*
 * Returns the error text of this thread's last call that failed. It is never NULL, and is empty
 * before the first failure. It is valid until the next call of the thread that fails.
 */
const char* rpmem_errormsg(void);

/*
 * The rest of this file is not in librpmem 1.12.1. rpmem_stats() has the symbol version
 * LIBRPMEM_1.1.
 *
 * The statistics of an open pool count the calls that have succeeded since the pool was opened, on
 * all lanes together. Times are in nanoseconds. Quantiles are upper bounds, and at most 12.5 % too
 * high.
 */
#define RPMEM_STATS_VERSION 1U

struct rpmem_call_stats {
    uint64_t calls;
    uint64_t bytes;    /* bytes of their ranges */
    uint64_t total_ns; /* time of all calls together */
    uint64_t p50_ns;   /* median */
    uint64_t p99_ns;
    uint64_t p999_ns;
    uint64_t longest_ns;
};

enum rpmem_link_state {
    RPMEM_LINK_CONNECTED,
    RPMEM_LINK_RECONNECTING, /* calls wait */
    RPMEM_LINK_FAILED,       /* all calls fail */
    RPMEM_LINK_AWAY,         /* RPMEM_ON_LOSS=alone: calls go on without the target */
    RPMEM_LINK_CATCHING_UP,  /* the same, while the target is sent what it lacks */
    RPMEM_LINK_PAUSED        /* the same, until `rpmemctl resume` */
};

struct rpmem_pool_stats {
    uint32_t version;           /* in: RPMEM_STATS_VERSION */
    uint32_t state;             /* enum rpmem_link_state */
    uint64_t lanes;             /* lanes of the pool */
    uint64_t generation;        /* number of the session: 0 for the first */
    uint64_t reconnects;        /* lost sessions that were replaced */
    uint64_t replayed_bytes;    /* bytes that were sent again */
    uint64_t unconfirmed_bytes; /* bytes that were flushed and not yet drained */
    uint64_t waits;             /* waits until the target had room for more */
    struct rpmem_call_stats persist;
    struct rpmem_call_stats flush;
    struct rpmem_call_stats drain;
    struct rpmem_call_stats deep_persist;
    struct rpmem_call_stats read;
};

/*
 * Fills STATS. Any thread may call it, also during calls on lanes. Returns 0, or -1 with errno, and
 * then leaves STATS unchanged:
 *   EINVAL   RPP or STATS is NULL, or the version is not RPMEM_STATS_VERSION
 *   EPERM    this process is a child of the one that opened the pool
 *   ENOTSUP  the memory file for statistics could not be created when the pool was opened
 */
int rpmem_stats(RPMEMpool* rpp, struct rpmem_pool_stats* stats);

/*
 * The state of the replica (symbol version LIBRPMEM_1.2). It is in sync if the target is connected,
 * and has everything that calls on the pool have made durable. Without RPMEM_ON_LOSS=alone it is in
 * sync while the target is connected.
 */
#define RPMEM_REPLICA_STATE_VERSION 1U
#define RPMEM_REPLICA_REASON_LEN 512

enum rpmem_sync_state {
    RPMEM_REPLICA_IN_SYNC,
    RPMEM_REPLICA_AWAY,        /* the session is lost, and may be replaced */
    RPMEM_REPLICA_CATCHING_UP, /* the target is sent what it lacks */
    RPMEM_REPLICA_FAILED,      /* it does not become in sync before the pool is opened again */
    RPMEM_REPLICA_PAUSED       /* an operator has paused it (rpmemctl pause) */
};

struct rpmem_replica_state_info {
    uint32_t version;       /* in: RPMEM_REPLICA_STATE_VERSION */
    uint32_t state;         /* enum rpmem_sync_state */
    uint64_t since;         /* when the state began: seconds since 1970 (UTC) */
    uint64_t behind_bytes;  /* bytes that the target lacks, in blocks of 64 KiB */
    uint64_t catch_up_rate; /* bytes per second that it is sent now, 0 unless catching up */
    char reason[RPMEM_REPLICA_REASON_LEN]; /* why it is not in sync, else empty; ends with NUL */
};

/*
 * Fills INFO. Does not wait for the target. Any thread may call it, also during calls on lanes and
 * rpmem_wait_in_sync(). Returns 0, or -1 with errno, and then leaves INFO unchanged:
 *   EINVAL   RPP or INFO is NULL, or the version is not RPMEM_REPLICA_STATE_VERSION
 *   EPERM    this process is a child of the one that opened the pool
 */
int rpmem_replica_state(RPMEMpool* rpp, struct rpmem_replica_state_info* info);

/*
 * Waits until the replica is in sync, for at most TIMEOUT_MS milliseconds, from 0 to INT_MAX. There
 * is no unlimited wait. Any thread may call it, also during calls on lanes. Returns 0, or -1 with
 * errno:
 *   ETIMEDOUT    the replica is not in sync after TIMEOUT_MS; the call can be repeated
 *   EINVAL       RPP is NULL, or TIMEOUT_MS is negative
 *   EPERM        this process is a child of the one that opened the pool
 *   EIO, EFAULT, ESTALE, ECONNRESET, EACCES
 *                the replica has failed, and every later wait fails, too: its medium failed, memory
 *                of the pool cannot be read, another session has opened the pool, or the session
 *                cannot be replaced. rpmem_wait_in_sync(3) lists the causes
 */
int rpmem_wait_in_sync(RPMEMpool* rpp, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* librpmem.h */
