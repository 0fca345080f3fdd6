"""Serialised messages as bytes, against rclpy's own serialisation."""

from __future__ import annotations

import struct
from types import ModuleType

import numpy as np
import pytest

from pk_ros.cdr import CdrError, JointStateReader, MessageWriter


@pytest.fixture(scope="module")
def serialization() -> ModuleType:
    """rclpy's own."""
    pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
    import bench  # noqa: F401, which bears with what ROS warns of at its first message
    import rclpy.serialization

    return rclpy.serialization


def plain_joint_state(order: str, names: list[str], position: list[float]) -> bytes:
    """A JointState written by hand in either byte order, without velocity and effort."""
    begin = b"\x00\x01\x00\x00" if order == "<" else b"\x00\x00\x00\x00"
    body = struct.pack(f"{order}iI", 7, 8) + struct.pack(f"{order}I", 1) + b"\x00"

    def aligned(data: bytes, size: int) -> bytes:
        return data + bytes(-len(data) % size)

    body = aligned(body, 4) + struct.pack(f"{order}I", len(names))
    for name in names:
        body = aligned(body, 4) + struct.pack(f"{order}I", len(name) + 1) + name.encode() + b"\x00"
    body = aligned(body, 4) + struct.pack(f"{order}I", len(position))
    if position:
        body = aligned(body, 8) + struct.pack(f"{order}{len(position)}d", *position)
    return begin + body + struct.pack(f"{order}II", 0, 0)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("names", [[], ["a"], ["shoulder", "elbow", "x"]])
def test_joint_states_of_either_byte_order_are_read(order: str, names: list[str]) -> None:
    position = [0.25 * i - 1.0 for i in range(len(names))]
    view = JointStateReader().read(plain_joint_state(order, names, position))
    assert view.stamp == 7 * 10**9 + 8
    assert view.names == tuple(names)
    assert view.position.tolist() == position
    assert view.velocity.tolist() == []


def test_the_names_are_read_again_when_they_change() -> None:
    reader = JointStateReader()
    for names in (["a", "b"], ["a", "b"], ["a", "c"], ["b"], [], ["a", "b"]):
        view = reader.read(plain_joint_state("<", names, [float(i) for i in range(len(names))]))
        assert view.names == tuple(names)
        assert len(view.position) == len(names)


def test_a_message_that_is_cut_off_is_refused_wherever_it_ends() -> None:
    whole = plain_joint_state("<", ["shoulder", "elbow"], [1.0, 2.0])
    JointStateReader().read(whole)
    for end in range(len(whole) - 4):  # the efforts, which are last, are not read
        with pytest.raises(CdrError):
            JointStateReader().read(whole[:end])


def test_lengths_that_no_message_can_have_are_refused() -> None:
    whole = bytearray(plain_joint_state("<", ["a"], [1.0]))
    for place in range(4, len(whole) - 3, 4):
        broken = bytes(whole[:place]) + b"\xff\xff\xff\xff" + bytes(whole[place + 4 :])
        try:
            view = JointStateReader().read(broken)
        except CdrError:
            continue
        assert len(view.names) == len(view.position) == 1  # it was a number that changed, no length


def test_another_representation_is_refused_by_name() -> None:
    with pytest.raises(CdrError, match="plain CDR"):
        JointStateReader().read(b"\x00\x07\x00\x00" + bytes(40))


def test_rclpy_s_joint_states_are_read(serialization: ModuleType) -> None:
    from sensor_msgs.msg import JointState

    reader = JointStateReader()
    for n in (0, 1, 2, 3, 30):
        for velocities in (0, n):
            message = JointState(name=[f"joint{i}" * (1 + i % 4) for i in range(n)])
            message.header.frame_id = "x" * n
            message.header.stamp.sec, message.header.stamp.nanosec = -n, 999_999_999
            message.position = np.random.default_rng(n).normal(size=n).tolist()
            message.velocity, message.effort = [0.5] * velocities, [1.0] * n
            for _ in range(2):
                view = reader.read(serialization.serialize_message(message))
                assert view.stamp == -n * 10**9 + 999_999_999
                assert view.names == tuple(message.name)
                assert view.position.tolist() == list(message.position)
                assert view.velocity.tolist() == list(message.velocity)


@pytest.mark.parametrize("n", [0, 1, 3, 40])
def test_a_filled_template_is_what_rclpy_reads(serialization: ModuleType, n: int) -> None:
    from pk_ros.msg import LinkPoses

    names = tuple(f"link_{'x' * i}" for i in range(n))
    writer = MessageWriter()
    writer.header("the root")
    writer.strings(names)
    writer.rows(n, 7)
    template = writer.template(7)
    for stamp in (0, 12 * 10**9 + 5, -(10**9) + 1):
        rows = np.random.default_rng(n).normal(size=(n, 7))
        message = serialization.deserialize_message(template.fill(stamp, rows), LinkPoses)
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == divmod(stamp, 10**9)
        assert message.header.frame_id == "the root"
        assert tuple(message.names) == names
        for pose, row in zip(message.poses, rows, strict=True):
            p, q = pose.position, pose.orientation
            assert [p.x, p.y, p.z, q.x, q.y, q.z, q.w] == row.tolist()
        assert len(serialization.serialize_message(message)) == len(template.fill(stamp, rows))
