"""Binary patches in the format of bsdiff, by which ProQE is published."""

from __future__ import annotations

import bz2

import numpy as np

_HEADER = 32


def apply_patch(old: bytes, patch: bytes) -> bytes:
    """Return the new file that a patch (`BSDIFF40`) makes of the old one.

    After the header with the lengths of its blocks come three blocks, compressed by bzip2: instructions,
    differences and new bytes. Each instruction is three numbers: how many bytes of the old file to add to as
    many differences, how many new bytes to copy, and how far to move on in the old file.
    """
    first, second = (_number(patch[place : place + 8]) for place in (8, 16))
    ends = (_HEADER + first, _HEADER + first + second)
    instructions, differences, added = (
        bz2.decompress(block)
        for block in (patch[_HEADER : ends[0]], patch[ends[0] : ends[1]], patch[ends[1] :])
    )
    new = bytearray()
    place = differences_place = added_place = 0
    for start in range(0, len(instructions), 24):
        count, copied, moved = (
            _number(instructions[start + shift : start + shift + 8]) for shift in (0, 8, 16)
        )
        block = np.frombuffer(differences, np.uint8, count, differences_place).copy()
        begin = max(place, 0)
        added_to = np.frombuffer(old, np.uint8)[begin : max(place + count, begin)]
        block[begin - place : begin - place + len(added_to)] += added_to
        new += block.tobytes() + added[added_place : added_place + copied]
        differences_place, added_place = differences_place + count, added_place + copied
        place += count + moved
    return bytes(new)


def _number(field: bytes) -> int:
    """Return a number of eight bytes, the lowest first; the highest bit is its sign."""
    value = int.from_bytes(field, "little")
    return -(value & ~(1 << 63)) if value >> 63 else value
