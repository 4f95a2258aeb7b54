#include "common/transport/tls/tls_bytes.hpp"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>

namespace rpmem::transport {
namespace {

TlsBytes& bytes_of_bio(BIO* bio) { return *static_cast<TlsBytes*>(::BIO_get_data(bio)); }

long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0; // nothing else has a meaning here
}

} // namespace

void TlsBytes::FreeMethod::operator()(bio_method_st* method) const { ::BIO_meth_free(method); }

bool TlsBytes::attach(ssl_st* ssl) {
    method_.reset(::BIO_meth_new(BIO_TYPE_SOURCE_SINK, "rpmem"));
    if (!method_ || ::BIO_meth_set_read(method_.get(), read) != 1 ||
        ::BIO_meth_set_write(method_.get(), write) != 1 ||
        ::BIO_meth_set_ctrl(method_.get(), control) != 1)
        return false;
    BIO* const bio = ::BIO_new(method_.get());
    if (!bio)
        return false;
    ::BIO_set_data(bio, this);
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(ssl, bio, bio); // takes it
    return true;
}

int TlsBytes::read(BIO* bio, char* place, int size) {
    TlsBytes& self = bytes_of_bio(bio);
    BIO_clear_retry_flags(bio);
    if (self.used_up())
        return -1;
    const std::size_t taken =
        std::min({static_cast<std::size_t>(size), self.in_end_ - self.in_begin_, self.allowed_});
    if (taken == 0) {
        self.ran_dry_ = true;
        BIO_set_retry_read(bio);
        return -1;
    }
    std::memcpy(place, self.in_.data() + self.in_begin_, taken);
    self.in_begin_ += taken;
    if (self.in_begin_ == self.in_end_)
        self.in_begin_ = self.in_end_ = 0;
    if (self.allowed_ != unlimited)
        self.allowed_ -= taken;
    return static_cast<int>(taken);
}

int TlsBytes::write(BIO* bio, const char* bytes, int size) {
    TlsBytes& self = bytes_of_bio(bio);
    BIO_clear_retry_flags(bio);
    const auto wanted = static_cast<std::size_t>(size);
    if (wanted > self.out_.size() - self.out_end_)
        return -1;
    std::memcpy(self.out_.data() + self.out_end_, bytes, wanted);
    self.out_end_ += wanted;
    return size;
}

void TlsBytes::sent(std::size_t bytes) {
    out_begin_ += bytes;
    if (out_begin_ == out_end_)
        out_begin_ = out_end_ = 0;
}

} // namespace rpmem::transport
