"""What all tests share: reproducible random numbers, and a word where the corpus is missing."""

from __future__ import annotations

import sys

import corpus
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests of the corpus were skipped: for an empty list of robots pytest gives no reason of ours."""
    if not corpus.AVAILABLE:
        terminalreporter.write_line(f"tests of published robots were skipped: {corpus.REASON}")
