"""Ways to damage the bytes of a file, drawn from a seeded generator; each says in words what it did."""

import random

__all__ = ["mutate"]

WORDS = [
    *(b"", b"\0", b"\xff", b"\n", b"\r", b"\r\n", b" ", b",", b":", b"-1", b"1e999", b"nan", b"2147483646", b"9" * 400),
    *(b"[" * 5000, b"{", b'"', b"\\ud800", b"\xef\xbb\xbf", b"PK\x01\x02", b"PK\x05\x06", b"PAR1", b"\x93NUMPY", b"#"),
    *(b"18446744073709551615", b"null", b"true", b"../", b"0:0,0:0", b"\x00" * 64, b"\xff" * 8, b"\x7f\xff\xff\xff"),
]


def mutate(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """The content after one to three changes, and what they were."""
    told = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice((_flip, _flip, _set, _insert, _cut, _truncate, _repeat, _swap))
        content, what = change(content, rng)
        told.append(what)
    return content, ", ".join(told)


def _flip(content, rng):
    if not content:
        return content, "nothing to flip"
    at, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :], f"bit {bit} of byte {at} flipped"


def _set(content, rng):
    if not content:
        return content, "nothing to set"
    at, value = rng.randrange(len(content)), rng.choice((0, 1, 9, 10, 13, 32, 44, 45, 58, 127, 128, 255))
    return content[:at] + bytes([value]) + content[at + 1 :], f"byte {at} set to {value}"


def _insert(content, rng):
    at, word = rng.randint(0, len(content)), rng.choice(WORDS)
    over = rng.choice((0, len(word)))
    return content[:at] + word + content[at + over :], f"{word[:20]!r} ({len(word)}) put at {at}, over {over} bytes"


def _cut(content, rng):
    a, b = sorted(rng.randint(0, len(content)) for _ in range(2))
    b = min(b, a + rng.choice((1, 8, 64, 10**9)))
    return content[:a] + content[b:], f"bytes {a} to {b} cut out"


def _truncate(content, rng):
    at = rng.randint(0, len(content))
    return content[:at], f"cut short at {at}"


def _repeat(content, rng):
    a, b = sorted(rng.randint(0, len(content)) for _ in range(2))
    return content[:b] + content[a:], f"bytes {a} to {b} twice"


def _swap(content, rng):
    a, b, c = sorted(rng.randint(0, len(content)) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:], f"bytes {a} to {b} and {b} to {c} swapped"
