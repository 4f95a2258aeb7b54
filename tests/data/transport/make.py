#!/usr/bin/env python3
"""Makes the golden bytes of tests/unit/transport again, from docs/transport.md alone ("Who may
connect") and without libcrypto's HKDF: what C++ sends is compared with what another language made."""
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

for name, content in files.items():
    (pathlib.Path(__file__).parent / name).write_bytes(content)
