// One end of a bare libfabric connection: messages over FI_EP_MSG, both ends spinning. What the
// provider can do without any of us.
#pragma once

#include "buffer.hpp"
#include "exchange.hpp"
#include "fabric_library.hpp"
#include "samples.hpp"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <string>
#include <vector>

namespace rpmem::bench {

class FabricEnd {
public:
    // PROVIDERS: names with commas between; the first that there is serves.
    // The end that answers: listens on a port of its own choice.
    static Result<FabricEnd> listen(const std::string& providers);
    // The end that asks.
    static Result<FabricEnd> connect(const std::string& providers, std::uint16_t port);

    [[nodiscard]] std::uint16_t port() const { return port_; }
    Result<> accept();

    // The answering end, before the other asks.
    Result<> prepare(const Exchange& exchange);
    Result<> ask(const Exchange& exchange, std::vector<std::uint64_t>& nanoseconds);
    Result<> answer(const Exchange& exchange);

private:
    struct Closer {
        template <typename Object>
        void operator()(Object* object) const {
            fi_close(&object->fid);
        }
    };
    template <typename Object>
    using Handle = std::unique_ptr<Object, Closer>;
    using Info = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

    explicit FabricEnd(const FabricLibrary& library) : library_(library) {}
    static Result<FabricEnd> open(const std::string& providers, const std::string& service);
    Result<> find(const std::string& providers, const std::string& service);
    Result<> check(int status, const char* what) const;
    Result<> open_endpoint(fi_info* info);
    Result<Info> wait_for(std::uint32_t wanted);
    Result<> post_receive(std::uint64_t size);
    Result<> send(std::uint64_t size);
    Result<> wait_for_message();
    Result<> collect();

    FabricLibrary library_;
    Info info_{nullptr, nullptr};
    Handle<fid_fabric> fabric_;
    Handle<fid_eq> events_;
    Handle<fid_domain> domain_;
    Handle<fid_cq> completions_;
    Buffer buffer_;
    Handle<fid_mr> region_;
    Handle<fid_pep> listener_;
    Handle<fid_ep> endpoint_;
    std::uint16_t port_ = 0;
    std::uint64_t received_ = 0; // messages not yet looked at
    std::uint64_t sending_ = 0;
};

} // namespace rpmem::bench
