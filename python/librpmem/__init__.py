# SPDX-License-Identifier: BSD-3-Clause
"""Replication of a memory pool to another machine: librpmem(7) for Python.

    memory = mmap.mmap(-1, 32 << 20)
    with librpmem.Pool.create("target", "pool.set", memory,
                              attributes=librpmem.Attributes(b"EXAMPLE", 1)) as pool:
        memory[4096:4116] = b"kept on two machines"
        with pool.lane() as lane:
            lane.persist(4096, 20)

The memory is any writable object with the buffer interface, of whole pages: an mmap, or an array in
one. The module copies no data: the library sends from this memory, and Lane.read_into() receives
into the buffer. Other threads run while a call waits. The library reads some settings (RPMEM_*)
from the environment when this module is imported, and the others at the first create(), open() or
remove(); librpmem(7) says which.
"""
import dataclasses
import enum
import errno
import math
import threading
import weakref

from librpmem._library import (
    RELAXED,
    REMOVE_FORCE,
    REMOVE_POOL_SET,
    REPLICA_STATE_VERSION,
    STATS_VERSION,
    ffi,
    lib,
)

__all__ = ["Attributes", "Error", "Lane", "Pool", "ReplicaState", "ReplicaStatus", "remove"]


class Error(OSError):
    """A call of the library failed. strerror has the text of rpmem_errormsg(3)."""


def _last_error():
    number = ffi.errno
    return Error(number, ffi.string(lib.rpmem_errormsg()).decode(errors="replace"))


def _check(status):
    if status != 0:
        raise _last_error()


def _closed(what):
    return Error(errno.EBADF, f"the {what} is closed")


@dataclasses.dataclass(frozen=True)
class Attributes:
    """Attributes in the headers of a pool. A short field of bytes is padded with zeros."""

    signature: bytes = b""
    major: int = 0
    compat_features: int = 0
    incompat_features: int = 0
    ro_compat_features: int = 0
    poolset_uuid: bytes = b""
    uuid: bytes = b""
    next_uuid: bytes = b""
    prev_uuid: bytes = b""
    user_flags: bytes = b""

    def _to_c(self):
        result = ffi.new("struct rpmem_pool_attr*")
        for name, value in dataclasses.asdict(self).items():
            if isinstance(value, bytes):
                room = ffi.buffer(ffi.addressof(result, name))
                if len(value) > len(room):
                    raise ValueError(f"{name} has {len(value)} bytes, of {len(room)} at most")
                room[: len(value)] = value
            else:
                setattr(result, name, value)
        return result

    @classmethod
    def _from_c(cls, attributes):
        def value_of(field):
            if field.type is bytes:
                return bytes(ffi.buffer(ffi.addressof(attributes, field.name)))
            return getattr(attributes, field.name)

        return cls(**{field.name: value_of(field) for field in dataclasses.fields(cls)})


class ReplicaState(enum.IntEnum):
    """The states of rpmem_replica_state(3)."""

    IN_SYNC = 0
    AWAY = 1
    CATCHING_UP = 2
    FAILED = 3  # final until the pool is opened again
    PAUSED = 4  # by an operator: rpmemctl pause


@dataclasses.dataclass(frozen=True)
class ReplicaStatus:
    """The result of rpmem_replica_state(3)."""

    state: ReplicaState
    since: int  # when the state began: seconds since 1970, like time.time()
    behind_bytes: int  # bytes that the target lacks, in blocks of 64 KiB
    catch_up_rate: int  # bytes per second, 0 unless CATCHING_UP
    reason: str  # why it is not in sync, else empty


def _as_dict(value):
    """Converts a structure, and the structures in it, to a dict."""
    if not isinstance(value, ffi.CData):
        return value
    return {name: _as_dict(getattr(value, name)) for name, _ in ffi.typeof(value).fields}


class _Session:
    """Shared by a Pool and its lanes. Each lane has a lock, and calls without a lane are counted, so
    close() waits for calls.
    """

    def __init__(self, handle, memory, lanes):
        self.handle = handle
        self.memory = memory
        self.locks = [threading.Lock() for _ in range(lanes)]
        self.free = list(reversed(range(lanes)))
        self.changed = threading.Condition()
        self.calls = 0  # without a lane, in progress

    def call(self, lane, function, *arguments):
        with self.locks[lane]:
            if self.handle is None:
                raise _closed("pool")
            _check(function(self.handle, *arguments))

    def call_without_lane(self, function, *arguments):
        """Does not wait for calls on lanes, which may wait for the target."""
        with self.changed:
            handle = self.handle
            if handle is None:
                raise _closed("pool")
            self.calls += 1
        try:
            _check(function(handle, *arguments))
        finally:
            with self.changed:
                self.calls -= 1
                self.changed.notify_all()

    def close(self):
        for lock in self.locks:
            lock.acquire()
        try:
            with self.changed:
                handle, self.handle = self.handle, None
                self.changed.wait_for(lambda: self.calls == 0)
            if handle is None:
                return
            try:
                _check(lib.rpmem_close(handle))
            finally:
                ffi.release(self.memory)
        finally:
            for lock in self.locks:
                lock.release()

    def close_quietly(self):
        try:
            self.close()
        except Error:
            pass


class Lane:
    """A reserved lane of a pool. close(), or the end of a with statement, releases it."""

    def __init__(self, pool, session, number):
        self._pool = pool  # lives as long as its lanes
        self._session = session
        self._number = number
        self._give_back = weakref.finalize(self, session.free.append, number)

    @property
    def number(self):
        return self._number

    def _call(self, function, *arguments):
        if not self._give_back.alive:
            raise _closed("lane")
        self._session.call(self._number, function, *arguments)

    def persist(self, offset, length, relaxed=False):
        """Makes bytes [offset, offset + length) of the memory, and all flushed before, durable.

        relaxed: a crash may tear aligned words of 8 bytes.
        """
        self._call(lib.rpmem_persist, offset, length, self._number, RELAXED if relaxed else 0)

    def deep_persist(self, offset, length):
        """Like persist(), but down to the lowest persistence domain of the target."""
        self._call(lib.rpmem_deep_persist, offset, length, self._number)

    def flush(self, offset, length, relaxed=False):
        """Starts to make a range durable. It must not change before drain() returns."""
        self._call(lib.rpmem_flush, offset, length, self._number, RELAXED if relaxed else 0)

    def drain(self):
        """Waits until everything that this lane flushed is durable."""
        self._call(lib.rpmem_drain, self._number, 0)

    def read_into(self, buffer, offset):
        """Fills a writable buffer with the target's bytes at that offset, without a copy."""
        with ffi.from_buffer(buffer, require_writable=True) as room:
            self._call(lib.rpmem_read, room, offset, len(room), self._number)

    def read(self, offset, length):
        """Returns the target's bytes at that offset, in a new bytearray."""
        result = bytearray(length)
        self.read_into(result, offset)
        return result

    def close(self):
        """Releases the lane, so that Pool.lane() can return it again."""
        self._give_back()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Pool:
    """A pool on a target, connected to memory of this process. create() and open() return one."""

    def __init__(self, handle, memory, lanes, attributes):
        self._session = _Session(handle, memory, lanes)
        self._lanes = lanes
        self._attributes = attributes
        self._end = weakref.finalize(self, self._session.close_quietly)

    @classmethod
    def create(cls, target, pool_set, memory, lanes=1, attributes=None):
        """rpmem_create(3). A pool set with OPTION NOHDRS needs no attributes."""
        given = ffi.NULL if attributes is None else attributes._to_c()
        return cls._connect(lib.rpmem_create, target, pool_set, memory, lanes, given, attributes)

    @classmethod
    def open(cls, target, pool_set, memory, lanes=1):
        """rpmem_open(3). The property attributes has those in the headers of the pool."""
        seen = ffi.new("struct rpmem_pool_attr*")
        pool = cls._connect(lib.rpmem_open, target, pool_set, memory, lanes, seen, None)
        pool._attributes = Attributes._from_c(seen)
        return pool

    @classmethod
    def _connect(cls, function, target, pool_set, memory, lanes, argument, attributes):
        room = ffi.from_buffer(memory, require_writable=True)
        in_force = ffi.new("unsigned*", lanes)
        handle = function(
            target.encode(), pool_set.encode(), room, len(room), in_force, argument
        )
        if handle == ffi.NULL:
            error = _last_error()
            ffi.release(room)
            raise error
        return cls(handle, room, in_force[0], attributes)

    @property
    def lanes(self):
        """The number of lanes of the pool, at most the number that was requested."""
        return self._lanes

    @property
    def attributes(self):
        return self._attributes

    def lane(self):
        """Reserves a lane, or raises EAGAIN. Each thread needs a lane of its own."""
        try:
            number = self._session.free.pop()
        except IndexError:
            raise Error(
                errno.EAGAIN, f"all {self._lanes} lanes of the pool are taken: close one"
            ) from None
        return Lane(self, self._session, number)

    def set_attributes(self, attributes):
        """rpmem_set_attr(3)."""
        given = ffi.NULL if attributes is None else attributes._to_c()
        self._session.call(0, lib.rpmem_set_attr, given)
        self._attributes = attributes

    def statistics(self):
        """Returns the result of rpmem_stats(3) as a dict, with a dict for each kind of call."""
        stats = ffi.new("struct rpmem_pool_stats*", {"version": STATS_VERSION})
        self._session.call(0, lib.rpmem_stats, stats)
        return _as_dict(stats[0])

    def replica_state(self):
        """Returns a ReplicaStatus: rpmem_replica_state(3). Any thread may call it."""
        info = ffi.new("struct rpmem_replica_state_info*", {"version": REPLICA_STATE_VERSION})
        self._session.call_without_lane(lib.rpmem_replica_state, info)
        return ReplicaStatus(
            ReplicaState(info.state),
            info.since,
            info.behind_bytes,
            info.catch_up_rate,
            ffi.string(info.reason).decode(errors="replace"),
        )

    def wait_in_sync(self, timeout):
        """rpmem_wait_in_sync(3). Raises ETIMEDOUT after timeout seconds, at most 2**31 - 1 ms.

        Any thread may call it. close() waits until it has returned.
        """
        self._session.call_without_lane(lib.rpmem_wait_in_sync, math.ceil(timeout * 1000))

    def close(self):
        """Waits for calls in progress, then ends the session. No lane can be used afterwards."""
        if self._end.detach() is not None:
            self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def remove(target, pool_set, force=False, with_pool_set=False):
    """rpmem_remove(3): deletes the parts of a pool, and with_pool_set the pool set file, too."""
    flags = (REMOVE_FORCE if force else 0) | (REMOVE_POOL_SET if with_pool_set else 0)
    _check(lib.rpmem_remove(target.encode(), pool_set.encode(), flags))
