// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the record of a pool at the initiator. A record that proves something without an epoch or
// files, too many files, or a record that is written and read back differently fails.
#include "librpmem/replica/initiator_record.hpp"

#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    const auto record = initiator::decode_initiator_record(fuzz::text_of_input(data, size));
    if (fuzz::is_refused(record, {EBADMSG, ENOTSUP}))
        return 0;
    require(record->epoch > 0 && !record->files.empty(), "a record has an epoch and files");
    require(record->files.size() <= initiator::max_local_files, "the files are bounded");
    const std::string text = encode(*record);
    require(text.size() <= initiator::max_record_size, "a record that is read can be written");
    const auto again = initiator::decode_initiator_record(text);
    require(again && *again == *record, "a record is read again as it was");
    return 0;
}
