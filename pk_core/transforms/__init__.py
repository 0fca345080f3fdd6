"""Rotations and rigid transforms: conversions, exponential maps, distances, `Transform3d`; the names of pytorch_kinematics."""

from __future__ import annotations

from . import distance, elementary, euler, quaternion, rotation, se3, so3
from .distance import *  # noqa: F403
from .elementary import *  # noqa: F403
from .euler import *  # noqa: F403
from .quaternion import *  # noqa: F403
from .rotation import *  # noqa: F403
from .se3 import *  # noqa: F403
from .so3 import *  # noqa: F403
from .transform3d import Transform3d

__all__ = [
    "Transform3d",
    *distance.__all__,
    *elementary.__all__,
    *euler.__all__,
    *quaternion.__all__,
    *rotation.__all__,
    *se3.__all__,
    *so3.__all__,
]
