"""From a robot description to a chain."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from .chain import Chain
from .parsers import parse_mjcf, parse_sdf, parse_urdf
from .serial_chain import SerialChain
from .subtree import subtree


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


def build_chain_from_mjcf(
    data: str | bytes,
    body: str | int | None = None,
    assets: Mapping[str, bytes] | None = None,
    *,
    fold_equalities: bool = False,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Chain:
    """Build the whole tree of an MJCF given as text or bytes, or what hangs from one body.

    Args:
        body: name or number of the body to start from, the world by default. Poses are in its frame; its own joints,
            and what stands above it, are left out.
        assets: the files that the model includes or attaches, by name; `load` finds them beside a file.
        fold_equalities: whether linear `<equality><joint>` constraints, soft in MuJoCo, bind joints as mimics do.

    Raises:
        ParseError: not an MJCF that can be read; says what, the line and the element.
        ModelError: not one proper tree.
        UnknownLink: no such body.
    """
    robot = parse_mjcf(data, assets=assets, fold_equalities=fold_equalities)
    return Chain(robot if body is None else subtree(robot, body), dtype=dtype, device=device)


def build_serial_chain_from_mjcf(
    data: str | bytes,
    end_link_name: str,
    root_link_name: str = "",
    assets: Mapping[str, bytes] | None = None,
    *,
    fold_equalities: bool = False,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> SerialChain:
    """Build the path of an MJCF from a root body or site (empty: the world) to an end body or site.

    Args:
        assets, fold_equalities: as in `build_chain_from_mjcf`.

    Raises:
        ParseError, ModelError: as `build_chain_from_mjcf`.
        UnknownLink: a body or site that the robot does not have.
    """
    chain = build_chain_from_mjcf(data, assets=assets, fold_equalities=fold_equalities, dtype=dtype, device=device)
    return SerialChain(chain, end_link_name, root_link_name)
