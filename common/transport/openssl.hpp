// SPDX-License-Identifier: BSD-3-Clause
// Preserves the error queue of OpenSSL, which belongs to the application.
#pragma once

#include "common/base/freed_by.hpp"

#include <openssl/err.h>

#include <string>
#include <vector>

namespace rpmem::transport {

// The destructor removes the errors that libcrypto has queued since the constructor.
class ErrorMark {
public:
    ErrorMark() { ::ERR_set_mark(); }
    ~ErrorMark() { ::ERR_pop_to_mark(); }
    ErrorMark(const ErrorMark&) = delete;
    ErrorMark& operator=(const ErrorMark&) = delete;
};

// Like ErrorMark, but for libssl, which clears the queue in a handshake and a key update. The
// constructor saves the queue, and the destructor restores it.
class ErrorQueue {
public:
    ErrorQueue() {
        if (::ERR_peek_error() != 0)
            save();
    }
    ~ErrorQueue() {
        if (::ERR_peek_error() != 0)
            ::ERR_clear_error();
        if (!saved_.empty())
            restore();
    }
    ErrorQueue(const ErrorQueue&) = delete;
    ErrorQueue& operator=(const ErrorQueue&) = delete;

private:
    struct Entry {
        unsigned long code = 0;
        std::string file;
        int line = 0;
        std::string function;
        std::string data;
    };
    void save();
    void restore() const;

    std::vector<Entry> saved_;
};

} // namespace rpmem::transport
