#!/usr/bin/env python3
"""Makes the golden bytes of tests/unit/common/transport and tests/unit/common/wire again, from rpmem-protocol(7) alone
("Keys", "Proof", "Frames") and without libcrypto's HKDF. The tests compare what C++ sends with what another
language made."""
import hashlib
import hmac
import pathlib
import struct


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


def derived(label, size):
    extracted = mac(bytes(32), secret)
    return mac(extracted, label + b"\x01")[:size]


secret = bytes(range(32))
hello, answer, request, response = b"the hello", b"the answer", b"the request", b"the response"
lane, generation, transport = 0x01020304, 0x1112131415161718, 3
nonce_i, nonce_t = bytes(range(0x40, 0x60)), bytes(range(0x80, 0xA0))

keys = [derived(b"rpmem lane 1", 32), derived(b"rpmem tls 1", 32), derived(b"rpmem takeover 1", 32),
        derived(b"rpmem id 1", 8)]
agreed = hashlib.sha256(hello + answer + request + response).digest()

signed = b"RPMEMLN1" + keys[3] + struct.pack("<IIQ", lane, 0, generation) + nonce_i
files = {
    "keys.bin": b"".join(keys),
    "transcript.bin": agreed,
    "first.bin": signed + mac(keys[0], b"first\0" + agreed + signed),
    "refusal.bin": b"RPMEMNO1" + struct.pack("<II", 4, 0x01020304) + bytes(56),
}
for name, exporter in ("", bytes(32)), ("_tls", bytes(range(0xC0, 0xE0))):
    facts = (b"rpmem proof 1\0" + struct.pack("<BIQ", transport, lane, generation) + nonce_i + nonce_t
             + agreed + exporter)
    files[f"second{name}.bin"] = b"RPMEMLN1" + nonce_t + mac(keys[0], b"target\0" + facts)
    files[f"third{name}.bin"] = mac(keys[0], b"initiator\0" + facts)



def crc32c(content):
    value = 0xFFFFFFFF
    for byte in content:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def frame(kind, flags=0, length=None, offset=0, number=0, payload=b""):
    header = struct.pack("<BBHIQQI", kind, flags, 0, len(payload) if length is None else length, offset,
                         number, 0)
    return header + struct.pack("<I", crc32c(header)) + payload


# A whole lane behind its proof, in both directions, of a pool of 1 MiB.
kept = b"kept on two machines"
files["frames_initiator.bin"] = b"".join([
    frame(1, offset=4096, number=1, payload=kept),
    frame(1, flags=1, offset=8195, number=2, payload=b"short"),
    frame(3, offset=4096, length=len(kept), number=3),
    frame(2, flags=3, offset=4096, length=8192, number=4),
    frame(1, offset=16384, number=5, payload=bytes(range(64))),
    frame(2, flags=1, number=6),
    frame(5),
])
files["frames_target.bin"] = b"".join([
    frame(19, payload=struct.pack("<IIII", 1 << 20, 520192, 256, 16)),
    frame(16, number=2),
    frame(17, offset=4096, number=3, payload=kept),
    frame(16, number=4),
    frame(18, offset=1 << 32 | 5, payload=b"the medium of part 0 failed"),
    frame(5),
])

for name, content in files.items():
    (pathlib.Path(__file__).parent / name).write_bytes(content)
