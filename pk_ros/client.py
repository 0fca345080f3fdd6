"""A client for planners: numpy in, numpy out.

    with KinematicsClient() as kinematics:  # rclpy has been initialised
        answer = kinematics.solve_ik("panda_hand", targets)  # (N, 7) rows x y z qx qy qz qw, or (N, 4, 4)
        answer.positions[answer.solved]

A call waits for its answer. It may be made inside a callback of any node: the client has a node and an executor of its
own, which it spins while it waits, so that it can't deadlock. The executor that runs such a callback does nothing else
meanwhile, as with any slow callback. One client may be shared by threads: their calls take turns. For calls at the same
time make a client for each thread.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_services_default

from .conversions import array_from_field, float64_field, rows_from_matrices
from .srv import ComputeFK, SolveIK

_numbers = itertools.count()


class KinematicsError(RuntimeError):
    """Base of what a KinematicsClient raises."""


class ServiceUnavailable(KinematicsError):
    """No node offers the service."""


class ServiceTimeout(KinematicsError):
    """The service did not answer in time."""


class RequestRefused(KinematicsError):
    """The node refused the request; `code` is one of moveit_msgs/MoveItErrorCodes."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(f"{message} (error_code {code})")


@dataclass(frozen=True)
class IKSolutions:
    """N targets, K solutions each, J joints.

    Attributes:
        joint_names: of the J columns.
        positions: (N, K, J) [rad] or [m].
        status: (N, K) uint8, the constants of SolveIK.Response.
        num_found: (N,) distinct solutions found.
        position_errors, rotation_errors: (N, K) [m], [rad].
        iterations: (N, K).
        solver_time: [s].
        message: how many targets did not converge, empty if all did.
    """

    joint_names: tuple[str, ...]
    positions: npt.NDArray[np.float64]
    status: npt.NDArray[np.uint8]
    num_found: npt.NDArray[np.uint32]
    position_errors: npt.NDArray[np.float64]
    rotation_errors: npt.NDArray[np.float64]
    iterations: npt.NDArray[np.uint32]
    solver_time: float
    message: str

    @property
    def solved(self) -> npt.NDArray[np.bool_]:
        """(N,) which targets have a solution; `positions[:, 0]` is their first."""
        return self.status[:, 0] == SolveIK.Response.CONVERGED


class KinematicsClient:
    """Call the services of a kinematics node."""

    def __init__(
        self, node_name: str = "/kinematics", *, timeout: float = 10.0, context: Context | None = None
    ) -> None:
        """Make the client; the node need not be there yet.

        Args:
            node_name: the kinematics node, with its namespace.
            timeout: longest wait for the service, and again for an answer [s].
            context: of rclpy; None for the default one, which must have been initialised.
        """
        self._timeout = timeout
        self._context = context or rclpy.get_default_context()
        self._node = Node(
            f"kinematics_client_{os.getpid()}_{next(_numbers)}",
            context=self._context,
            use_global_arguments=False,  # a renaming meant for the caller's node must not rename this one
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._lock = threading.Lock()
        prefix = "/" + node_name.strip("/")
        self._solve_ik = self._connect(SolveIK, f"{prefix}/solve_ik")
        self._compute_fk = self._connect(ComputeFK, f"{prefix}/compute_fk")

    def solve_ik(
        self,
        tip_link: str,
        targets: npt.ArrayLike,
        *,
        frame_id: str = "",
        base_link: str = "",
        seeds: npt.ArrayLike | None = None,
        seed_joint_names: Sequence[str] = (),
        weights: Sequence[float] = (),
        locked_joints: Sequence[str] = (),
        nearest: bool = False,
        position_tolerance: float = 0.0,
        rotation_tolerance: float = 0.0,
        num_solutions: int = 1,
        solve_timeout: float = 0.0,
        random_seed: int = 0,
        timeout: float | None = None,
    ) -> IKSolutions:
        """Find joint positions that place `tip_link` at each target.

        Args:
            targets: (N, 7) rows x y z qx qy qz qw [m], or (N, 4, 4) transforms; one of them without N too.
            frame_id: the link that targets are given in; empty: the root.
            base_link: the joints from here to the tip solve; empty: the root.
            seeds: (J,) for all targets or (N, J), columns as `seed_joint_names` (empty: as the answer's joint_names).
            weights: of the error x y z rx ry rz in the tip's frame; empty: all 1.
            locked_joints: held at the seed.
            nearest: prefer the solution nearest to the seed.
            position_tolerance, rotation_tolerance, solve_timeout: [m], [rad], [s]; 0: the node's defaults.
            timeout: longest wait [s]; None: the client's, and `solve_timeout` on top.

        Raises:
            ServiceUnavailable, ServiceTimeout, RequestRefused. Targets without a solution raise nothing: see `solved`.
        """
        request = SolveIK.Request(tip_link=tip_link, base_link=base_link)
        request.header.frame_id = frame_id
        request.target_array = float64_field(_pose_rows(targets))
        request.seed_joint_names = list(seed_joint_names)
        request.seeds = float64_field(np.asarray(() if seeds is None else seeds, dtype=np.float64))
        request.weights = float64_field(np.asarray(weights, dtype=np.float64))
        request.locked_joints = list(locked_joints)
        request.preference = SolveIK.Request.NEAREST if nearest else SolveIK.Request.ANY
        request.position_tolerance, request.rotation_tolerance = float(position_tolerance), float(rotation_tolerance)
        request.num_solutions, request.random_seed = num_solutions, random_seed
        nanoseconds = round(solve_timeout * 1e9)
        request.timeout.sec, request.timeout.nanosec = nanoseconds // 10**9, nanoseconds % 10**9
        patience = self._timeout + solve_timeout if timeout is None else timeout
        return _solutions(self._call(self._solve_ik, request, patience), num_solutions)

    def compute_fk(
        self,
        positions: npt.ArrayLike,
        links: Sequence[str],
        *,
        joint_names: Sequence[str] = (),
        frame_id: str = "",
        timeout: float | None = None,
    ) -> npt.NDArray[np.float64]:
        """Compute poses of links: positions (N, J) or (J,) -> (N, len(links), 7), rows x y z qx qy qz qw [m].

        Args:
            positions: [rad] or [m], columns as `joint_names` (empty: all of the robot's, in its order).
            frame_id: the link that poses are given in; empty: the root.

        Raises:
            ServiceUnavailable, ServiceTimeout, RequestRefused.
        """
        if not links:
            raise ValueError("links is empty: name the links whose poses are wanted")
        request = ComputeFK.Request(links=list(links), joint_names=list(joint_names))
        request.header.frame_id = frame_id
        request.positions = float64_field(np.asarray(positions, dtype=np.float64))
        response = self._call(self._compute_fk, request, self._timeout if timeout is None else timeout)
        return array_from_field(response.poses).reshape(-1, len(links), 7)

    def wait_until_ready(self, timeout: float | None = None) -> None:
        """Wait until both services are there; raises ServiceUnavailable."""
        for client in (self._solve_ik, self._compute_fk):
            self._wait_for(client, self._timeout if timeout is None else timeout)

    def close(self) -> None:
        """Leave the graph; the client can't be used after this."""
        self._executor.shutdown()
        self._node.destroy_node()

    def __enter__(self) -> KinematicsClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self, service_type: Any, name: str) -> Client:
        return self._node.create_client(service_type, name, qos_profile=qos_profile_services_default)

    def _call(self, client: Client, request: Any, timeout: float) -> Any:
        with self._lock:
            self._wait_for(client, timeout)
            future = client.call_async(request)
            self._executor.spin_until_future_complete(future, timeout_sec=timeout)
            if not future.done():
                client.remove_pending_request(future)  # else an answer that never comes is waited for until the end
                raise ServiceTimeout(f"{client.srv_name} did not answer in {timeout:g} s")
        response = future.result()
        if response.error_code not in (SolveIK.Response.SUCCESS, SolveIK.Response.NO_IK_SOLUTION):
            raise RequestRefused(response.error_code, response.message)
        return response

    def _wait_for(self, client: Client, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not client.service_is_ready():
            if time.monotonic() > deadline:
                raise ServiceUnavailable(
                    f"no node offers {client.srv_name} after {timeout:g} s: is the kinematics node running, and has it "
                    "a robot_description? It says on /diagnostics what it waits for"
                )
            time.sleep(0.01)


def _pose_rows(targets: npt.ArrayLike) -> np.ndarray:
    """Bring targets to (N, 7), from rows or transforms, one or many."""
    given = np.asarray(targets, dtype=np.float64)
    if given.ndim >= 2 and given.shape[-2:] == (4, 4) and given.ndim <= 3:
        return rows_from_matrices(given.reshape(-1, 4, 4))
    if given.size == 0 or (given.ndim in (1, 2) and given.shape[-1] == 7):
        return given.reshape(-1, 7)
    raise ValueError(f"targets must have shape (N, 7) or (N, 4, 4), not {given.shape}")


def _solutions(response: Any, num_solutions: int) -> IKSolutions:
    k, names = max(1, num_solutions), tuple(response.joint_names)
    return IKSolutions(
        joint_names=names,
        positions=array_from_field(response.positions).reshape(len(response.num_found), k, len(names)),
        status=array_from_field(response.status, np.uint8).reshape(-1, k),
        num_found=array_from_field(response.num_found, np.uint32),
        position_errors=array_from_field(response.position_errors).reshape(-1, k),
        rotation_errors=array_from_field(response.rotation_errors).reshape(-1, k),
        iterations=array_from_field(response.iterations, np.uint32).reshape(-1, k),
        solver_time=response.solver_time,
        message=response.message,
    )
