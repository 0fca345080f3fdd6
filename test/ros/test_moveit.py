"""MoveIt's services as functions of message fields; Pinocchio judges poses and solutions. Neither ROS nor moveit_msgs is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from oracle import PANDA, Oracle, errors, matrix_row, pose_matrix, row_matrix
from two_arms import ARMS, HANDS, TORSO, two_arms

from pk_ros.joint_states import JointSnapshot, JointTable
from pk_ros.moveit import PositionFKJob, PositionIKJob
from pk_ros.requests import ErrorCode, Settings
from pk_ros.served_model import ServedModel, read_model, warm_up

TIP = "panda_hand"
ARM = [f"panda_joint{i}" for i in range(1, 8)]
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
STAMP = object()
MOBILE = """<robot name="mobile"><link name="world"/><link name="base"/><link name="arm"/><link name="tool"/>
<joint name="drive" type="planar"><parent link="world"/><child link="base"/><axis xyz="0 0 1"/></joint>
<joint name="lift" type="prismatic"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint>
<joint name="turn" type="revolute"><parent link="arm"/><child link="tool"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture(scope="module")
def model() -> ServedModel:
    model = read_model(PANDA.read_text())
    warm_up(model)
    return model


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(PANDA)


@pytest.fixture(scope="module")
def unseen(model: ServedModel) -> JointSnapshot:
    return JointTable(model.columns, model.neutral).snapshot()


def robot_state(names: list[str] | None = None, positions: list[float] | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        joint_state=SimpleNamespace(name=names or [], position=positions or []),
        multi_dof_joint_state=SimpleNamespace(joint_names=[], transforms=[]),
        attached_collision_objects=[],
        is_diff=False,
    )


def pose(row: Any) -> SimpleNamespace:
    x, y, z, qx, qy, qz, qw = np.asarray(row, dtype=float).tolist()
    return SimpleNamespace(position=SimpleNamespace(x=x, y=y, z=z), orientation=SimpleNamespace(x=qx, y=qy, z=qz, w=qw))


def stamped(row: Any = (0, 0, 0, 0, 0, 0, 1), frame_id: str = "") -> SimpleNamespace:
    return SimpleNamespace(header=SimpleNamespace(frame_id=frame_id, stamp=None), pose=pose(row))


def ik_request(row: Any = (0, 0, 0, 0, 0, 0, 1), frame_id: str = "", **fields: Any) -> SimpleNamespace:
    """A PositionIKRequest, fields left out as a message has them."""
    request = SimpleNamespace(
        group_name="",
        robot_state=robot_state(),
        constraints=SimpleNamespace(
            joint_constraints=[], position_constraints=[], orientation_constraints=[], visibility_constraints=[]
        ),
        avoid_collisions=False,
        ik_link_name=TIP,
        pose_stamped=stamped(row, frame_id),
        ik_link_names=[],
        pose_stamped_vector=[],
        timeout=SimpleNamespace(sec=0, nanosec=0),
    )
    vars(request).update(fields)
    return request


def ik(model: ServedModel, joints: JointSnapshot, request: SimpleNamespace, **settings: Any) -> SimpleNamespace:
    """Give the GetPositionIK response."""
    job = PositionIKJob(model, joints, request, Settings(**settings), 0.0, now=lambda: 0.0)
    while not job.step():
        pass
    header = SimpleNamespace(stamp=None, frame_id="")
    response = SimpleNamespace(
        solution=SimpleNamespace(joint_state=SimpleNamespace(header=header, name=[], position=[]), is_diff=False),
        error_code=SimpleNamespace(val=0, message="", source=""),
    )
    return job.fill(response, STAMP)


def fk(model: ServedModel, joints: JointSnapshot, request: SimpleNamespace, **settings: Any) -> SimpleNamespace:
    """Give the GetPositionFK response."""
    job = PositionFKJob(model, joints, request, Settings(**settings))
    while not job.step():
        pass
    error_code = SimpleNamespace(val=0)  # as it is on older distributions
    return job.fill(SimpleNamespace(pose_stamped=[], fk_link_names=[], error_code=error_code), STAMP, stamped)


def fk_request(links: list[str], state: SimpleNamespace | None = None, frame_id: str = "") -> SimpleNamespace:
    header = SimpleNamespace(frame_id=frame_id)
    return SimpleNamespace(header=header, fk_link_names=links, robot_state=state or robot_state())


def solution(response: SimpleNamespace) -> dict[str, float]:
    assert response.error_code.val == ErrorCode.SUCCESS, response.error_code.message
    joint_state = response.solution.joint_state
    return dict(zip(joint_state.name, joint_state.position, strict=True))


def check(oracle: Oracle, q: dict[str, float], T: np.ndarray, base: str = "") -> None:
    poses = oracle.poses(q)
    position_error, rotation_error = errors(np.linalg.inv(poses[base or oracle.root]) @ poses[TIP], T)
    assert position_error <= 1e-4
    assert rotation_error <= 1e-3


def refused(response: SimpleNamespace, code: ErrorCode, words: str) -> None:
    assert response.error_code.val == code
    assert words in response.error_code.message
    assert response.error_code.source == "pk"
    assert not response.solution.joint_state.name


# --- inverse kinematics -----------------------------------------------------------------------------------------------


def test_a_request_as_moveit_s_plugin_sends_it_is_solved(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    for q in oracle.random(20):
        T = oracle.poses(dict(zip(oracle.joints, q)))[TIP]
        state = robot_state([*ARM, "panda_finger_joint1", "panda_finger_joint2"], [*READY, 0.03, 0.03])
        state.multi_dof_joint_state = SimpleNamespace(
            joint_names=["virtual_joint"], transforms=[SimpleNamespace(translation=None, rotation=None)]
        )
        state.multi_dof_joint_state.transforms[0] = SimpleNamespace(
            translation=SimpleNamespace(x=1.0, y=0.0, z=0.0), rotation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
        )
        request = ik_request(
            matrix_row(T), oracle.root, group_name="panda_arm", robot_state=state, avoid_collisions=True
        )
        response = ik(model, unseen, request)
        found = solution(response)
        check(oracle, found, T)
        assert set(found) == {*ARM, "panda_finger_joint1"}
        assert found["panda_finger_joint1"] == 0.03  # not on the path: as the state has it
        assert response.solution.is_diff
        assert response.solution.joint_state.header.stamp is STAMP
        assert response.solution.joint_state.header.frame_id == oracle.root


def test_the_robot_state_is_the_seed(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    for q in oracle.random(5, seed=3):
        T = oracle.poses(dict(zip(oracle.joints, q)))[TIP]
        response = ik(model, unseen, ik_request(matrix_row(T), robot_state=robot_state(ARM, q[:7].tolist())))
        assert np.allclose([solution(response)[name] for name in ARM], q[:7], atol=1e-9)


def test_without_a_robot_state_the_joints_start_where_they_are(model: ServedModel, oracle: Oracle) -> None:
    table = JointTable(model.columns, model.neutral)
    q = oracle.random(1, seed=5)[0]
    table.merge(oracle.joints, q)
    T = oracle.poses(dict(zip(oracle.joints, q)))[TIP]
    found = solution(ik(model, table.snapshot(), ik_request(matrix_row(T))))
    assert np.allclose([found[name] for name in oracle.joints], q, atol=1e-9)


def test_joints_of_which_nobody_knows_are_not_in_the_solution(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    T = oracle.poses(dict(zip(ARM, READY)))[TIP]
    assert set(solution(ik(model, unseen, ik_request(matrix_row(T))))) == set(ARM)


def test_a_frame_above_the_tip_is_the_base_and_the_joints_above_it_stay(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    poses = oracle.poses(dict(zip(ARM, READY)))
    T = np.linalg.inv(poses["panda_link2"]) @ poses[TIP]
    state = robot_state(ARM, [1.0, 1.0, *([0.1, -1.0, 0.1, 1.0, 0.1])])
    for frame_id, prefix in (("panda_link2", ""), ("/panda_link2", ""), ("a/panda_link2", "a/")):
        request = ik_request(matrix_row(T), frame_id, robot_state=state)
        found = solution(ik(model, unseen, request, frame_prefix=prefix))
        check(oracle, found, T, "panda_link2")
        assert found["panda_joint1"] == found["panda_joint2"] == 1.0


def test_a_group_of_the_parameter_gives_base_and_tip_whatever_the_frame(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    groups = {"panda_arm": ("panda_link0", TIP), "wrist": ("panda_link4", TIP)}
    state = robot_state(ARM, READY)
    poses = oracle.poses(dict(zip(ARM, READY)))
    T_root_tip = poses[TIP] @ row_matrix(np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))
    T_link2_tip = np.linalg.inv(poses["panda_link2"]) @ T_root_tip
    request = ik_request(
        matrix_row(T_link2_tip), "panda_link2", group_name="panda_arm", ik_link_name="", robot_state=state
    )
    found = solution(ik(model, unseen, request, groups=groups))
    check(oracle, found, T_root_tip)  # the frame stood as the state has it, and joints above it may have moved
    request = ik_request(matrix_row(T_root_tip), group_name="panda_hnd", robot_state=state)
    refused(ik(model, unseen, request, groups=groups), ErrorCode.INVALID_GROUP_NAME, "panda_arm")


def test_the_parameter_tip_stands_in_for_an_empty_link_name(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    T = oracle.poses(dict(zip(ARM, READY)))[TIP]
    request = ik_request(matrix_row(T), ik_link_name="")
    check(oracle, solution(ik(model, unseen, request, tip=TIP)), T)
    refused(ik(model, unseen, request), ErrorCode.INVALID_LINK_NAME, "tip")


def test_the_fields_for_several_tips_are_taken_where_they_name_one(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    T = oracle.poses(dict(zip(ARM, READY)))[TIP]
    request = ik_request(ik_link_name="nonsense", ik_link_names=[TIP], pose_stamped_vector=[stamped(matrix_row(T))])
    check(oracle, solution(ik(model, unseen, request)), T)


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"ik_link_name": "panda_hnd"}, ErrorCode.INVALID_LINK_NAME, "panda_hand"),
        ({"frame_id": "camera"}, ErrorCode.FRAME_TRANSFORM_FAILURE, "camera"),
        ({"pose_stamped_vector": [stamped(), stamped()]}, ErrorCode.INVALID_LINK_NAME, "0 ik_link_names but 2 poses"),
        ({"ik_link_names": ["a", "b", "c"]}, ErrorCode.INVALID_LINK_NAME, "3 ik_link_names but 0 poses"),
        ({"robot_state": robot_state(["panda_joint1"])}, ErrorCode.INVALID_ROBOT_STATE, "1 names but 0 positions"),
        ({"robot_state": robot_state(["elbow"], [0.0])}, ErrorCode.INVALID_ROBOT_STATE, "elbow"),
        ({"robot_state": robot_state(["panda_joint1"] * 2, [0.0] * 2)}, ErrorCode.INVALID_ROBOT_STATE, "twice"),
        ({"robot_state": robot_state(["panda_joint1"], [np.nan])}, ErrorCode.INVALID_ROBOT_STATE, "panda_joint1"),
        ({"timeout": SimpleNamespace(sec=-1, nanosec=0)}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "timeout"),
        ({"row": (0, 0, 0, 0, 0, 0, 0)}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "INVALID_INPUT"),
        ({"row": (np.nan, 0, 0, 0, 0, 0, 1)}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "INVALID_INPUT"),
        ({"row": (9, 0, 0, 0, 0, 0, 1)}, ErrorCode.NO_IK_SOLUTION, "UNREACHABLE by the joints from panda_link0 to"),
    ],
)
def test_what_can_not_be_solved_is_refused_with_moveit_s_code_and_the_reason(
    model: ServedModel, unseen: JointSnapshot, fields: dict[str, Any], code: ErrorCode, words: str
) -> None:
    refused(ik(model, unseen, ik_request(**fields)), code, words)


def test_constraints_are_refused_by_name(model: ServedModel, unseen: JointSnapshot) -> None:
    request = ik_request()
    request.constraints.joint_constraints = [object()]
    refused(ik(model, unseen, request), ErrorCode.INVALID_GOAL_CONSTRAINTS, "joint_constraints")


def test_collisions_are_ignored_or_refused_as_the_parameter_has_it(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    T = oracle.poses(dict(zip(ARM, READY)))[TIP]
    request = ik_request(matrix_row(T), avoid_collisions=True)
    check(oracle, solution(ik(model, unseen, request)), T)
    assert PositionIKJob(model, unseen, request, Settings(), 0.0).leaves_collisions
    response = ik(model, unseen, request, refuse_collisions=True)
    refused(response, ErrorCode.COLLISION_CHECKING_UNAVAILABLE, "moveit.avoid_collisions")


def test_a_timeout_counts_its_nanoseconds_from_the_arrival(model: ServedModel, unseen: JointSnapshot) -> None:
    timeout = SimpleNamespace(sec=0, nanosec=700)
    for now, code in ((6e-7, ErrorCode.NO_IK_SOLUTION), (8e-7, ErrorCode.TIMED_OUT)):
        request = ik_request((9, 0, 0, 0, 0, 0, 1), timeout=timeout)
        job = PositionIKJob(model, unseen, request, Settings(), 0.0, now=lambda: now)  # noqa: B023
        assert job.deadline == pytest.approx(7e-7)
        assert job.step()
        if code is ErrorCode.TIMED_OUT:
            assert job.answer.error_code is code


def test_planar_joints_of_the_state_place_the_frames_and_the_seed() -> None:
    model = read_model(MOBILE)
    joints = JointTable(model.columns, model.neutral).snapshot()
    state = robot_state(["lift", "turn"], [0.5, 1.0])
    state.multi_dof_joint_state = SimpleNamespace(
        joint_names=["drive"],
        transforms=[
            SimpleNamespace(
                translation=SimpleNamespace(x=2.0, y=3.0, z=0.0), rotation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
            )
        ],
    )
    response = fk(model, joints, fk_request(["tool"], state))
    assert np.allclose(pose_matrix(response.pose_stamped[0].pose)[:3, 3], [3.0, 3.0, 0.5])
    state.multi_dof_joint_state.transforms[0].rotation.w = 0.0
    assert fk(model, joints, fk_request(["tool"], state)).error_code.val == ErrorCode.INVALID_ROBOT_STATE


# --- several tips -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    path = tmp_path_factory.mktemp("robots") / "two_arms.urdf"
    path.write_text(two_arms())
    return Oracle(path)


@pytest.fixture(scope="module")
def two_armed(both: Oracle) -> ServedModel:
    return read_model(both.text)


def hands_request(rows: list[Any], frame_ids: tuple[str, str] = ("torso", "torso"), **fields: Any) -> SimpleNamespace:
    """A request as MoveIt's plugin sends it for a group with two tips."""
    poses = [stamped(row, frame_id) for row, frame_id in zip(rows, frame_ids)]
    return ik_request(ik_link_name="", ik_link_names=list(HANDS), pose_stamped_vector=poses, **fields)


@pytest.mark.parametrize("base", ["torso", "ground"])
def test_several_tips_are_placed_together_by_the_joints_below_the_frame_of_the_poses(
    two_armed: ServedModel, both: Oracle, base: str
) -> None:
    joints = JointTable(two_armed.columns, two_armed.neutral).snapshot()
    for q in both.random(10):
        poses = both.poses(dict(zip(both.joints, q)))
        wanted = [np.linalg.inv(poses[base]) @ poses[hand] for hand in HANDS]
        stands = dict.fromkeys(both.joints, 0.1) | {"lift": 0.7, "waist": 0.5}  # the lift beyond its limit of 0.4
        state = robot_state(list(stands), list(stands.values()))
        response = ik(two_armed, joints, hands_request([*map(matrix_row, wanted)], (base, base), robot_state=state))
        found = solution(response)
        if base == "torso":
            assert (found["lift"], found["waist"]) == (0.7, 0.5)
        for name in ARMS:
            assert both.limits[name][0] <= found[name] <= both.limits[name][1]
        poses = both.poses(found)
        for hand, T in zip(HANDS, wanted):
            position_error, rotation_error = errors(np.linalg.inv(poses[base]) @ poses[hand], T)
            assert position_error <= 1e-4
            assert rotation_error <= 1e-3


def test_each_of_several_poses_has_a_frame_of_its_own(two_armed: ServedModel, both: Oracle) -> None:
    table = JointTable(two_armed.columns, two_armed.neutral)
    table.merge(both.joints, both.random(1, seed=1)[0])
    joints = table.snapshot()
    now, then = (both.poses(dict(zip(both.joints, q))) for q in (joints.q, both.random(1, seed=2)[0]))
    rows = [matrix_row(then["left_hand"]), matrix_row(np.linalg.inv(now["torso"]) @ then["right_hand"])]
    found = solution(ik(two_armed, joints, hands_request(rows, ("ground", "torso"))))
    for hand in HANDS:
        assert max(errors(both.poses(found)[hand], then[hand])) <= 1e-3


def test_the_group_gives_several_tips_their_base(two_armed: ServedModel, both: Oracle) -> None:
    joints = JointTable(two_armed.columns, two_armed.neutral).snapshot()
    poses = both.poses(dict(zip(both.joints, both.random(1, seed=3)[0])) | dict.fromkeys(TORSO, 0.0))
    request = hands_request([matrix_row(poses[hand]) for hand in HANDS], ("", ""), group_name="both")
    request.robot_state = robot_state(list(TORSO), [0.0, 0.0])
    found = solution(ik(two_armed, joints, request, groups={"both": ("torso", "left_hand")}))
    assert set(found) == {*TORSO, *ARMS}
    assert (found["lift"], found["waist"]) == (0.0, 0.0)
    for hand in HANDS:
        assert max(errors(both.poses(found)[hand], poses[hand])) <= 1e-3
    refused(
        ik(two_armed, joints, request, groups={"both": ("left_link_2", "left_hand")}),
        ErrorCode.INVALID_GROUP_NAME,
        "not above ['right_hand']",
    )


@pytest.mark.parametrize(
    ("links", "rows", "code", "words"),
    [
        (["left_hand", "left_hand"], [(0, 0, 0, 0, 0, 0, 1)] * 2, ErrorCode.INVALID_LINK_NAME, "twice"),
        (["left_hand", "third_hand"], [(0, 0, 0, 0, 0, 0, 1)] * 2, ErrorCode.INVALID_LINK_NAME, "third_hand"),
        (["left_hand", ""], [(0, 0, 0, 0, 0, 0, 1)] * 2, ErrorCode.INVALID_LINK_NAME, "''"),
        (HANDS, [(0, 0, 1, 0, 0, 0, 1), (0, 0, 1, 0, 0, 0, 0)], ErrorCode.INVALID_GOAL_CONSTRAINTS, "INVALID_INPUT"),
        (HANDS, [(0, 0, 1, 0, 0, 0, 1), (9, 0, 0, 0, 0, 0, 1)], ErrorCode.NO_IK_SOLUTION, "left_hand and right_hand"),
    ],
)
def test_several_tips_that_can_not_be_placed_are_refused_with_the_reason(
    two_armed: ServedModel, links: list[str], rows: list[Any], code: ErrorCode, words: str
) -> None:
    joints = JointTable(two_armed.columns, two_armed.neutral).snapshot()
    request = hands_request(rows)
    request.ik_link_names = list(links)
    refused(ik(two_armed, joints, request), code, words)


# --- forward kinematics -----------------------------------------------------------------------------------------------


def test_links_are_placed_by_the_state_in_any_frame(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    links = [TIP, "panda_link3", "panda_link0"]
    for q in oracle.random(3):
        poses = oracle.poses(dict(zip(oracle.joints, q)))
        for frame_id, base in (("", oracle.root), ("panda_link5", "panda_link5")):
            request = fk_request(links, robot_state(oracle.joints, q.tolist()), frame_id)
            response = fk(model, unseen, request)
            assert response.error_code.val == ErrorCode.SUCCESS
            assert response.fk_link_names == links
            for link, placed in zip(links, response.pose_stamped, strict=True):
                assert placed.header.frame_id == base and placed.header.stamp is STAMP
                assert np.allclose(pose_matrix(placed.pose), np.linalg.inv(poses[base]) @ poses[link], atol=1e-9)


def test_links_behind_joints_of_which_nobody_knows_are_refused_and_others_are_placed(
    model: ServedModel, unseen: JointSnapshot
) -> None:
    state = robot_state(ARM[:3], READY[:3])
    assert fk(model, unseen, fk_request(["panda_link3"], state)).error_code.val == ErrorCode.SUCCESS
    job = PositionFKJob(model, unseen, fk_request([TIP], state), Settings())
    assert job.step()
    assert job.answer.error_code is ErrorCode.INVALID_ROBOT_STATE
    assert "panda_joint4" in job.answer.message


@pytest.mark.parametrize(
    ("links", "frame_id", "code"),
    [
        ([], "", ErrorCode.INVALID_LINK_NAME),
        (["panda_hnd"], "", ErrorCode.INVALID_LINK_NAME),
        ([TIP], "camera", ErrorCode.FRAME_TRANSFORM_FAILURE),
    ],
)
def test_links_and_frames_that_are_not_there_are_refused(
    model: ServedModel, unseen: JointSnapshot, links: list[str], frame_id: str, code: ErrorCode
) -> None:
    response = fk(model, unseen, fk_request(links, robot_state(ARM, READY), frame_id))
    assert response.error_code.val == code
    assert not response.pose_stamped
