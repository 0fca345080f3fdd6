"""From a robot description to a chain."""

from __future__ import annotations

import torch

from .chain import Chain
from .parsers import parse_sdf, parse_urdf
from .serial_chain import SerialChain


def build_chain_from_urdf(
    data: str | bytes, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Chain:
    """Build the whole tree of a URDF given as text or bytes.

    Raises:
        ParseError: not a URDF that can be read; says what, the line and the element.
        ModelError: not one proper tree.
    """
    return Chain(parse_urdf(data), dtype=dtype, device=device)


def build_serial_chain_from_urdf(
    data: str | bytes,
    end_link_name: str,
    root_link_name: str = "",
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> SerialChain:
    """Build the path of a URDF from a root link (empty: the robot's own) to an end link.

    Raises:
        ParseError, ModelError: as `build_chain_from_urdf`.
        UnknownLink: a link that the robot does not have.
    """
    return SerialChain(build_chain_from_urdf(data, dtype, device), end_link_name, root_link_name)


def build_chain_from_sdf(
    data: str | bytes, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Chain:
    """Build the whole tree of an SDF given as text or bytes; poses are in the frame "world". `load` reads its includes.

    Raises:
        ParseError: not an SDF that can be read; says what, the line and the element.
        ModelError: not one proper tree, or a name that means nothing.
    """
    return Chain(parse_sdf(data), dtype=dtype, device=device)


def build_serial_chain_from_sdf(
    data: str | bytes,
    end_link_name: str,
    root_link_name: str = "",
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> SerialChain:
    """Build the path of an SDF from a root link or frame (empty: the world) to an end link or frame.

    Raises:
        ParseError, ModelError: as `build_chain_from_sdf`.
        UnknownLink: a link or frame that the robot does not have.
    """
    return SerialChain(build_chain_from_sdf(data, dtype, device), end_link_name, root_link_name)
