"""The same robot in Pinocchio: its configurations, its velocities, and what it says at the level of velocities."""

from __future__ import annotations

import numpy as np
import pinocchio

from pk_core import Chain, Robot

REFERENCES = {
    "world": pinocchio.WORLD,
    "local": pinocchio.LOCAL,
    "world_aligned": pinocchio.LOCAL_WORLD_ALIGNED,
}


class PinocchioRobot:
    """A URDF in Pinocchio, where mimic joints are joints of their own, and a point fixed to one of its frames.

    Pinocchio's velocities are `followers @ dq`, by hand from the mimic elements: so a Jacobian of ours is J @ followers.
    """

    def __init__(self, urdf: str, chain: Chain, frame: str, location: np.ndarray) -> None:
        self.chain = chain
        self.model = pinocchio.buildModelFromXML(urdf)
        anchor = self.model.getFrameId(frame)
        placement = self.model.frames[anchor].placement * pinocchio.SE3(np.eye(3), location)
        joint = self.model.frames[anchor].parentJoint
        point = pinocchio.Frame("the point", joint, anchor, placement, pinocchio.FrameType.OP_FRAME)
        self.point = self.model.addFrame(point)
        self.data = self.model.createData()
        self.followers = np.zeros((self.model.nv, chain.nv))
        for name, own in zip(self.model.names[1:], self.model.joints[1:]):
            leader, multiplier, _ = resolve(chain.robot, name)
            start = self._span(leader).v_start
            self.followers[own.idx_v : own.idx_v + own.nv, start : start + own.nv] = multiplier * np.eye(own.nv)

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Give q (nq,) as Pinocchio has it: continuous joints by cosine and sine, quaternions with their real part last."""
        values = np.zeros(self.model.nq)
        for name, own in zip(self.model.names[1:], self.model.joints[1:]):
            leader, multiplier, offset = resolve(self.chain.robot, name)
            x = multiplier * q[self._span(leader).q_slice] + offset
            if own.nq == 2:
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            elif own.nq == 7:
                x = x[[0, 1, 2, 4, 5, 6, 3]]
            values[own.idx_q : own.idx_q + own.nq] = x
        return values

    def velocities(self, q: np.ndarray, dq: np.ndarray, reference: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give the twist (6,), the Jacobian and its time derivative (6, nv)."""
        arguments = self.model, self.data, self.configuration(q), self.followers @ dq
        pinocchio.forwardKinematics(*arguments)
        pinocchio.computeJointJacobiansTimeVariation(*arguments)
        pinocchio.updateFramePlacements(self.model, self.data)
        point = self.model, self.data, self.point, REFERENCES[reference]
        return (
            pinocchio.getFrameVelocity(*point).vector,
            pinocchio.getFrameJacobian(*point) @ self.followers,
            pinocchio.getFrameJacobianTimeVariation(*point) @ self.followers,
        )

    def hessian(self, q: np.ndarray, reference: str) -> np.ndarray:
        """Give the kinematic Hessian (6, nv, nv)."""
        pinocchio.computeJointKinematicHessians(self.model, self.data, self.configuration(q))
        pinocchio.updateFramePlacements(self.model, self.data)
        H = pinocchio.getFrameKinematicHessian(self.model, self.data, self.point, REFERENCES[reference])
        H = H.ravel().reshape(H.shape, order="F")  # the binding hands columns out as rows
        return np.einsum("ijk,jl,km->ilm", H, self.followers, self.followers)

    def _span(self, name: str):
        return next(span for span in self.chain._tree.spans if span.joint.name == name)


def resolve(robot: Robot, name: str) -> tuple[str, float, float]:
    """Follow a mimic joint: (leader, multiplier, offset)."""
    mimic = robot.joint(name).mimic
    if mimic is None:
        return name, 1.0, 0.0
    leader, multiplier, offset = resolve(robot, mimic.joint)
    return leader, mimic.multiplier * multiplier, mimic.multiplier * offset + mimic.offset
