// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the name of a pool set, which a client selects, in a real directory with symbolic links
// that lead out of it. A name that opens a file outside of the directory fails.
#include "rpmemd/pools/pool_set_lookup.hpp"
#include "tests/fuzz/property.hpp"

#include <filesystem>
#include <fstream>

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;
namespace fs = std::filesystem;

void write_pool_set(const fs::path& file, std::string_view part) {
    std::ofstream(file) << "PMEMPOOLSET\n2M " << part << '\n';
}

// The directory is created once and removed at the end of the run.
class Tree {
public:
    Tree() {
        std::string name = fs::temp_directory_path() / "rpmem-fuzz-XXXXXX";
        require(::mkdtemp(name.data()) != nullptr, "there is a directory for the pool sets");
        root_ = name;
        fs::create_directories(pools() / "sub");
        write_pool_set(root_ / "outside.set", "/outside");
        write_pool_set(pools() / "a.set", "/inside");
        write_pool_set(pools() / "sub/b.set", "/inside");
        fs::create_symlink("../outside.set", pools() / "out");
        fs::create_symlink("..", pools() / "up");
        fs::create_symlink("loop", pools() / "loop");
        fs::create_symlink("sub", pools() / "in");
        fs::create_symlink(root_ / "outside.set", pools() / "sub/abs");
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() {
        std::error_code ignored;
        fs::remove_all(root_, ignored);
    }
    [[nodiscard]] fs::path pools() const { return root_ / "pools"; }

private:
    fs::path root_;
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Tree tree;
    PoolOptions options;
    options.poolset_dir = tree.pools();
    const auto pool_set = load_pool_set(options, fuzz::text_of_input(data, size));
    if (pool_set) {
        require(pool_set->parts.size() == 1 && pool_set->parts[0].path == "/inside",
                "no name leads out of the directory");
        return 0;
    }
    fuzz::require_error(pool_set.error(),
                        {EINVAL, EBADF, ENOENT, EACCES, ELOOP, ENAMETOOLONG, EISDIR});
    return 0;
}
