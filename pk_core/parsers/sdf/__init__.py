"""SDF (SDFormat) 1.0 to 1.12: text to a `Robot`."""

from __future__ import annotations

from .reader import parse_sdf

__all__ = ["parse_sdf"]
