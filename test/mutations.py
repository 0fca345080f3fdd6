"""Change a description piece by piece, for tests that feed readers with what nobody meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import strategies as st

PIECES = re.compile(rb'<[^<>]*>|"[^"]*"|[A-Za-z_:]+|[-+.\deE]+')  # whole tags, attribute values, words, numbers

Mutation = tuple[str, int, int]

actions = st.sampled_from(["replace", "insert", "delete", "repeat", "swap", "move", "cut"])
mutation = st.tuples(actions, st.integers(0), st.integers(0))


def mutate(data: bytes, mutations: Sequence[Mutation], odd: Sequence[bytes]) -> bytes:
    """Apply mutations in turn; `odd` are the things that may stand where something else stood."""
    for what, where, which in mutations:
        pieces = [match.span() for match in PIECES.finditer(data)]
        if not pieces:
            return data
        begin, end = pieces[where % len(pieces)]
        other = data[slice(*pieces[which % len(pieces)])]
        new = {
            "replace": odd[which % len(odd)],
            "insert": data[begin:end] + odd[which % len(odd)],
            "delete": b"",
            "repeat": data[begin:end] * (which % 50),
            "swap": other,
            "move": data[begin:end] + other,
            "cut": data[begin : begin + which % (end - begin + 1)],
        }[what]
        data = data[:begin] + new + (b"" if what == "cut" and which % 7 == 0 else data[end:])
    return data
