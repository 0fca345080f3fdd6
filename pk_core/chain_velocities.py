"""What a chain does at the level of velocities: twists, Jacobians and their derivatives, motion along a velocity."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .configuration import Configuration, check_tensor
from .errors import ShapeError, UnknownReference
from .integration import integrate
from .kinematics import TreeTensors, differential
from .kinematics.differential import REFERENCES, Reference
from .kinematics.motions import Motions
from .shapes import tensor_of_numbers
from .tree import Tree


class ChainVelocities:
    """The differential kinematics of `Chain`.

    Velocities dq are (*batch, nv) [rad/s] and [m/s], a derivative along `integrate`; batches of q and dq broadcast.
    Twists are [v, w]; `jacobian` says in which references.
    """

    dtype: torch.dtype
    device: torch.device
    ensure_tensor: Callable[..., Tensor]
    _tree: Tree
    _frames: Callable[[tuple[str, ...]], TreeTensors]
    _motions: Callable[[str], Motions]

    def integrate(self, th: Configuration, v: Tensor) -> Tensor:
        """Move q (*batch, nq) along velocities v (*batch, nv) for unit time: d/de FK(integrate(q, e v)) = J v at e = 0."""
        return integrate(self._tree, self.ensure_tensor(th), self._checked("v", v))

    def jacobian(
        self, th: Configuration, frame: str, locations: Tensor | None = None, reference: Reference = "world_aligned"
    ) -> Tensor:
        """Give the Jacobian [v; w] (*batch, 6, nv) of a frame: its twist for one unit of each velocity.

        Args:
            locations: (3,) or (*batch, 3), the point of the frame whose velocity v is [m]; its origin by default.
            reference: whose velocity it is, in which axes (Pinocchio's LOCAL_WORLD_ALIGNED, LOCAL and WORLD):
                "world_aligned": v of the location, in the axes of the root frame;
                "local": v of the location, in the axes of the frame;
                "world": v of the point of the body at the root's origin, in the axes of the root frame: the same for
                every location.

        Raises:
            UnknownLink: no such frame.
            UnknownReference: no such reference.
        """
        _check(reference)
        q = self.ensure_tensor(th)
        return differential.jacobian(q, self._locations(locations, q), reference, self._frames((frame,)))

    def frame_velocity(
        self,
        th: Configuration,
        dq: Tensor,
        frame: str,
        locations: Tensor | None = None,
        reference: Reference = "world_aligned",
    ) -> Tensor:
        """Give the twist [v, w] (*batch, 6) of a frame, J dq, without forming J.

        Arguments and errors are those of `jacobian`.
        """
        _check(reference)
        q, dq = self._moving(th, dq)
        return differential.frame_velocity(q, dq, self._locations(locations, q), reference, self._frames((frame,)))

    def jacobian_dot(
        self,
        th: Configuration,
        dq: Tensor,
        frame: str,
        locations: Tensor | None = None,
        reference: Reference = "world_aligned",
    ) -> Tensor:
        """Give the time derivative (*batch, 6, nv) of `jacobian` while q moves at dq.

        The acceleration of the frame is J ddq + dJ dq.
        """
        _check(reference)
        q, dq = self._moving(th, dq)
        return differential.jacobian_dot(q, dq, self._locations(locations, q), reference, self._motions(frame))

    def kinematic_hessian(
        self, th: Configuration, frame: str, locations: Tensor | None = None, reference: Reference = "world_aligned"
    ) -> Tensor:
        """Give the kinematic Hessian (*batch, 6, nv, nv) of a frame.

        H[..., i, j, k] is the derivative of J[..., i, j] along velocity k, so `jacobian_dot` is H @ dq.
        """
        _check(reference)
        q = self.ensure_tensor(th)
        return differential.kinematic_hessian(q, self._locations(locations, q), reference, self._motions(frame))

    def _moving(self, th: Configuration, dq: Tensor) -> tuple[Tensor, Tensor]:
        """Check a configuration and velocities; give q with the batch of both."""
        q, dq = self.ensure_tensor(th), self._checked("dq", dq)
        if dq.shape[-1:] != (self._tree.nv,):
            raise ShapeError(f"dq has shape {tuple(dq.shape)}; its last dimension must be {self._tree.nv}")
        if q.shape[:-1] == dq.shape[:-1]:
            return q, dq
        try:
            batch = torch.broadcast_shapes(q.shape[:-1], dq.shape[:-1])
        except RuntimeError:
            raise ShapeError(f"th {tuple(q.shape)} and dq {tuple(dq.shape)} do not broadcast to one batch") from None
        return q.expand(*batch, q.shape[-1]), dq

    def _checked(self, name: str, v: Tensor) -> Tensor:
        if not isinstance(v, Tensor):
            return tensor_of_numbers(name, v, self.dtype, self.device)
        check_tensor(name, v, self.dtype, self.device)
        return v.to(self.dtype)

    def _locations(self, locations: Tensor | None, q: Tensor) -> Tensor:
        if locations is None:
            return q.new_zeros(3)
        locations = tensor_of_numbers("locations", locations, self.dtype, self.device).to(self.device, self.dtype)
        if locations.shape[-1:] != (3,) or locations.shape[:-1] not in (torch.Size(), torch.Size([1]), q.shape[:-1]):
            raise ShapeError(
                f"locations has shape {tuple(locations.shape)}, th {tuple(q.shape)}: give (3,) or {(*q.shape[:-1], 3)}; "
                "for points of more rows, also of robots with parameters for each row, expand th to these rows"
            )
        return locations.squeeze(0) if locations.shape[:-1] == (1,) and q.dim() > 2 else locations


def _check(reference: str) -> None:
    if reference not in REFERENCES:
        raise UnknownReference(f"unknown reference {reference!r}; valid: {', '.join(map(repr, REFERENCES))}")
