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
import math
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future

from .conversions import array_from_field, float64_field
from .solutions import IKSolutions, number_between, pose_rows, pose_rows_together, read_solutions, whole_number
from .srv import ComputeFK, SolveIK

_RESTART_TAKES = 1.0  # [s] at least: a node imports torch
_FIRST_PATIENCE = 0.5  # [s]
_FIRST_PROBE, _LAST_PROBE = 0.5, 2.0  # [s] between empty requests: from the first pause to the longest
_MATCHING = (
    0.1  # [s] that a node may know a client's requests but not yet where its answers go; it stops for such a client
)
_MOST_PROBES = 4  # waited for at a time
_LONGEST = 1e9  # [s]
# every client of a service hears every answer: of more than it keeps, before it looks, its own may be lost
_QOS = QoSProfile(depth=1000)
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
        self._timeout = number_between("timeout", timeout, 0.0, _LONGEST)
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
        self._answered: dict[str, float] = {}  # service name: when it answered last [s]
        self._server: dict[str, int] = {}  # service name: the number of the node that answered last
        prefix = "/" + node_name.strip("/")
        self._solve_ik = self._connect(SolveIK, f"{prefix}/solve_ik")
        self._compute_fk = self._connect(ComputeFK, f"{prefix}/compute_fk")

    def solve_ik(
        self,
        tip_link: str | Sequence[str],
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
            tip_link: a link, or T links to be placed together from a base link above all of them.
            targets: (N, 7) rows x y z qx qy qz qw [m], or (N, 4, 4) transforms; one of them without N too. With T links
                (N, T, 7) or (N, T, 4, 4).
            frame_id: the link that targets are given in; empty: the root.
            base_link: the joints from here to the tip solve; empty: the root.
            seeds: (J,) for all targets or (N, J), columns as `seed_joint_names` (empty: as the answer's joint_names).
            weights: of the error x y z rx ry rz in the tip's frame; empty: all 1.
            locked_joints: held at the seed.
            nearest: prefer the solution nearest to the seed.
            position_tolerance, rotation_tolerance, solve_timeout: [m], [rad], [s]; 0: the node's defaults.
            timeout: longest wait [s]; None: the client's, and on top `solve_timeout` and a millisecond for each target.

        A node that is killed and restarted meanwhile is asked again.

        Raises:
            ServiceUnavailable, ServiceTimeout, RequestRefused. Targets without a solution raise nothing: see `solved`.
            ValueError: targets of another shape, or an argument out of its range.
        """
        request = SolveIK.Request(base_link=base_link)
        if isinstance(tip_link, str):
            request.tip_link, rows = tip_link, pose_rows(targets)
        else:
            request.tip_links, rows = list(tip_link), pose_rows_together(targets, len(tip_link))
        request.header.frame_id = frame_id
        request.target_array = float64_field(rows)
        request.seed_joint_names = list(seed_joint_names)
        request.seeds = float64_field(np.asarray(() if seeds is None else seeds, dtype=np.float64))
        request.weights = float64_field(np.asarray(weights, dtype=np.float64))
        request.locked_joints = list(locked_joints)
        request.preference = SolveIK.Request.NEAREST if nearest else SolveIK.Request.ANY
        request.position_tolerance = number_between("position_tolerance", position_tolerance, 0.0, math.inf)
        request.rotation_tolerance = number_between("rotation_tolerance", rotation_tolerance, 0.0, math.inf)
        request.num_solutions = whole_number("num_solutions", num_solutions, 0, 2**32 - 1)
        request.random_seed = whole_number("random_seed", random_seed, 0, 2**64 - 1)
        nanoseconds = round(number_between("solve_timeout", solve_timeout, 0.0, 2**31 - 1) * 1e9)
        request.timeout.sec, request.timeout.nanosec = nanoseconds // 10**9, nanoseconds % 10**9
        patience = self._timeout + solve_timeout + 1e-3 * len(rows) if timeout is None else timeout
        return read_solutions(self._call(self._solve_ik, request, patience), num_solutions)

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
        """Wait until both services are there and answer; raises ServiceUnavailable, ServiceTimeout."""
        timeout = self._timeout if timeout is None else number_between("timeout", timeout, 0.0, _LONGEST)
        for client in (self._solve_ik, self._compute_fk):
            with self._lock:
                self._wait_for(client, timeout)
                self._shake_hands(client, timeout)

    def close(self) -> None:
        """Leave the graph; the client can't be used after this."""
        self._executor.shutdown()
        self._node.destroy_node()

    def __enter__(self) -> KinematicsClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self, service_type: Any, name: str) -> Client:
        return self._node.create_client(service_type, name, qos_profile=_QOS)

    def _call(self, client: Client, request: Any, timeout: float) -> Any:
        number_between("timeout", timeout, 0.0, _LONGEST)
        with self._lock:
            self._wait_for(client, timeout)
            self._shake_hands(client, timeout)
            response = self._insist(client, request, timeout)
        if response is None:
            raise ServiceTimeout(f"{client.srv_name} did not answer in {timeout:g} s")
        if response.error_code not in (SolveIK.Response.SUCCESS, SolveIK.Response.NO_IK_SOLUTION):
            raise RequestRefused(response.error_code, response.message)
        return response

    def _shake_hands(self, client: Client, timeout: float) -> None:
        """Get an answer to an empty request, unless one came just now from a node that can't have restarted since.

        A node that has just found this client, or been found, may drop its first answer: it does not know yet where to
        send it, which shows on neither side. An empty request can be sent again.
        """
        if time.monotonic() - self._answered.get(client.srv_name, -math.inf) < _RESTART_TAKES:
            return
        deadline, patience = time.monotonic() + timeout, _FIRST_PATIENCE
        while self._ask(client, client.srv_type.Request(), min(patience, deadline - time.monotonic())) is None:
            patience *= 2.0  # the node may be busy: then more requests do not help
            if time.monotonic() >= deadline:
                raise ServiceTimeout(f"{client.srv_name} did not answer in {timeout:g} s")

    def _insist(self, client: Client, request: Any, timeout: float) -> Any | None:
        """Send a request, and again if the node has restarted since; give the response, None where none comes in time [s].

        The graph shows for many seconds a node that was killed. So an empty request now and then asks who is there: a
        node answers it at once, whatever else it does, and one that has restarted answers with another number.
        """
        server, deadline, pause = self._server[client.srv_name], time.monotonic() + timeout, _FIRST_PROBE
        asked, probes = [client.call_async(request)], []
        try:
            while time.monotonic() < deadline:
                self._spin_until_any(asked, min(deadline, time.monotonic() + pause))
                pause = min(2.0 * pause, _LAST_PROBE)
                if answers := [future.result() for future in asked if future.done()]:
                    return self._note(client, answers[0])
                for present in {probe.result().server for probe in probes if probe.done()} - {server}:
                    server = present
                    asked.append(client.call_async(request))
                for probe in probes[:-_MOST_PROBES]:
                    client.remove_pending_request(probe)
                probes = [probe for probe in probes[-_MOST_PROBES:] if not probe.done()]
                probes.append(client.call_async(client.srv_type.Request()))
        finally:  # else answers that never come are waited for until the end
            for future in asked + probes:
                client.remove_pending_request(future)
        return None

    def _spin_until_any(self, futures: list[Future], deadline: float) -> None:
        while not any(future.done() for future in futures) and (left := deadline - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def _note(self, client: Client, response: Any) -> Any:
        """Remember who answered, and when; give the response."""
        self._answered[client.srv_name], self._server[client.srv_name] = time.monotonic(), response.server
        return response

    def _ask(self, client: Client, request: Any, timeout: float) -> Any | None:
        """Send a request and give its response, None where none comes in time [s]."""
        future = client.call_async(request)
        self._spin_until_any([future], time.monotonic() + timeout)
        if not future.done():
            client.remove_pending_request(future)
            return None
        return self._note(client, future.result())

    def _wait_for(self, client: Client, timeout: float) -> None:
        if client.service_is_ready():
            return
        deadline = time.monotonic() + timeout
        while not client.service_is_ready():
            if time.monotonic() > deadline:
                raise ServiceUnavailable(
                    f"no node offers {client.srv_name} after {timeout:g} s: is the kinematics node running, and has it "
                    "a robot_description? It says on /diagnostics what it waits for"
                )
            time.sleep(0.01)
        time.sleep(_MATCHING)
