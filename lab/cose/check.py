"""Verifies a COSE receipt of inclusion by programs that are not ours, and sees that they refuse it once it is altered."""

import hashlib
import sys
from importlib.metadata import version

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)
from pycose.keys import OKPKey
from pycose.messages import Sign1Message
from scitt_cose.receipt import verify_receipt

receipt, entry, pem = (open(name, "rb").read() for name in sys.argv[1:4])
key = load_pem_public_key(pem)
failures = 0


def say(program, what, is_right):
    global failures
    failures += not is_right
    print(f"{program}: {what}: {'yes' if is_right else 'NO'}", flush=True)


def node(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def climb(leaf, index, size, path):  # RFC 9162, 2.1.3.2
    last, r = size - 1, leaf
    for sibling in path:
        if index % 2 or index == last:
            r = node(b"\1", sibling, r)
            while index % 2 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            r = node(b"\1", r, sibling)
        index, last = index >> 1, last >> 1
    assert last == 0
    return r


def root_of(message, content):
    [blob] = message.value[1][396][-1]
    size, index, path = cbor2.loads(blob)
    return climb(node(b"\0", content), index, size, path)


def by_hand(message, content):
    protected, _, payload, signature = message.value
    assert message.tag == 18 and payload is None
    signed = cbor2.dumps(["Signature1", protected, b"", root_of(message, content)])
    try:
        key.verify(signature, signed)
        return True
    except InvalidSignature:
        return False


def by_pycose(content):
    message = Sign1Message.decode(receipt)
    message.key = OKPKey(crv="ED25519", x=key.public_bytes(Encoding.Raw, PublicFormat.Raw))
    return message.verify_signature(detached_payload=root_of(cbor2.loads(receipt), content))


def by_scitt_cose(bytes_of_receipt, content):
    return verify_receipt(
        bytes_of_receipt, leaf_entry_hex=content.hex(), log_public_key_pem=pem
    )


message = cbor2.loads(receipt)
protected = cbor2.loads(message.value[0])
assert protected[1] == -8 and protected[395] == 1, protected
other = entry[:-1] + b"x"
flipped = receipt[:-1] + bytes([receipt[-1] ^ 1])

name = f"cbor2 {version('cbor2')} and cryptography {version('cryptography')}"
say(name, "writes the same bytes in canonical form", cbor2.dumps(message, canonical=True) == receipt)
say(name, "takes the receipt", by_hand(message, entry))
say(name, "refuses another entry", not by_hand(message, other))

name = f"pycose {version('pycose')}"
say(name, "takes the signature of the root", by_pycose(entry))
say(name, "refuses the root of another entry", not by_pycose(other))

name = f"scitt-cose {version('scitt-cose')}"
result = by_scitt_cose(receipt, entry)
say(name, f"takes the receipt {result.errors or ''}".strip(), result.ok)
say(
    name,
    f"reads issuer {result.issuer}, subject {result.subject}, entry {result.leaf_index} of {result.tree_size}",
    result.issuer == protected[15][1] and result.subject == protected[15][2],
)
say(name, "refuses another entry", not by_scitt_cose(receipt, other).ok)
say(name, "refuses another signature", not by_scitt_cose(flipped, entry).ok)
sys.exit(failures > 0)
