"""Readers: the text of a robot description to a `Robot`. No torch, no ROS, no file is opened here."""

from __future__ import annotations

from .urdf import parse_urdf

__all__ = ["parse_urdf"]
