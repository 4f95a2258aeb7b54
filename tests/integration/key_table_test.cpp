// SPDX-License-Identifier: BSD-3-Clause
// Tests the table of rights in rpmemd(1): what a key with each forced command may do. Each cell is
// tried with the real daemon: sessions through sshd, and actions with SSH_ORIGINAL_COMMAND, which
// sshd would set. A daemon that permits or refuses something else than the table says makes a test
// fail. So does a manual page whose table differs from this one.
#include "tests/integration/environment.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>

namespace rpmem::test {
namespace {

constexpr const char* key_options[] = {"", "--read-only", "--allow-remove", "--allow-admin"};

struct KeyRight {
    const char* name;     // in the manual page
    const char* cells[4]; // for each key: yes or no
    const char* call;     // of the library, or else of the daemon
};
constexpr KeyRight key_rights[] = {
    {"open and read a pool", {"yes", "yes", "yes", "yes"}, "open"},
    {"write to a pool", {"yes", "no", "yes", "yes"}, "write"},
    {"change attributes", {"yes", "no", "yes", "yes"}, "attributes"},
    {"create the pool of a pool set", {"yes", "no", "yes", "yes"}, "create"},
    {"--probe", {"yes", "yes", "yes", "yes"}, "rpmemd --probe"},
    {"--list", {"yes", "yes", "yes", "yes"}, "rpmemd --list"},
    {"--info", {"yes", "yes", "yes", "yes"}, "rpmemd --info pool.set"},
    {"--check", {"yes", "yes", "yes", "yes"}, "rpmemd --check pool.set"},
    {"--check-all", {"yes", "yes", "yes", "yes"}, "rpmemd --check-all"},
    {"--digest", {"yes", "yes", "yes", "yes"}, "rpmemd --digest pool.set"},
    {"--mark-equal", {"yes", "no", "yes", "yes"}, "mark"},
    {"see sessions in --list, --info", {"no", "no", "no", "yes"}, "seen"},
    {"--sessions", {"no", "no", "no", "yes"}, "rpmemd --sessions"},
    {"--evict", {"no", "no", "no", "yes"}, "evict"},
    {"--create-set", {"no", "no", "no", "yes"}, "rpmemd --create-set new.set --size 4194304"},
    {"  with --part",
     {"no", "no", "no", "no"},
     "rpmemd --create-set n1.set --size 4194304 --part %/sets/n1"},
    {"  with --set-only",
     {"no", "no", "no", "no"},
     "rpmemd --create-set n2.set --size 4194304 --set-only"},
    {"  of a hidden file", {"no", "no", "no", "no"}, "rpmemd --create-set .n3 --size 4194304"},
    {"  through a link to a hidden one",
     {"no", "no", "no", "no"},
     "rpmemd --create-set link/n4 --size 4194304"},
    {"  outside of --poolset-dir",
     {"no", "no", "no", "no"},
     "rpmemd --create-set ../n5 --size 4194304"},
    {"  with a part that is there",
     {"no", "no", "no", "no"},
     "rpmemd --create-set there --size 4194304"},
    {"--remove", {"no", "no", "yes", "no"}, "rpmemd --remove removed.set"},
    {"a session of protocol 0.1", {"no", "no", "no", "no"}, "old"},
    {"a shell, or another command", {"no", "no", "no", "no"}, "sh -c true"},
};

std::string right_line(const KeyRight& row) {
    return fmt::format("{:<34} {:<6} {:<12} {:<15} {}", row.name, row.cells[0], row.cells[1],
                       row.cells[2], row.cells[3]);
}

class KeyTable : public PoolTest {
protected:
    KeyTable() {
        for (const char* name : {"sets", "sets/.ssh"})
            fs::create_directory(directory() / name);
        fs::create_directory_symlink(".ssh", directory() / "sets/link");
        for (const char* name : {"pool", "fresh", "removed", "old"})
            std::ofstream(directory() / "sets" / (std::string(name) + ".set"))
                << "PMEMPOOLSET\n8M " << (directory() / name).native() << '\n';
        std::ofstream(directory() / "sets/there.part0") << "precious";
        force("");
        EXPECT_TRUE(succeeded(rpmem_close(create(local, 1))));
    }
    ~KeyTable() override { std::ofstream(authorized_keys) << key; }

    [[nodiscard]] std::string command(const std::string& options) const {
        return variable("RPMEM_TEST_DAEMON") + std::string(" --config /dev/null --poolset-dir ") +
               (directory() / "sets").native() + " --state-dir " +
               (directory() / "state").native() + " --log-file " + (directory() / "log").native() +
               " --restricted " + options;
    }
    void force(const std::string& options) const {
        std::ofstream(authorized_keys) << "restrict,command=\"" << command(options) << "\" " << key;
        options_ = options;
    }
    // Runs the daemon for REQUEST. Returns its exit status, and stores its output in said_.
    int act(std::string request) {
        if (const auto at = request.find('%'); at != std::string::npos)
            request.replace(at, 1, directory().native());
        FILE* const output = ::popen(
            ("SSH_ORIGINAL_COMMAND='" + request + "' " + command(options_) + " 2>&1 </dev/null")
                .c_str(),
            "r");
        said_.clear();
        char buffer[4096];
        while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), output))
            said_.append(buffer, got);
        const int status = ::pclose(output);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    bool may_open() {
        RPMEMpool* const pool = open(local, 1);
        std::byte byte{};
        const bool read = pool && rpmem_read(pool, &byte, header_size, 1, 0) == 0;
        return (!pool || rpmem_close(pool) == 0) && read;
    }
    bool may_write() {
        RPMEMpool* const pool = opened();
        const bool wrote = rpmem_persist(pool, header_size, 64, 0, 0) == 0;
        rpmem_close(pool);
        return wrote;
    }
    bool may_set_attributes() {
        RPMEMpool* const pool = opened();
        const rpmem_pool_attr attributes = sample_attributes();
        const bool set = rpmem_set_attr(pool, &attributes) == 0;
        rpmem_close(pool);
        return set;
    }
    bool may_create() {
        fs::remove(directory() / "fresh");
        RPMEMpool* const pool = create(local, 1, "fresh.set");
        return pool && rpmem_close(pool) == 0;
    }
    // Calls LOOK for the current key while a key without rights beyond replication has a session.
    bool with_session(const std::function<bool()>& look) {
        const std::string options = options_;
        force("");
        RPMEMpool* const pool = opened();
        force(options);
        const bool outcome = look();
        rpmem_close(pool);
        return outcome;
    }
    bool sees_sessions() {
        return with_session([this] {
            bool seen = false;
            for (const char* request : {"rpmemd --list", "rpmemd --info pool.set",
                                        "rpmemd --check pool.set", "rpmemd --check-all"}) {
                act(request);
                seen = seen || contains(said_, "127.0.0.1");
                EXPECT_TRUE(contains(said_, "in use") || contains(said_, "EBUSY")) << said_;
            }
            return seen;
        });
    }
    bool may_evict() { return act("rpmemd --evict 0123456789abcdef") != EACCES; }
    // Returns the value of a member of the JSON document in said_.
    [[nodiscard]] std::string member(const std::string& name) const {
        const auto at = said_.find('"' + name + "\": ");
        const auto begin = at == std::string::npos ? said_.size() : at + name.size() + 4;
        return said_.substr(begin, said_.find_first_of(",\n", begin) - begin);
    }
    bool may_mark() {
        act("rpmemd --info pool.set");
        const std::string id = member("pool_id");
        return act("rpmemd --mark-equal pool.set --claim " + id.substr(1, id.size() - 2) + '-' +
                   member("epoch") + '-' + member("generation")) == 0;
    }
    // A peer of protocol 0.1 sends no offer. The refusal of such a peer names require-hello.
    bool serves_old_peers() {
        act("rpmemd");
        return !contains(said_, "require-hello");
    }
    bool may(const KeyRight& row) {
        const std::string call = row.call;
        if (call == "open")
            return may_open();
        if (call == "write")
            return may_write();
        if (call == "attributes")
            return may_set_attributes();
        if (call == "create")
            return may_create();
        if (call == "seen")
            return sees_sessions();
        if (call == "mark")
            return may_mark();
        if (call == "evict")
            return may_evict();
        if (call == "old")
            return serves_old_peers();
        return act(call) == 0;
    }

    const fs::path authorized_keys = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "authorized_keys";
    const std::string key = read_file(authorized_keys);
    mutable std::string options_;
    std::string said_;
};

TEST_F(KeyTable, EachCellHolds) {
    for (std::size_t i = 0; i < std::size(key_options); ++i) {
        std::ofstream(directory() / "removed") << "";
        fs::copy_file(directory() / "pool", directory() / "removed",
                      fs::copy_options::overwrite_existing);
        force(key_options[i]);
        for (const KeyRight& row : key_rights) {
            SCOPED_TRACE(fmt::format("{}: {}", key_options[i], row.name));
            EXPECT_EQ(may(row) ? "yes" : "no", std::string(row.cells[i])) << said_;
        }
    }
    EXPECT_EQ(read_file(directory() / "sets/there.part0"), "precious");
    EXPECT_TRUE(fs::is_empty(directory() / "sets/.ssh"));
    for (const char* name : {"n1", "n1.set", "n2.set", ".n3", "there"})
        EXPECT_FALSE(fs::exists(directory() / "sets" / name)) << name;
    EXPECT_FALSE(fs::exists(directory() / "n5"));
}

TEST_F(KeyTable, IsThatOfTheManual) {
    std::string manual = read_file(variable("RPMEM_TEST_MANUAL"));
    for (std::size_t at = 0; (at = manual.find("\\-", at)) != std::string::npos;)
        manual.replace(at, 2, "-");
    for (const KeyRight& row : key_rights)
        EXPECT_TRUE(contains(manual, "\n" + right_line(row) + "\n")) << right_line(row);
}

TEST_F(KeyTable, AdministratorsStayWithinTheDirectory) {
    force("--allow-admin --poolset-outside");
    EXPECT_EQ(act("rpmemd --list"), EINVAL) << said_;
}

} // namespace
} // namespace rpmem::test
