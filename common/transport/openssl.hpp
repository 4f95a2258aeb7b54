// SPDX-License-Identifier: BSD-3-Clause
// The queue of errors of OpenSSL, which belongs to the application.
#pragma once

#include "common/base/freed_by.hpp"

#include <openssl/err.h>

#include <string>
#include <vector>

namespace rpmem::transport {

// Removes the errors that libcrypto queues while it lives: the queue belongs to the application.
class ErrorMark {
public:
    ErrorMark() { ::ERR_set_mark(); }
    ~ErrorMark() { ::ERR_pop_to_mark(); }
    ErrorMark(const ErrorMark&) = delete;
    ErrorMark& operator=(const ErrorMark&) = delete;
};

// The same for libssl, which empties the queue whenever it shakes hands or changes keys.
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
