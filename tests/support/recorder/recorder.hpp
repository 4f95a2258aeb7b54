// Stands between the daemon's code and the functions that make data durable: pmem_persist,
// pmem_flush, pmem_drain, pmem_memcpy, pmem_msync and pmem2_deep_flush of libpmem, and msync,
// fsync, fdatasync, posix_fadvise, pwrite and flock of the kernel. It remembers each call, can be
// slow, and can fail. The page cache hides what a daemon forgets to make durable; the recorder
// shows it.
//
// There are two forms of it:
//  1. Linked into a test: target_link_libraries(TEST PRIVATE rpmem_recorder). The calls of all that
//     is linked into the test then come here. The test uses the class Recorder below.
//  2. In the real daemon, by LD_PRELOAD=$<TARGET_FILE:rpmem_recorder_preload>. Then variables of
//     the environment speak for the test:
//       RPMEM_RECORDER_LOG=FILE      each call is a line of FILE when it has ended (see Event):
//                                    CALL PATH OFFSET LENGTH CODE
//       RPMEM_RECORDER_BEGINS=FILE   so is each call that waits for the medium when it begins:
//                                    CALL
//       RPMEM_RECORDER_DELAY_MS=N    each call that waits for the medium takes that long
//       RPMEM_RECORDER_FAULTS=LIST   CALL:PART_OF_PATH:NUMBER:CODE, separated by ';' (see Fault)
//     With AddressSanitizer add ASAN_OPTIONS=verify_asan_link_order=0.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rpmem::test {

struct Event {
    std::string call;         // the name of the function
    std::string path;         // of the file or directory; "-" if it has none, or memory is meant
    std::uint64_t offset = 0; // in the file; of memory, in what is watched (else its address)
    std::size_t length = 0;
    int code = 0; // the error that the caller was told; 0: none
};

// The NUMBERth call (from 1) of the function CALL on a path that contains PATH fails with CODE, and
// does nothing. Number 0: every one does.
struct Fault {
    std::string call;
    std::string path;
    unsigned number = 1;
    int code = 5; // EIO
};

class Recorder {
public:
    static Recorder& instance();

    // Forgets all that was recorded and all that was asked for.
    void reset();
    // Each call that waits for the medium (drain, persist, msync, fsync, fdatasync, deep flush)
    // takes effect this much later. An acknowledgement that does not wait for it comes too early.
    void delay(std::chrono::milliseconds time);
    void fail(Fault fault);
    // ACTION is run before each call from now on, in the thread of the caller. What it calls itself
    // is not recorded.
    void before_each(std::function<void(const Event&)> action);

    // From now on an image of this memory is kept as it would be after a loss of power. It begins
    // as the memory is now. A flush takes a copy of whole cache lines, which the next drain of the
    // same thread puts into the image; a sync does so with whole pages when it has succeeded.
    void watch(const std::byte* begin, std::size_t size);
    // The bytes of the image; they are durable now.
    [[nodiscard]] std::vector<std::byte> image(std::size_t offset, std::size_t size) const;
    // The image has what the memory has.
    [[nodiscard]] bool is_durable(std::size_t offset, std::size_t size) const;

    [[nodiscard]] std::vector<Event> events() const;
    [[nodiscard]] std::size_t count(const std::string& call, const std::string& path = "") const;

    // For the functions that stand here for others: see functions.cpp.
    struct Copy {
        std::size_t offset;
        std::vector<std::byte> bytes;
    };
    // Of the watched memory in [ADDRESS, ADDRESS + SIZE), widened to multiples of UNIT.
    [[nodiscard]] std::vector<Copy> copies_of(const void* address, std::size_t size,
                                              std::size_t unit) const;
    void put(const std::vector<Copy>& copies);
    [[nodiscard]] Event event_of(const char* call, const void* address, std::size_t size) const;
    // Before the call: runs the action, waits if the call does; the error that the call is to have.
    int begin(const Event& event, bool waits);
    void end(Event event, int code);

private:
    Recorder();
    void read_environment();

    struct PlannedFault {
        Fault fault;
        unsigned seen = 0;
    };

    mutable std::mutex mutex_;
    const std::byte* memory_ = nullptr;
    std::vector<std::byte> image_;
    std::vector<Event> events_;
    std::vector<PlannedFault> faults_;
    std::chrono::milliseconds delay_{0};
    std::function<void(const Event&)> action_;
    int log_ = -1;
    int begins_ = -1;
};

} // namespace rpmem::test
