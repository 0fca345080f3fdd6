"""The hints of errors about names: close ones, soon, however many and long they are."""

from __future__ import annotations

import time

import pytest

from pk_core.errors import UnknownLink


def test_one_of_twenty_thousand_names_is_hinted_at_soon() -> None:
    names = [f"link_{i}" for i in range(20_000)]
    start = time.process_time()
    error = UnknownLink("link", "link_19_999", names)
    assert "did you mean" in str(error) and "'link_19999'" in str(error)
    assert time.process_time() - start < 1.0


def test_names_far_off_are_no_hint_but_some_of_them_are_listed() -> None:
    error = UnknownLink("link", "x", [f"link_{i}" for i in range(20_000)])
    assert "valid: ['link_0', " in str(error) and "and 19980 more" in str(error)


@pytest.mark.parametrize("wanted", ["x" * 1_000_000, "x"])
def test_very_long_names_are_neither_compared_nor_shown_in_full(wanted: str) -> None:
    start = time.process_time()
    error = UnknownLink("link", wanted, ["x" * 1_000_000 + str(i) for i in range(30)])
    assert len(str(error)) < 5000
    assert time.process_time() - start < 1.0
