"""Find the shared corpus of robots with reference poses, and skip with a reason where there is none.

The corpus is the folder `corpus` in the one that PK_SHARED names, else in `shared` beside the repository.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

Entry = dict[str, Any]

_SHARED: Final = Path(os.environ.get("PK_SHARED") or Path(__file__).parents[2] / "shared")
CORPUS: Final = _SHARED / "corpus"

AVAILABLE: Final = (CORPUS / "MANIFEST.json").is_file()
REASON: Final = f"no corpus in {CORPUS}; PK_SHARED names the folder that holds it"

require_corpus = pytest.mark.skipif(not AVAILABLE, reason=REASON)
"""Mark for tests that read the corpus: `@require_corpus`."""


def entries(fmt: str | None = None, feature: str | None = None) -> list[Entry]:
    """List the robots of one format ("urdf", "sdf", "mjcf") or with one feature; none where there is no corpus.

    An empty list is safe in `pytest.mark.parametrize`: pytest then skips the test.
    """
    return [
        entry
        for entry in _manifest()
        if fmt in (None, entry["format"]) and (feature is None or feature in entry["features"])
    ]


def entry(name: str) -> Entry:
    """Find a robot by name."""
    _skip_without_corpus()
    return next(entry for entry in _manifest() if entry["name"] == name)


def path(item: Entry | str) -> Path:
    """Give the file of a robot (an entry or its name) or of a malformed input."""
    _skip_without_corpus()
    item = entry(item) if isinstance(item, str) else item
    return CORPUS / item["file"]


def load_reference(item: Entry | str) -> dict[str, Any]:
    """Read what other programs computed for a robot: "q", "poses" (of each q: link -> 4x4), "jacobians", conventions."""
    _skip_without_corpus()
    item = entry(item) if isinstance(item, str) else item
    return json.loads((CORPUS / item["reference"]).read_text(encoding="utf8"))


def malformed(fmt: str | None = None) -> list[Entry]:
    """List the odd and hostile inputs, of one format or all: "file", "expect" ("error", "accept", "either"), "line"..."""
    if not AVAILABLE:
        return []
    lines = (CORPUS / "malformed_expect.jsonl").read_text(encoding="utf8").splitlines()
    return [case for case in map(json.loads, lines) if fmt in (None, case["format"])]


def name(item: Entry) -> str:
    """Name an entry or a malformed input: `parametrize(..., ids=corpus.name)`."""
    return item.get("name") or Path(item["file"]).name


@cache
def _manifest() -> list[Entry]:
    return json.loads((CORPUS / "MANIFEST.json").read_text(encoding="utf8")) if AVAILABLE else []


def _skip_without_corpus() -> None:
    if not AVAILABLE:
        pytest.skip(REASON)
