// SPDX-License-Identifier: BSD-3-Clause
// The simulated target: its files, its pool, and the real daemons that logins have started. A write
// to the pool without its lock, or a lock that stays at the end, is a finding.
#pragma once

#include "rpmemd/pools/files/pool_attribute.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/session/control_loop.hpp"
#include "rpmemd/settings/settings.hpp"
#include "tests/simulation/sessions/login.hpp"
#include "tests/simulation/sessions/plan.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace rpmem::simulation::sessions {

inline constexpr std::size_t part_size = std::size_t{2} << 20; // the minimum of a part
// All up to the end of the regions of lanes. Nothing is stored after these.
inline constexpr std::size_t used_size = first_place + pool_size;
inline constexpr const char* pool_set = "pool.set";
// Names of pool sets. The last two refer to the part of the first by a hard link and by a bind
// mount.
inline constexpr std::array<const char*, 3> pool_sets{pool_set, "link.set", "mount.set"};

// A backup of the part by a user.
struct Backup {
    std::vector<std::byte> bytes;
    std::map<std::string, std::string> attributes;
};

// The bytes of the part, which all daemons map. Each simulation fills them again.
class PartMemory {
public:
    PartMemory() : fd_(::memfd_create("part", MFD_CLOEXEC)) {
        if (fd_ < 0 || ::ftruncate(fd_, part_size) != 0)
            throw std::runtime_error("no file in memory");
        void* const place = ::mmap(nullptr, part_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (place == MAP_FAILED)
            throw std::runtime_error("the part cannot be mapped");
        bytes_ = {static_cast<std::byte*>(place), part_size};
    }
    ~PartMemory() {
        ::munmap(bytes_.data(), bytes_.size());
        ::close(fd_);
    }
    PartMemory(const PartMemory&) = delete;
    PartMemory& operator=(const PartMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
    std::span<std::byte> bytes_;
};

class Target {
public:
    Target(Machine& machine, const Plan& plan, const PartMemory& memory, bool tells)
        : machine_(machine), world_(machine.world()), configuration_(make_configuration(plan)),
          log_(tells ? Log::to_stderr("  rpmemd", LogLevel::debug, identity_of(STDERR_FILENO))
                     : Log()) {
        make_files(memory);
        machine_.writes = [this](const Node& node) { check_writer(node); };
    }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    [[nodiscard]] std::span<std::byte> pool() const {
        return part_->memory.subspan(first_place, pool_size);
    }
    [[nodiscard]] std::span<std::byte> durable() const {
        return std::span(part_->durable).subspan(first_place, pool_size);
    }
    // Returns the record of the pool that a power failure would leave, or nothing if there is none.
    [[nodiscard]] std::optional<target::PoolRecord> durable_record() const {
        const auto found = part_->durable_attributes.find(target::pool_attribute_name);
        if (found == part_->durable_attributes.end())
            return std::nullopt;
        auto record = target::decode_attribute(found->second);
        return record ? std::optional(std::move(*record)) : std::nullopt;
    }

    // Starts a daemon like sshd does after a login.
    void start_daemon(const std::shared_ptr<Login>& login) {
        if (!is_up_ || login->status)
            return login->cut();
        Process& process = machine_.make_process("rpmemd");
        login->daemon = &process;
        logins_.push_back(login);
        world_.start("rpmemd", &process, [this, login, &process] {
            const int status = serve(*login, process);
            if (process.is_dead)
                return;
            if (!login->status)
                login->status = status;
            machine_.end(process);
        });
    }

    // Returns the newest running daemon, or null.
    [[nodiscard]] Process* daemon() const {
        for (auto login = logins_.rbegin(); login != logins_.rend(); ++login)
            if (!(*login)->daemon->is_dead)
                return (*login)->daemon;
        return nullptr;
    }
    [[nodiscard]] bool has_daemons() const {
        return std::ranges::any_of(logins_,
                                   [](const auto& login) { return !login->daemon->is_dead; });
    }
    [[nodiscard]] bool is_up() const { return is_up_; }
    void kill(Process& daemon) {
        for (const auto& login : logins_)
            if (login->daemon == &daemon && !login->status)
                login->status = Login::status_of_ssh;
        machine_.kill(daemon);
    }
    void lose_power() {
        is_up_ = false;
        for (const auto& login : logins_)
            machine_.system().vanish(*login->daemon);
        machine_.system().files().lose_power(world_.random());
    }
    void get_power() {
        is_up_ = true;
        ++machine_.boot;
    }
    [[nodiscard]] Backup back_up() const {
        return {.bytes = part_->durable, .attributes = part_->attributes};
    }
    // Restores a backup while the power is off. The part is another file then: it has another
    // inode, or the same inode number and another generation. Some programs do not copy attributes.
    void restore(const Backup& backup, Random& random) {
        if (random.chance(50))
            ++part_->generation;
        else
            part_->inode = machine_.system().files().new_inode();
        std::ranges::copy(backup.bytes, part_->memory.begin());
        part_->durable = backup.bytes;
        part_->attributes = random.chance(70) ? backup.attributes : decltype(backup.attributes){};
        part_->durable_attributes = part_->attributes;
        world_.note("an older backup of the part is restored");
    }
    // Renames the part in its pool set. Links and mounts stay.
    void rename_part() {
        Node& directory = *machine_.system().files().find(nullptr, "/pools");
        const auto text = directory.names.at(pool_set);
        directory.names.erase(part_name_);
        part_name_ += "-moved";
        directory.names[part_name_] = part_;
        directory.durable_names = directory.names;
        write(*text, "PMEMPOOLSET\n2M /pools/" + part_name_ + "\n");
    }
    // Removes state-dir. Daemons keep the files that they have open there.
    void lose_state_directory() {
        Node& parent = *machine_.system().files().find(nullptr, "/state");
        parent.names.clear();
        parent.durable_names.clear();
    }
    void refuse_state_directory(bool is_refused) {
        machine_.system().files().find(nullptr, "/state")->is_refused = is_refused;
    }
    // Checks that no lock is left.
    void check_end() const {
        if (part_->exclusive || !part_->shared.empty())
            world_.find("the pool is locked, and all sessions have ended");
    }

private:
    static target::Configuration make_configuration(const Plan& plan) {
        auto layer = target::complete({}, "/home");
        if (!layer)
            throw std::runtime_error(layer.error().text);
        target::Configuration configuration = target::configuration_of(*layer);
        configuration.poolset_dir = "/pools";
        configuration.state_dir = "/state/rpmemd";
        configuration.confine = target::Confine::never; // it would confine the whole test process
        configuration.threads = plan.workers;
        configuration.spin_time = 0;
        configuration.peer_timeout = plan.target_peer_timeout;
        configuration.accept_timeout = plan.accept_timeout;
        configuration.use_syslog = false;
        return configuration;
    }
    void make_files(const PartMemory& memory) {
        FileSystem& files = machine_.system().files();
        const auto directory = files.make_directory(*files.root(), "pools");
        files.make_directory(*files.root(), "state");
        files.make_directory(*files.root(), "other-state");
        files.root()->names["mnt"] = directory;
        constexpr std::array<const char*, pool_sets.size()> paths{"/pools/part", "/pools/link",
                                                                  "/mnt/link"};
        for (std::size_t i = 0; i < paths.size(); ++i)
            write(*files.make_file(*directory, pool_sets[i], 0600),
                  std::string("PMEMPOOLSET\n2M ") + paths[i] + "\n");
        part_ = files.make_file(*directory, part_name_, 0600);
        directory->names["link"] = part_;
        part_->memory = memory.bytes();
        part_->memory_fd = memory.fd();
        part_->durable.resize(used_size);
        rpmem_pool_attr attributes{};
        std::memcpy(attributes.signature, "SIMULATE", sizeof(attributes.signature));
        attributes.major = 1;
        attributes.incompat_features = target::feature::incompat_checksum_2k;
        std::memset(attributes.poolset_uuid, 1, sizeof(attributes.poolset_uuid));
        std::memset(attributes.uuid, 2, sizeof(attributes.uuid));
        std::memset(attributes.next_uuid, 3, sizeof(attributes.next_uuid));
        std::memset(attributes.prev_uuid, 3, sizeof(attributes.prev_uuid));
        const target::Uuid uuid{};
        const auto headers = target::build_headers(attributes, {&uuid, 1}, 1);
        std::memcpy(part_->memory.data(), headers.data(), sizeof(headers[0]));
        files.sync_all();
    }
    // Writes TEXT and makes it durable.
    static void write(Node& file, std::string_view text) {
        const auto bytes = std::as_bytes(std::span(text));
        file.own_bytes.assign(bytes.begin(), bytes.end());
        file.durable = file.own_bytes;
    }
    int serve(const Login& login, Process& process) {
        auto& system = machine_.system();
        const UniqueFd input(system.open_pipe(*login.input, Side::target, &process));
        const UniqueFd output(system.open_pipe(*login.output, Side::target, &process));
        const UniqueFd error(system.open_pipe(*login.error, Side::target, &process));
        target::NodeCapabilities capabilities;
        capabilities.providers =
            wire::provider_bit(static_cast<std::uint32_t>(wire::Provider::tcp));
        target::limit(capabilities, configuration_);
        auto handshake =
            target::exchange_hello(wire::offer_value, capabilities, input.get(), output.get());
        if (!handshake)
            return EXIT_FAILURE;
        const target::Channel channel{
            input.get(), output.get(), error.get(), {.own = "127.0.0.1", .client = "127.0.0.1"}};
        target::Configuration configuration = configuration_;
        if (login.other_user)
            configuration.state_dir = "/other-state/rpmemd";
        return target::serve_session(configuration, channel, std::move(*handshake), log_);
    }
    // Only a process that holds the lock of the pool may write to it.
    void check_writer(const Node& node) {
        if (&node == part_.get() && (!node.exclusive || node.exclusive->owner != world_.process()))
            world_.find("a daemon writes to a pool that another one has");
    }

    Machine& machine_;
    World& world_;
    target::Configuration configuration_;
    Log log_;
    std::shared_ptr<Node> part_;
    std::string part_name_ = "part";
    std::vector<std::shared_ptr<Login>> logins_;
    bool is_up_ = true;
};

} // namespace rpmem::simulation::sessions
