// The process of the limits that answers, on the target: it stands where a daemon stands.
#pragma once

namespace rpmem::bench {

// The argument with which it is started on another machine, not for users.
inline constexpr const char* answering_half = "--answer";

// Serves tasks that come from INPUT until its end; replies go to OUTPUT.
void serve_answers(int input, int output);

} // namespace rpmem::bench
