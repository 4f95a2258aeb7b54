#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# layers.sh SOURCE_DIR
#
# Tests which folder includes which, by a search for #include. An arrow means "includes":
#   library: api -> pool -> connection -> session, lanes -> transport, wire -> base
#            pool -> replica -> lanes
#   daemon:  main -> session, actions -> registry -> pools -> durability -> base
#            session -> lanes -> durability, session -> confinement -> base
# Neither half includes the other. Tools include the public interface, and tests include everything.
# It fails for each include that a rule below refuses.
set -u
cd "$1" || exit 1
faults=0

# refuse WHERE PATTERN WHY: no #include in the files of WHERE may match PATTERN.
refuse() {
    local where=$1 pattern=$2 why=$3 found
    # shellcheck disable=SC2086 # several paths in WHERE
    found=$(grep -rnE --include='*.?pp' --include='*.h' "^#include $pattern" $where)
    if [ -n "$found" ]; then
        printf '%s:\n%s\n' "$why" "$found"
        faults=1
    fi
}

refuse "common" '"(librpmem|rpmemd)/' "what both halves stand on knows neither"
refuse "common librpmem rpmemd" '"(tools|tests)/' "the product knows no tool and no test"
refuse "tools" '"tests/' "tools know no test"
refuse "common/pools" '"common/(wire|rdma|transport|probe|statistics)/' "pools' layouts stand on base alone"
refuse "common/pools" '<(sys|poll|unistd|fstream)' "pools' layouts are pure: no input, no output"
refuse "common/command_line" '"common/(wire|rdma|transport|pools|probe|statistics)/' "help pages stand on base alone"
refuse "librpmem common/base common/wire common/transport" '(<CLI/|"common/command_line/)' "only programs have a command line"
refuse "common/base" '"common/(wire|rdma|transport|probe|pools)/' "base stands on nothing of ours"
refuse "common/wire" '"common/rdma/' "wire knows nothing but base"
refuse "common/wire" '<(rdma|sys|poll|unistd)' "wire is pure: no input, no output, no libfabric"
refuse "common/rdma" '"common/wire/' "rdma knows nothing but base"
for file in $(find librpmem rpmemd common -name '*.?pp' ! -path 'common/transport/fabric/*'); do
    refuse "$file" '<rdma/' "only transport/fabric speaks to libfabric"
done
refuse "librpmem rpmemd common/base common/wire common/transport common/probe tools" '<infiniband/' "only rdma speaks to libibverbs"
refuse "common/base common/wire common/rdma common/transport" '"common/probe/' "nothing stands on probe but programs"
refuse "tools/bench" '"(common/(wire|transport|rdma|probe)|librpmem|rpmemd)/' "tools use the public interface"
refuse "tools/compare" '"(common/(wire|transport|rdma|probe|statistics)|librpmem|rpmemd|tools/ctl)/' "what compares pools knows base and their layout"
refuse "tools/ctl" '"(common/wire|librpmem/lanes|rpmemd)/' "rpmemctl logs in and looks around as the library does; data moves through the public interface"
refuse "tools" '<rdma/' "only fabric speaks to libfabric"
refuse "librpmem" '"rpmemd/' "the library knows nothing of the daemon"
refuse "rpmemd" '"librpmem/' "the daemon knows nothing of the library"
refuse "rpmemd/pools" '"rpmemd/lanes/' "pools know nothing of lanes"
refuse "rpmemd/lanes" '"rpmemd/pools/' "lanes know nothing of pools"
refuse "rpmemd/pools rpmemd/lanes rpmemd/durability rpmemd/settings rpmemd/confinement" '"rpmemd/registry/' "only the session knows the registry"
refuse "rpmemd/registry" '"(common/wire|rpmemd/(lanes|settings|confinement|durability))/' "the registry knows pools, and nothing of peers"
refuse "librpmem/connection librpmem/session librpmem/lanes" '"librpmem/replica/' "only the pool knows what a replica lacks"
refuse "librpmem/replica" '"librpmem/session/' "what a replica lacks is sent over a connection, whose session it does not know"
refuse "librpmem/session" '"(librpmem/lanes|common/transport/(fabric|tcp))/' "the session knows nothing of the fabric"
refuse "rpmemd/durability" '"(common/(wire|transport)|rpmemd/(lanes|pools))/' "what makes ranges durable knows nothing but base"
refuse "librpmem common rpmemd/settings rpmemd/confinement rpmemd/lanes" '<libpmem' "only pools and durability use libpmem"
for file in $(find librpmem common rpmemd -name '*.?pp' ! -path '*/session/ssh2/*'); do
    refuse "$file" '<libssh2' "only session/ssh2 speaks to libssh2"
done
for file in $(find librpmem common rpmemd -name '*.?pp' ! -path '*/session/ssh2/*' ! -path 'common/transport/*'); do
    refuse "$file" '<openssl/' "only session/ssh2 and transport speak to libcrypto"
done
for file in $(find librpmem common rpmemd tools -name '*.?pp' ! -path 'rpmemd/confinement/*'); do
    refuse "$file" '<(seccomp\.h|linux/landlock)' "only confinement gives up system calls and files"
done
refuse "rpmemd/statistics" '"(common/(wire|transport)|rpmemd/(lanes|pools|durability|registry|confinement|settings))/' "what is counted knows nothing of who counts"
refuse "rpmemd/confinement" '"(common/(wire|transport)|rpmemd/(lanes|pools|durability))/' "confinement knows nothing but base"
for file in common/transport/{control_transcript,lane_auth,lane_keys,pending_connections,refusal}*.?pp; do
    refuse "$file" '<(sys|poll|unistd|netinet|openssl)' "proofs and slots are pure: no input, no output, no clock"
done
refuse "common/base common/wire common/rdma" '"common/transport/' "what transports stand on knows none of them"
for file in $(find librpmem -name '*.?pp' ! -path '*/session/ssh2/*' ! -name start_channel.cpp); do
    refuse "$file" '"librpmem/session/ssh2/' "only start_channel.cpp knows the transports"
done
for file in rpmemd/*.?pp; do
    refuse "$file" '<libpmem' "only pools and durability use libpmem"
done

[ $faults = 0 ] && echo "the arrows run one way"
exit $faults
