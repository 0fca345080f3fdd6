"""What all tests share: reproducible random numbers."""

from __future__ import annotations

import sys

import hypothesis
import pytest

# The same examples in every run, and no time limit for one: the first call of a kernel compiles it.
hypothesis.settings.register_profile("pk", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("pk")


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed the global generators of the libraries that the test's module has imported."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
