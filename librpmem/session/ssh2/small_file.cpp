// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/small_file.hpp"

#include "common/base/io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace rpmem::initiator::ssh2 {

Result<SmallFile> read_small_file(const std::string& path, std::size_t limit) {
    // Non-blocking, because opening a named pipe would wait for a writer.
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    SmallFile file{};
    if (!fd || ::fstat(fd.get(), &file.status) != 0)
        return fail(ErrorClass::caller_fault, errno, "{}", strerror(errno));
    if (!S_ISREG(file.status.st_mode))
        return invalid("not a regular file");
    if (static_cast<std::size_t>(file.status.st_size) > limit)
        return fail(ErrorClass::caller_fault, EFBIG, "larger than {} bytes", limit);
    file.content.resize(static_cast<std::size_t>(file.status.st_size));
    if (const int code = read_file(fd.get(), file.content); code != 0)
        return fail(ErrorClass::caller_fault, code, "{}", strerror(code));
    return file;
}

} // namespace rpmem::initiator::ssh2
