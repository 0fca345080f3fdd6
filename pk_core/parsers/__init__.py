"""Readers: the text of a robot description to a `Robot`. No torch, no ROS, no file is opened here."""

from __future__ import annotations

from .mjcf import parse_mjcf
from .sdf import parse_sdf
from .urdf import parse_urdf

__all__ = ["parse_mjcf", "parse_sdf", "parse_urdf"]
