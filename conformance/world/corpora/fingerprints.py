"""Pairs of texts that weak fingerprints take for equal, whatever stands before and behind them."""

from __future__ import annotations

from conformance.world.corpora import Value

#: Each value is two words of equal length.
COLLIDING = (
    Value(
        ("beaeeebeeeceaeeeaeeecea", "aeceeeaeeeaeceeebeeeaeb"),
        "their letters in another order, with the same sums (Adler-32, Fletcher) and hash codes (31, 33)",
    ),
    Value(
        ("ckonnbfbinhilgndbiaohhknnal", "nnbhcfeajkgnjmfiekccoiokoal"),
        "a word with the same cyclic redundancy codes (CRC-32, CRC-32C, CRC-16) and the same XOR",
    ),
)
