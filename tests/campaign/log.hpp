// SPDX-License-Identifier: BSD-3-Clause
// The log of the campaign's disk: writes, flushes, and marks of the program that uses the pool, in
// the order in which they ended. The event of a mark happened before all later records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpmem::campaign {

enum class Kind : std::uint32_t {
    write = 1, // LENGTH bytes for OFFSET follow
    flush = 2, // all writes before it are durable
    mark = 3,  // a Mark follows
};

struct Record {
    Kind kind;
    std::uint32_t length;
    std::uint64_t offset;
};
static_assert(sizeof(Record) == 16);

enum class Step : std::uint32_t {
    opened = 1,        // the pool is open
    begun = 2,         // from now on the range [OFFSET, OFFSET + LENGTH) may have words of call ID
    acknowledged = 3,  // all ranges of LANE up to call ID are durable
    attributes = 4,    // rpmem_set_attr() with the number ID begins
    attributes_ok = 5, // it has returned 0
};

struct Mark {
    Step step;
    std::uint32_t lane;
    std::uint64_t id;
    std::uint64_t offset;
    std::uint64_t length;
};
static_assert(sizeof(Mark) == 32);

// Reads a log from its beginning.
class LogReader {
public:
    explicit LogReader(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
        if (!file_)
            throw std::runtime_error("cannot open the log " + path);
    }
    // Returns nothing at the end of the log. DATA gets the bytes of the record.
    std::optional<Record> next(std::vector<char>& data) {
        Record record{};
        if (std::fread(&record, sizeof(record), 1, file_.get()) != 1)
            return std::nullopt;
        data.resize(record.length);
        if (record.length > 0 && std::fread(data.data(), record.length, 1, file_.get()) != 1)
            return std::nullopt; // the logger was stopped while it wrote
        return record;
    }
    static Mark mark_of(const std::vector<char>& data) {
        Mark mark{};
        if (data.size() != sizeof(mark))
            throw std::runtime_error("a mark of the log has a wrong length");
        std::memcpy(&mark, data.data(), sizeof(mark));
        return mark;
    }

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

} // namespace rpmem::campaign
