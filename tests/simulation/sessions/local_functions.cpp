// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions of the library that look at the files of the program's machine. The
// linker's --wrap replaces them, see CMakeLists.txt.
#include "librpmem/replica/local_data.hpp"
#include "librpmem/replica/proof.hpp"
#include "tests/simulation/sessions/local_machine.hpp"
#include "tests/simulation/sessions/planted.hpp"

#include <cerrno>

namespace rpmem::simulation::sessions {

using initiator::InitiatorRecord;
using initiator::InitiatorRecordFile;
using initiator::LocalFile;
using LocalFiles = std::vector<LocalFile>;
using Memory = std::span<const std::byte>;

using Find = Result<LocalFiles>(Memory);
Find real_files __asm__(
    "__real__ZN5rpmem9initiator11local_filesESt4spanIKSt4byteLm18446744073709551615EE");
Find local_files_of_simulation __asm__(
    "__wrap__ZN5rpmem9initiator11local_filesESt4spanIKSt4byteLm18446744073709551615EE");
Result<LocalFiles> local_files_of_simulation(Memory memory) {
    const LocalMachine* const machine = LocalMachine::current();
    if (!machine)
        return real_files(memory);
    return LocalFiles{machine->file()};
}

// The real one needs a descriptor table of its own, and the threads of the simulation share one.
// Without a result, all blocks count as data.
using FindData = Result<initiator::LocalData>(std::span<std::byte>);
FindData real_data __asm__(
    "__real__ZN5rpmem9initiator15find_local_dataESt4spanISt4byteLm18446744073709551615EE");
FindData find_data __asm__(
    "__wrap__ZN5rpmem9initiator15find_local_dataESt4spanISt4byteLm18446744073709551615EE");
Result<initiator::LocalData> find_data(std::span<std::byte> memory) {
    return LocalMachine::current() ? initiator::LocalData() : real_data(memory);
}

// The buffers of reads are no memory of the pool.
using MapsOne = bool(Memory, const LocalFiles&);
MapsOne real_maps __asm__(
    "__real__ZN5rpmem9initiator11maps_one_ofESt4spanIKSt4byteLm18446744073709551615EERKSt6vectorINS"
    "0_9LocalFileESaIS6_EE");
MapsOne maps_one_of_simulation __asm__(
    "__wrap__ZN5rpmem9initiator11maps_one_ofESt4spanIKSt4byteLm18446744073709551615EERKSt6vectorINS"
    "0_9LocalFileESaIS6_EE");
bool maps_one_of_simulation(Memory memory, const LocalFiles& files) {
    return LocalMachine::current() ? false : real_maps(memory, files);
}

using Read = Result<std::optional<InitiatorRecord>>(const InitiatorRecordFile*);
Read real_read __asm__("__real__ZNK5rpmem9initiator19InitiatorRecordFile4readEv");
Read read_record __asm__("__wrap__ZNK5rpmem9initiator19InitiatorRecordFile4readEv");
Result<std::optional<InitiatorRecord>> read_record(const InitiatorRecordFile* file) {
    const LocalMachine* const machine = LocalMachine::current();
    if (!machine)
        return real_read(file);
    return machine->read(file->path());
}

using Write = Result<>(const InitiatorRecordFile*, const InitiatorRecord&);
Write real_write __asm__(
    "__real__ZNK5rpmem9initiator19InitiatorRecordFile5writeERKNS0_15InitiatorRecordE");
Write write_record __asm__(
    "__wrap__ZNK5rpmem9initiator19InitiatorRecordFile5writeERKNS0_15InitiatorRecordE");
Result<> write_record(const InitiatorRecordFile* file, const InitiatorRecord& record) {
    LocalMachine* const machine = LocalMachine::current();
    if (!machine)
        return real_write(file, record);
    if (machine->write(file->path(), record))
        return {};
    return fail(ErrorClass::resource_limit, EROFS, "{} cannot be written", file->path());
}

using Erase = Result<>(const InitiatorRecordFile*);
Erase real_erase __asm__("__real__ZNK5rpmem9initiator19InitiatorRecordFile5eraseEv");
Erase erase_record __asm__("__wrap__ZNK5rpmem9initiator19InitiatorRecordFile5eraseEv");
Result<> erase_record(const InitiatorRecordFile* file) {
    LocalMachine* const machine = LocalMachine::current();
    if (!machine)
        return real_erase(file);
    machine->erase(file->path());
    return {};
}

using Prove = std::optional<std::string>(const wire::PoolState&,
                                         const std::optional<InitiatorRecord>&, const LocalFiles&);
Prove real_proof __asm__(
    "__real__ZN5rpmem9initiator13missing_proofB5cxx11ERKNS_4wire9PoolStateERKSt8optionalINS0_"
    "15InitiatorRecordEERKSt6vectorINS0_9LocalFileESaISB_EE");
Prove planted_proof __asm__(
    "__wrap__ZN5rpmem9initiator13missing_proofB5cxx11ERKNS_4wire9PoolStateERKSt8optionalINS0_"
    "15InitiatorRecordEERKSt6vectorINS0_9LocalFileESaISB_EE");
std::optional<std::string> planted_proof(const wire::PoolState& target,
                                         const std::optional<InitiatorRecord>& record,
                                         const LocalFiles& files) {
    if (proves_everything() && record)
        return std::nullopt;
    return real_proof(target, record, files);
}

} // namespace rpmem::simulation::sessions
