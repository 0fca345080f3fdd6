"""URDF, as http://wiki.ros.org/urdf/XML and urdfdom define it: text to a `Robot`, and numbers of a text replaced."""

from __future__ import annotations

from .reader import parse_urdf

__all__ = ["parse_urdf"]
