#include "tests/hostile/pool_directory.hpp"

#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/store.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace rpmem::hostile {
namespace {

namespace filesystem = std::filesystem;

// In one piece: it is done for every part after every session. A file that is not there is empty.
std::string read_file(const filesystem::path& path) {
    std::error_code missing;
    const auto size = filesystem::file_size(path, missing);
    if (missing)
        return {};
    std::string content(size, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    return content;
}

std::string data_of_part(unsigned seed) {
    std::string block(4096, '\0');
    for (std::size_t index = 0; index < block.size(); ++index)
        block[index] = static_cast<char>((index * 31 + seed) % 251);
    std::string data;
    while (data.size() < part_size)
        data += block;
    return data;
}

} // namespace

rpmem_pool_attr test_attributes() {
    rpmem_pool_attr attributes{};
    std::ranges::copy(std::string("HOSTILE_"), attributes.signature);
    attributes.major = 1;
    attributes.incompat_features = 2;
    std::iota(std::begin(attributes.poolset_uuid), std::end(attributes.poolset_uuid), 0x10);
    std::iota(std::begin(attributes.uuid), std::end(attributes.uuid), 0x20);
    std::iota(std::begin(attributes.next_uuid), std::end(attributes.next_uuid), 0x30);
    std::iota(std::begin(attributes.prev_uuid), std::end(attributes.prev_uuid), 0x40);
    return attributes;
}

PoolDirectory::PoolDirectory() {
    std::string pattern = (filesystem::temp_directory_path() / "rpmemd-hostile-XXXXXX").native();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
    filesystem::create_directory(pool_sets());
    filesystem::create_directory(parts());
    write_pool_set(existing_pool, "");
    write_pool_set(absent_pool, "");
    write_pool_set(plain_pool, "OPTION NOHDRS\n");
    std::ofstream(parts() / "plain.set.0", std::ios::binary) << data_of_part(1);
    std::ofstream(parts() / "plain.set.1", std::ios::binary) << data_of_part(2);
    write_pool_set(blank_pool, "");
    const std::string no_header(4096, '\0');
    std::ofstream(parts() / "blank.set.0", std::ios::binary)
        << no_header + data_of_part(3).substr(no_header.size());
    std::ofstream(parts() / "blank.set.1", std::ios::binary)
        << no_header + data_of_part(4).substr(no_header.size());
    Log log;
    target::StoreOptions options;
    options.poolset_dir = pool_sets();
    auto pool = target::create_pool(options, existing_pool, part_size, test_attributes(), log);
    if (!pool)
        throw std::runtime_error(pool.error().text);
    if (const auto closed = pool->close(); !closed)
        throw std::runtime_error(closed.error().text);
    for (const auto& entry : filesystem::directory_iterator(parts()))
        contents_.emplace_back(entry.path().filename(), read_file(entry.path()));
}

PoolDirectory::~PoolDirectory() {
    std::error_code ignored;
    filesystem::remove_all(path_, ignored);
}

void PoolDirectory::write_pool_set(const std::string& name, const std::string& options) const {
    std::ofstream file(pool_sets() / name);
    file << "PMEMPOOLSET\n" << options;
    for (const char* number : {"0", "1"})
        file << "2M " << (parts() / (name + "." + number)).native() << '\n';
}

std::vector<std::string> PoolDirectory::daemon_arguments() const {
    return {"--config", "/dev/null",   "--poolset-dir", pool_sets(), "--log-file",
            log_file(), "--log-level", "debug",         "--sockets"};
}

std::string PoolDirectory::damage() const {
    std::size_t found = 0;
    for (const auto& entry : filesystem::directory_iterator(parts())) {
        const std::string name = entry.path().filename();
        const auto before = std::ranges::find(
            contents_, name, [](const auto& part) -> const auto& { return part.first; });
        if (before == contents_.end())
            return "part " + name + " was left behind";
        if (read_file(entry.path()) != before->second)
            return "part " + name + " has other bytes than before";
        ++found;
    }
    if (found != contents_.size())
        return "a part that was there before is gone";
    const std::string locked = locked_part();
    return locked.empty() ? locked : "part " + locked + " is still locked";
}

std::string PoolDirectory::locked_part() const {
    for (const auto& entry : filesystem::directory_iterator(parts())) {
        const UniqueFd part(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
        if (!part || ::flock(part.get(), LOCK_EX | LOCK_NB) != 0)
            return entry.path().filename();
    }
    return {};
}

std::string PoolDirectory::read_log() const { return read_file(log_file()); }
void PoolDirectory::remove_log() const { filesystem::remove(log_file()); }
std::string PoolDirectory::read_part(const std::string& name) const {
    return read_file(parts() / name);
}

} // namespace rpmem::hostile
