#include "pools/pool_set_path.hpp"

#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace rpmem::target {
namespace {

Result<> check_name(std::string_view name) {
    if (name.empty())
        return fail(ErrorClass::caller_fault, EINVAL, "the name of the pool set is empty");
    if (name.find('\0') != std::string_view::npos)
        return fail(ErrorClass::caller_fault, EINVAL, "the name of the pool set has a NUL in it");
    if (name.starts_with('/'))
        return fail(ErrorClass::caller_fault, EBADF,
                    "the name of pool set {} is absolute; give it relative to poolset-dir", name);
    return {};
}

Failure cannot_open(const StoreOptions& options, const std::string& name, int code) {
    if (code == EXDEV)
        return fail(
            ErrorClass::caller_fault, EBADF,
            "pool set {} leads out of {} by \"..\" or a symbolic link; move it there or let "
            "the configuration allow it",
            name, options.poolset_dir.native());
    if (code == ENOSYS)
        return fail(ErrorClass::resource_limit, ENOSYS,
                    "cannot make sure that pool set {} is beneath {}: this kernel has no "
                    "openat2(2); use Linux 5.6 or newer",
                    name, options.poolset_dir.native());
    return fail_errno(ErrorClass::caller_fault, code == ENOTDIR ? ENOENT : code,
                      "cannot open pool set {} in {}", name, options.poolset_dir.native());
}

Result<UniqueFd> open_root(const StoreOptions& options) {
    UniqueFd root(::open(options.poolset_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root)
        return fail_errno(ErrorClass::caller_fault, errno,
                          "cannot open the directory of the pool sets, {}",
                          options.poolset_dir.native());
    return root;
}

int open_inside(const StoreOptions& options, int root, const std::string& name, int flags) {
    if (options.allow_outside)
        return openat(root, name.c_str(), flags);
    open_how how{};
    how.flags = static_cast<unsigned>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    // EAGAIN: the kernel could not rule out that something on the way was just being moved.
    for (int attempt = 0;; ++attempt) {
        const auto fd = syscall(SYS_openat2, root, name.c_str(), &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN || attempt == 16)
            return static_cast<int>(fd);
    }
}

Result<UniqueFd> open_by_name(const StoreOptions& options, const std::string& name, int flags) {
    auto root = open_root(options);
    if (!root)
        return propagate(std::move(root));
    UniqueFd file(open_inside(options, root->get(), name, flags | O_CLOEXEC));
    if (!file)
        return cannot_open(options, name, errno);
    return file;
}

// Reads one byte more than allowed, so that the parser can tell that the file is too large.
Result<std::string> read_bounded(int fd, const std::string& name) {
    std::string text(max_pool_set_file_size + 1, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const auto count = read(fd, text.data() + length, text.size() - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot read pool set {}", name);
        if (count == 0)
            break;
        length += static_cast<std::size_t>(count);
    }
    text.resize(length);
    return text;
}

} // namespace

Result<PoolSet> load_pool_set(const StoreOptions& options, std::string_view name) {
    RPMEM_TRY(check_name(name));
    const std::string path(name);
    // O_NONBLOCK: a FIFO of that name must not stop the daemon.
    auto file = open_by_name(options, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file)
        return propagate(std::move(file));
    struct stat status {};
    if (fstat(file->get(), &status) != 0)
        return fail_errno(ErrorClass::bug, errno, "cannot examine pool set {}", path);
    if (!S_ISREG(status.st_mode))
        return fail(ErrorClass::caller_fault, EINVAL, "pool set {} is not a regular file", path);
    auto text = read_bounded(file->get(), path);
    if (!text)
        return propagate(std::move(text));
    return parse_pool_set(*text, path);
}

Result<> unlink_pool_set(const StoreOptions& options, std::string_view name) {
    RPMEM_TRY(check_name(name));
    const std::filesystem::path path(name);
    const auto parent = path.has_parent_path() ? path.parent_path().native() : std::string(".");
    auto directory = open_by_name(options, parent, O_RDONLY | O_DIRECTORY);
    if (!directory)
        return propagate(std::move(directory));
    if (unlinkat(directory->get(), path.filename().c_str(), 0) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot remove pool set {} in {}",
                          path.native(), options.poolset_dir.native());
    fsync(directory->get());
    return {};
}

} // namespace rpmem::target
