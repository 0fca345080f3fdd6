"""Read MJCF, as MuJoCo 4.0 defines it: https://mujoco.readthedocs.io/en/stable/XMLreference.html

`docs/formats.md` says what is read, what is ignored because it can't move a link, and what is refused. The work is done
in steps, a file each: documents and includes, defaults, bodies, copies, links and joints.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from ...model import Robot
from ...validation import assemble
from .equality import folded
from .expand import expand
from .files import Files, ReadFile, from_assets
from .links import build
from .model import Budget
from .tree import read_model


def parse_mjcf(
    data: str | bytes,
    *,
    assets: Mapping[str, bytes] | None = None,
    read_file: ReadFile | None = None,
    path: str = "",
    fold_equalities: bool = False,
    source: str = "",
) -> Robot:
    """Read a robot from the text of an MJCF file.

    Args:
        data: text or bytes of the file.
        assets: the files that it includes or attaches, by name.
        read_file: gives such a file by its path relative to this one's folder, in place of `assets`; raises OSError.
        path: of this file relative to its own folder: its name, which may not be included again.
        fold_equalities: whether linear `<equality><joint>` constraints, soft in MuJoCo, become mimics.
        source: name of the file, for errors.

    Raises:
        ParseError: not XML, or not MJCF: with file, line and element.
        ModelError: a name is used twice.
    """
    files = Files(read_file or from_assets(assets))
    path = posixpath.normpath(path) if path else ""
    model = read_model(files.document(data, path, source), path, Budget(files))
    built = build(expand(model))
    joints = folded(model, built) if fold_equalities else built.joints
    return assemble(model.name, built.links, joints, built.frames, source=source)
