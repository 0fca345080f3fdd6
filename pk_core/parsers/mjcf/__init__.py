"""MJCF, the format of MuJoCo: text to a `Robot`."""

from __future__ import annotations

from .reader import parse_mjcf

__all__ = ["parse_mjcf"]
