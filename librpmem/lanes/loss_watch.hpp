#pragma once

#include "common/transport/transport.hpp"

namespace rpmem::initiator {

using transport::LossWatch;

} // namespace rpmem::initiator
