// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/openssl.hpp"

namespace rpmem::transport {

void ErrorQueue::save() {
    const auto text = [](const char* given) { return std::string(given ? given : ""); };
    const char* file = nullptr;
    const char* function = nullptr;
    const char* data = nullptr;
    int line = 0;
    int flags = 0;
    while (const unsigned long code = ::ERR_get_error_all(&file, &line, &function, &data, &flags)) {
        const bool has_text = (flags & ERR_TXT_STRING) != 0;
        saved_.push_back({code, text(file), line, text(function), text(has_text ? data : "")});
    }
}

void ErrorQueue::restore() const {
    for (const Entry& entry : saved_) {
        ::ERR_new();
        ::ERR_set_debug(entry.file.c_str(), entry.line, entry.function.c_str());
        const int library = ERR_GET_LIB(entry.code);
        const int reason = ERR_GET_REASON(entry.code);
        if (entry.data.empty())
            ::ERR_set_error(library, reason, nullptr);
        else
            ::ERR_set_error(library, reason, "%s", entry.data.c_str());
    }
}

} // namespace rpmem::transport
