// Who reaches the port and has no secret: says nothing, nonsense, or again what honest lanes said.
#pragma once

#include "common/base/unique_fd.hpp"
#include "tests/simulation/daemon.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace rpmem::simulation {

class Strangers {
public:
    // PORT: of their path.
    Strangers(World& world, unsigned number, std::uint16_t port)
        : world_(world), number_(number), port_(port) {}

    // What an honest initiator sends before frames: they hear it, too.
    void overhear(const Link& link, std::span<const iovec> pieces);
    // Until so many have connected, and all have been ended.
    void run();

private:
    static constexpr std::size_t proof_size =
        transport::first_message_size + transport::third_message_size;
    struct Overheard {
        const Link* link;
        std::vector<std::byte> bytes;
    };
    struct Stranger {
        UniqueFd socket;
        Time connected;
        const Overheard* says = nullptr; // again
        std::size_t said = 0;
        bool is_silent = false;
    };
    void come();
    void speak(Stranger& stranger);
    void say(Stranger& stranger, std::span<const std::byte> bytes);
    void repeat(Stranger& stranger);
    [[nodiscard]] bool is_ended(Stranger& stranger);

    World& world_;
    unsigned number_;
    std::uint16_t port_;
    std::vector<std::unique_ptr<Overheard>> overheard_;
    std::vector<Stranger> here_;
    bool keeps_slots_ = false; // they say the first message, and then nothing
};

} // namespace rpmem::simulation
