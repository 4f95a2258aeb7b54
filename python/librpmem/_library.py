# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of librpmem.so.1 for cffi, in ABI mode, which needs no compiler.

tests/python compares these declarations with include/librpmem.h.
"""
import cffi

ffi = cffi.FFI()
ffi.cdef("""
typedef struct rpmem_pool RPMEMpool;

struct rpmem_pool_attr {
    char signature[8];
    uint32_t major;
    uint32_t compat_features;
    uint32_t incompat_features;
    uint32_t ro_compat_features;
    unsigned char poolset_uuid[16];
    unsigned char uuid[16];
    unsigned char next_uuid[16];
    unsigned char prev_uuid[16];
    unsigned char user_flags[16];
};

struct rpmem_call_stats {
    uint64_t calls;
    uint64_t bytes;
    uint64_t total_ns;
    uint64_t p50_ns;
    uint64_t p99_ns;
    uint64_t p999_ns;
    uint64_t longest_ns;
};

struct rpmem_pool_stats {
    uint32_t version;
    uint32_t state;
    uint64_t lanes;
    uint64_t generation;
    uint64_t reconnects;
    uint64_t replayed_bytes;
    uint64_t unconfirmed_bytes;
    uint64_t waits;
    struct rpmem_call_stats persist;
    struct rpmem_call_stats flush;
    struct rpmem_call_stats drain;
    struct rpmem_call_stats deep_persist;
    struct rpmem_call_stats read;
};

struct rpmem_replica_state_info {
    uint32_t version;
    uint32_t state;
    uint64_t since;
    uint64_t behind_bytes;
    uint64_t catch_up_rate;
    char reason[512];
};

RPMEMpool* rpmem_create(const char* target, const char* pool_set_name, void* pool_addr,
                        size_t pool_size, unsigned* nlanes,
                        const struct rpmem_pool_attr* create_attr);
RPMEMpool* rpmem_open(const char* target, const char* pool_set_name, void* pool_addr,
                      size_t pool_size, unsigned* nlanes, struct rpmem_pool_attr* open_attr);
int rpmem_set_attr(RPMEMpool* rpp, const struct rpmem_pool_attr* attr);
int rpmem_close(RPMEMpool* rpp);
int rpmem_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane, unsigned flags);
int rpmem_deep_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane);
int rpmem_flush(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane, unsigned flags);
int rpmem_drain(RPMEMpool* rpp, unsigned lane, unsigned flags);
int rpmem_read(RPMEMpool* rpp, void* buff, size_t offset, size_t length, unsigned lane);
int rpmem_remove(const char* target, const char* pool_set, int flags);
const char* rpmem_check_version(unsigned major_required, unsigned minor_required);
const char* rpmem_errormsg(void);
int rpmem_stats(RPMEMpool* rpp, struct rpmem_pool_stats* stats);
int rpmem_replica_state(RPMEMpool* rpp, struct rpmem_replica_state_info* info);
int rpmem_wait_in_sync(RPMEMpool* rpp, int timeout_ms);
""")

RELAXED = 1  # of rpmem_persist() and rpmem_flush()
STATS_VERSION = 1
REPLICA_STATE_VERSION = 1
REMOVE_FORCE = 1
REMOVE_POOL_SET = 2


def _load():
    name = "librpmem.so.1"
    try:
        found = ffi.dlopen(name)
    except OSError as error:
        raise ImportError(
            f"cannot load {name}: {error}. Install librpmem, run ldconfig, or have "
            "LD_LIBRARY_PATH lead to it"
        ) from error
    mismatch = found.rpmem_check_version(1, 3)
    if mismatch != ffi.NULL:
        raise ImportError(ffi.string(mismatch).decode(errors="replace"))
    return found


lib = _load()
