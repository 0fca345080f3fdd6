"""Ask a node for GetPositionIK and GetPositionFK as MoveIt does: a program of its own, since it needs moveit_msgs.

`python -m moveit_client <namespace> <tip> <x> <y> <z> <qx> <qy> <qz> <qw> <other tip> <x> ...` prints the answers as one
line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bench import Bench
from geometry_msgs.msg import Pose, PoseStamped
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


def request_of_two(rows: dict[str, list[float]]) -> GetPositionIK.Request:
    """Fill a request as MoveIt's plugin does for a group with several tips."""
    message = request("", [0.0] * 7)
    ik_request = message.ik_request
    ik_request.pose_stamped = PoseStamped()
    ik_request.ik_link_names = list(rows)
    ik_request.pose_stamped_vector = [PoseStamped(pose=pose(row)) for row in rows.values()]
    for stamped in ik_request.pose_stamped_vector:
        stamped.header.frame_id = "panda_link0"
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
    namespace, tip, other = sys.argv[1], sys.argv[2], sys.argv[10]
    row, other_row = [float(number) for number in sys.argv[3:10]], [float(number) for number in sys.argv[11:]]
    answers: dict[str, Any] = {}
    with Bench(namespace) as bench:
        answers["solved"] = said(bench.call(GetPositionIK, "solve_ik", request(tip, row)))
        answers["far"] = said(bench.call(GetPositionIK, "solve_ik", request(tip, [9.0, *row[1:]])))
        late = request(tip, row)
        late.ik_request.timeout.nanosec = 1
        answers["late"] = said(bench.call(GetPositionIK, "solve_ik", late))
        answers["two tips"] = said(bench.call(GetPositionIK, "solve_ik", request_of_two({tip: row, other: other_row})))
        one_pose = request_of_two({tip: row, other: other_row})
        one_pose.ik_request.pose_stamped_vector = one_pose.ik_request.pose_stamped_vector[:1]
        answers["one pose of two"] = said(bench.call(GetPositionIK, "solve_ik", one_pose))
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
