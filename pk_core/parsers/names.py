"""Names that are close to one that is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import lru_cache


def close_names(name: str, names: Collection[str]) -> str:
    """Give a hint for an error message, "" where no name is close."""
    if len(name) > 100:  # comparing long names letter by letter takes minutes
        return ""
    close = difflib.get_close_matches(name, [other for other in names if len(other) <= 100], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


@lru_cache(maxsize=1024)
def meant_tag(tag: str, known: tuple[str, ...]) -> str:
    """Give the known tag that differs from this one in case or in a letter, "" if there is none."""
    if ":" in tag or len(tag) > 20:
        return ""
    return next(iter(difflib.get_close_matches(tag.lower(), known, n=1, cutoff=0.85)), "")
