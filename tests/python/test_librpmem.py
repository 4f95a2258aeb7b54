# SPDX-License-Identifier: BSD-3-Clause
"""Tests the Python module against the real daemon. run.sh sets up the target and the environment.

Each call must reach the target, with the right range and flags; lanes and pools must end when their
last reference does; buffers must be checked; the state must be that of the replica; and the
declarations must be those of librpmem.h. A wrong argument to the library, a leaked session, a call
that holds up another, or a stale declaration makes a test fail.
"""
import array
import errno
import gc
import mmap
import os
import pathlib
import re
import signal
import sys
import threading
import time

import pytest

import librpmem
from librpmem import _library

SIZE = 8 << 20
TARGET = os.environ["RPMEM_TEST_TARGET"]
SETS = pathlib.Path(os.environ["RPMEM_TEST_SETS"])
COMMAND = pathlib.Path(os.environ["RPMEM_CMD"])
HEADER = pathlib.Path(os.environ["RPMEM_TEST_HEADER"])
SAMPLE = librpmem.Attributes(signature=b"SAMPLE_1", major=3, uuid=b"\x20" * 16)


@pytest.fixture
def part():
    """Writes a pool.set with one part, and returns the part."""
    path = SETS / "part0"
    path.unlink(missing_ok=True)
    (SETS / "pool.set").write_text(f"PMEMPOOLSET\n{SIZE >> 20}M {path}\n")
    return path


@pytest.fixture
def memory():
    pattern = os.urandom(4096)
    result = mmap.mmap(-1, SIZE)
    result[:] = pattern * (SIZE // len(pattern))
    return result


def created(memory, lanes=1):
    return librpmem.Pool.create(TARGET, "pool.set", memory, lanes, SAMPLE)


def refused(number, words):
    return pytest.raises(librpmem.Error, match=f"^\\[Errno {number}\\] .*{words}")


def test_every_call_reaches_the_target(part, memory):
    with created(memory, lanes=2) as pool, pool.lane() as lane:
        assert pool.lanes == 2
        lane.persist(4096, 100)
        lane.persist(8192, 100, relaxed=True)
        lane.deep_persist(12288, 100)
        lane.flush(16384, 100)
        lane.flush(20480, 100, relaxed=True)
        lane.drain()
        replica = part.read_bytes()
        for offset in range(4096, 20481, 4096):
            assert replica[offset : offset + 100] == memory[offset : offset + 100]
        assert replica[24576:24676] == bytes(100)
        assert lane.read(16384, 100) == memory[16384:16484]
        statistics = pool.statistics()
        assert statistics["lanes"] == 2 and statistics["unconfirmed_bytes"] == 0
        assert statistics["persist"]["calls"] == 2 and statistics["persist"]["bytes"] == 200
        assert statistics["read"]["longest_ns"] > 0


def test_flags_and_lengths_reach_the_library(part, memory, monkeypatch):
    """The flags are checked without the target, where strict and relaxed give the same bytes."""
    with created(memory) as pool, pool.lane() as lane:
        lane.persist(4096, 800)
        room = array.array("Q", bytes(800))
        lane.read_into(room, 4096)
        assert room.tobytes() == memory[4096:4896]
        calls = []
        with monkeypatch.context() as patched:
            patched.setattr(librpmem.Lane, "_call", lambda self, _, *rest: calls.append(rest))
            for call in (lane.persist, lane.flush):
                call(4096, 100)
                call(4096, 100, relaxed=True)
                call(4096, 100, False)
        assert calls == [(4096, 100, 0, flags) for flags in (0, 1, 0, 0, 1, 0)]


def test_attributes_come_back(part, memory):
    with created(memory) as pool:
        assert pool.attributes == SAMPLE
        pool.set_attributes(librpmem.Attributes(signature=b"OTHER", major=4))
    with librpmem.Pool.open(TARGET, "pool.set", memory) as pool:
        assert (pool.attributes.signature, pool.attributes.major) == (b"OTHER\0\0\0", 4)
        assert pool.attributes.uuid == bytes(16)
    librpmem.remove(TARGET, "pool.set", with_pool_set=True)
    assert not part.exists() and not (SETS / "pool.set").exists()
    librpmem.remove(TARGET, "pool.set", force=True)
    with pytest.raises(ValueError, match="signature"):
        librpmem.Pool.create(TARGET, "pool.set", memory, attributes=librpmem.Attributes(b"9" * 9))


def test_reads_go_where_the_buffer_is(part, memory):
    with created(memory) as pool, pool.lane() as lane:
        lane.persist(4096, 64)
        room = bytearray(100)
        lane.read_into(memoryview(room)[10:74], 4096)
        assert room == bytes(10) + memory[4096:4160] + bytes(26)
        with pytest.raises((BufferError, ValueError)):
            lane.read_into(bytes(8), 4096)
        with pytest.raises((BufferError, ValueError)):
            librpmem.Pool.create(TARGET, "pool.set", bytes(SIZE))


def test_the_memory_stays_while_the_pool_is_open(part, memory):
    pool = created(memory)
    with pytest.raises(BufferError):
        memory.close()
    pool.close()
    memory.close()


def test_nobody_else_has_a_lane(part, memory):
    with created(memory, lanes=2) as pool:
        first, second = pool.lane(), pool.lane()
        assert {first.number, second.number} == {0, 1}
        with refused(errno.EAGAIN, "all 2 lanes"):
            pool.lane()
        first.close()
        first.close()
        with refused(errno.EBADF, "lane is closed"):
            first.persist(4096, 8)
        assert pool.lane().number == 0  # this lane is released at once
        del second
        gc.collect()
        third, fourth = pool.lane(), pool.lane()
        assert {third.number, fourth.number} == {0, 1}


def test_the_session_ends_with_the_last_that_knows_of_it(part, memory):
    lane = created(memory).lane()  # the lane keeps its pool open
    lane.persist(4096, 8)
    with refused(errno.EBUSY, "in use"):
        librpmem.Pool.open(TARGET, "pool.set", memory)
    del lane
    gc.collect()
    pool = librpmem.Pool.open(TARGET, "pool.set", memory)
    lane = pool.lane()
    pool.close()
    pool.close()
    with refused(errno.EBADF, "pool is closed"):
        lane.persist(4096, 8)


def test_threads_have_lanes_of_their_own(part, memory):
    faults = []

    def work(pool, start):
        try:
            with pool.lane() as lane:
                for offset in range(start, start + (1 << 20), 4096):
                    lane.persist(offset, 4096)
        except BaseException as fault:
            faults.append(fault)

    with created(memory, lanes=4) as pool:
        threads = [threading.Thread(target=work, args=(pool, n << 20)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not faults
    assert part.read_bytes()[1 << 20 : 5 << 20] == memory[1 << 20 : 5 << 20]


def kill_daemon():
    """Sends SIGKILL to the daemon, and waits until it has ended."""
    process = int(COMMAND.with_name("pid").read_text())
    os.kill(process, signal.SIGKILL)
    for _ in range(500):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("the daemon does not end")


def until_away(pool):
    """Waits until the loss is found: sshd closes the connection after the daemon has ended."""
    end = time.monotonic() + 30
    while pool.replica_state().state is librpmem.ReplicaState.IN_SYNC:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_state_is_that_of_the_replica(part, memory):
    before = int(time.time())
    working = COMMAND.read_text()
    with created(memory) as pool:
        status = pool.replica_state()
        assert status.state is librpmem.ReplicaState.IN_SYNC
        assert before <= status.since <= time.time()
        assert (status.behind_bytes, status.catch_up_rate, status.reason) == (0, 0, "")
        pool.wait_in_sync(0)
        with refused(errno.EINVAL, "must be 0 to"):
            pool.wait_in_sync(-0.5)
        with pytest.raises(OverflowError):
            pool.wait_in_sync(2**31)
        try:
            COMMAND.write_text("#!/bin/sh\nexit 127\n")
            kill_daemon()
            until_away(pool)
            began = time.monotonic()
            with refused(errno.ETIMEDOUT, "not in sync after 300 ms"):
                pool.wait_in_sync(0.3)
            assert 0.3 <= time.monotonic() - began < 5
            status = pool.replica_state()
            assert status.state is librpmem.ReplicaState.AWAY and status.reason
        finally:
            COMMAND.write_text(working)
        pool.wait_in_sync(60)
        assert pool.replica_state().state is librpmem.ReplicaState.IN_SYNC
    with refused(errno.EBADF, "pool is closed"):
        pool.replica_state()
    with refused(errno.EBADF, "pool is closed"):
        pool.wait_in_sync(0)


def test_a_wait_holds_up_no_call_but_close(part, memory, monkeypatch):
    """The wait itself is replaced, so that it lasts until the test ends it."""
    has_begun, may_end = threading.Event(), threading.Event()

    class Library:
        def __getattr__(self, name):
            return getattr(_library.lib, name)

        def rpmem_wait_in_sync(self, *_):
            has_begun.set()
            assert may_end.wait(60)
            return 0

    monkeypatch.setattr(librpmem, "lib", Library())
    pool = created(memory)
    waits = threading.Thread(target=pool.wait_in_sync, args=(60,))
    waits.start()
    assert has_begun.wait(60)
    with pool.lane() as lane:
        lane.persist(4096, 8)
    assert pool.replica_state().state is librpmem.ReplicaState.IN_SYNC
    closes = threading.Thread(target=pool.close)
    closes.start()
    closes.join(0.3)
    assert closes.is_alive(), "the pool is closed during a call"
    may_end.set()
    closes.join(60)
    waits.join(60)
    assert not closes.is_alive() and not waits.is_alive()


def test_failures_say_what_failed(part, memory):
    with refused(errno.ENOENT, "missing.set") as caught:
        librpmem.Pool.open(TARGET, "missing.set", memory)
    assert isinstance(caught.value, OSError)
    with refused(errno.ENOENT, "missing.set"):
        librpmem.remove(TARGET, "missing.set")
    with refused(errno.EINVAL, "page size"):
        librpmem.Pool.create(TARGET, "pool.set", memoryview(memory)[8:], attributes=SAMPLE)
    with created(memory) as pool, pool.lane() as lane:
        with refused(errno.EINVAL, "header"):
            lane.persist(0, 8)
        with refused(errno.EINVAL, "within the pool"):
            lane.read(SIZE, 8)
        with pytest.raises(OverflowError):
            lane.persist(-1, 8)


def plain(text):
    """Returns declarations without comments, preprocessor lines and white space."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"^#.*$", "", text, flags=re.M))


def test_declarations_are_those_of_the_header():
    header = HEADER.read_text()
    sizes = dict(re.findall(r"#define (RPMEM_\w+_LEN) (\d+)", header))
    wanted = re.sub("|".join(sizes), lambda name: sizes[name[0]], plain(header))
    declared = plain("".join(_library.ffi._cdefsources))
    functions = re.findall(r"[^;{}]*\brpmem_\w+\([^;]*;", declared)
    assert len(functions) == len(re.findall(r"\brpmem_\w+\([^;]*;", wanted)) == 15
    structures = re.findall(r"struct rpmem_\w+ \{[^}]*\};", declared)
    assert len(structures) == 4
    for declaration in [*functions, *structures]:
        assert declaration.strip() in wanted
    for name, value in [
        ("RPMEM_PERSIST_RELAXED (1U << 0)", _library.RELAXED),
        ("RPMEM_STATS_VERSION 1U", _library.STATS_VERSION),
        ("RPMEM_REPLICA_STATE_VERSION 1U", _library.REPLICA_STATE_VERSION),
        ("RPMEM_REMOVE_FORCE 0x1", _library.REMOVE_FORCE),
        ("RPMEM_REMOVE_POOL_SET 0x2", _library.REMOVE_POOL_SET),
    ]:
        assert f"#define {name}" in header
        assert eval(name.split(" ", 1)[1].replace("U", "")) == value
    states = re.search(r"enum rpmem_sync_state \{([^}]*)\}", plain(header))[1]
    names = [name.strip() for name in states.split(",")]
    assert names == [f"RPMEM_REPLICA_{state.name}" for state in librpmem.ReplicaState]
    assert list(librpmem.ReplicaState) == list(range(len(names)))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
