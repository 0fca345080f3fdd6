"""The path between two frames of a robot: one end, no branches."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from . import kinematics
from .chain import Chain
from .configuration import Configuration
from .flatten import flatten_path
from .kinematics.differential import Reference
from .transforms.transform3d import Transform3d


class SerialChain(Chain):
    """The joints between two frames, in path order; poses and Jacobian are in the frame of the root of the path.

    Coordinates are the joints on the path, signs as in the description even where the path climbs towards the robot's
    root; then leaders off the path that a joint on it mimics.

    Args:
        chain: the robot; dtype and device are taken from it unless given.
        end_frame_name, root_frame_name: links or frames; an empty root is the robot's own.

    Raises:
        UnknownLink: a name that the robot does not have.
        UnsupportedError: the path climbs through a ball or floating joint.
    """

    def __init__(
        self,
        chain: Chain,
        end_frame_name: str,
        root_frame_name: str = "",
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        root = root_frame_name or chain.robot.root
        self.root_frame, self.end_frame = root, end_frame_name
        parameters = chain.parameters
        if parameters is not None and root != chain.root_frame:
            parameters = replace(parameters, base=None)  # it places another root
        tree = flatten_path(chain.robot, root, end_frame_name)
        self._set(chain.robot, tree, parameters, dtype or chain.dtype, device or chain.device)

    def forward_kinematics(self, th: Configuration, end_only: bool = True) -> Transform3d | dict[str, Transform3d]:
        """Give the pose of the end, or with `end_only=False` of every frame on the path by name."""
        if not end_only:
            return super().forward_kinematics(th)
        return Transform3d(
            matrix=kinematics.forward_kinematics(self.ensure_tensor(th), self._frames((self.end_frame,)))[0]
        )

    def jacobian(
        self,
        th: Configuration,
        locations: Tensor | None = None,
        ret_eef_pose: bool = False,
        reference: Reference = "world_aligned",
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Give the Jacobian [v; w] (*batch, 6, nv) of the end; the root of the path takes the part of the world.

        Args:
            locations: (3,) or (*batch, 3), the point of the end frame whose velocity v is [m]; its origin by default.
            ret_eef_pose: return the pose of the end (*batch, 4, 4) as well.
            reference: of the velocities, as in `Chain.jacobian`.
        """
        q = self.ensure_tensor(th)
        J = super().jacobian(q, self.end_frame, locations, reference)
        return (J, kinematics.forward_kinematics(q, self._frames((self.end_frame,)))[0]) if ret_eef_pose else J

    def jacobian_tensor(self, th: Configuration, locations: Tensor | None = None) -> Tensor:
        """Give the same as `jacobian`."""
        return self.jacobian(th, locations)

    def frame_velocity(
        self, th: Configuration, dq: Tensor, locations: Tensor | None = None, reference: Reference = "world_aligned"
    ) -> Tensor:
        """Give the twist [v, w] (*batch, 6) of the end while joints move at dq (*batch, nv)."""
        return super().frame_velocity(th, dq, self.end_frame, locations, reference)

    def jacobian_dot(
        self, th: Configuration, dq: Tensor, locations: Tensor | None = None, reference: Reference = "world_aligned"
    ) -> Tensor:
        """Give the time derivative (*batch, 6, nv) of the end's Jacobian while joints move at dq (*batch, nv)."""
        return super().jacobian_dot(th, dq, self.end_frame, locations, reference)

    def kinematic_hessian(
        self, th: Configuration, locations: Tensor | None = None, reference: Reference = "world_aligned"
    ) -> Tensor:
        """Give the derivatives H[..., i, j, k] of J[..., i, j] of the end along the velocity k: (*batch, 6, nv, nv)."""
        return super().kinematic_hessian(th, self.end_frame, locations, reference)
