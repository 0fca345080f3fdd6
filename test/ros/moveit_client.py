"""Ask a node for GetPositionIK and GetPositionFK as MoveIt does: a program of its own, since it needs moveit_msgs.

`python -m moveit_client <namespace> <tip> <x> <y> <z> <qx> <qy> <qz> <qw>` prints the answers as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bench import Bench
from geometry_msgs.msg import Pose
from moveit_msgs.srv import GetPositionFK, GetPositionIK

ARM = [f"panda_joint{i}" for i in range(1, 8)]
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]


def request(tip: str, row: list[float]) -> GetPositionIK.Request:
    """Fill a request as MoveIt's plugin does: no timeout, collisions to be avoided, the seed in the robot's state."""
    message = GetPositionIK.Request()
    ik_request = message.ik_request
    ik_request.group_name, ik_request.ik_link_name, ik_request.avoid_collisions = "panda_arm", tip, True
    ik_request.robot_state.joint_state.name, ik_request.robot_state.joint_state.position = ARM, READY
    ik_request.pose_stamped.header.frame_id = "panda_link0"
    ik_request.pose_stamped.pose = pose(row)
    return message


def pose(row: list[float]) -> Pose:
    message = Pose()
    p, q = message.position, message.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = row
    return message


def said(response: Any) -> dict[str, Any]:
    state = response.solution.joint_state
    return {
        "code": response.error_code.val,
        "reason": response.error_code.message,
        "positions": dict(zip(state.name, state.position)),
    }


def main() -> None:
    namespace, tip, row = sys.argv[1], sys.argv[2], [float(number) for number in sys.argv[3:]]
    answers: dict[str, Any] = {}
    with Bench(namespace) as bench:
        answers["solved"] = said(bench.call(GetPositionIK, "solve_ik", request(tip, row)))
        answers["far"] = said(bench.call(GetPositionIK, "solve_ik", request(tip, [9.0, *row[1:]])))
        late = request(tip, row)
        late.ik_request.timeout.nanosec = 1
        answers["late"] = said(bench.call(GetPositionIK, "solve_ik", late))
        two = request(tip, row)
        two.ik_request.pose_stamped_vector = [two.ik_request.pose_stamped] * 2
        answers["two tips"] = said(bench.call(GetPositionIK, "solve_ik", two))
        placed = GetPositionFK.Request(fk_link_names=[tip])
        positions = answers["solved"]["positions"]
        placed.robot_state.joint_state.name = list(positions)
        placed.robot_state.joint_state.position = list(positions.values())
        response = bench.call(GetPositionFK, f"{namespace}/fk/of_moveit", placed)
        p, q = response.pose_stamped[0].pose.position, response.pose_stamped[0].pose.orientation
        answers["placed"] = [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
        answers["frame"] = response.pose_stamped[0].header.frame_id
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
