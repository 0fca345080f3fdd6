"""The SROS 2 policy is what a node with everything switched on does, no more and no less."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")

import message_packages
from bench import REPOSITORY, Bench, kinematics_node
from lifecycle_msgs.srv import ChangeState

POLICY = REPOSITORY / "policies" / "kinematics.policy.xml"
RULES = {  # of sros2's schema: what may be said of each kind
    "topics": {"publish", "subscribe"},
    "services": {"reply", "request"},
    "actions": {"call", "execute"},
}
ROVER = """<robot name="rover"><link name="world"/><link name="base"/>
<joint name="root" type="floating"><parent link="world"/><child link="base"/></joint></robot>"""


def only_child(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    (child,) = element
    assert child.tag == tag
    return child


def profile() -> ElementTree.Element:
    """Give the one profile; fail where sros2's schema would."""
    policy = ElementTree.parse(POLICY).getroot()
    assert (policy.tag, policy.attrib) == ("policy", {"version": "0.2.0"})
    enclave = only_child(only_child(policy, "enclaves"), "enclave")
    assert set(enclave.attrib) == {"path"}
    found = only_child(only_child(enclave, "profiles"), "profile")
    assert set(found.attrib) == {"ns", "node"}
    for rule in found:
        assert rule.attrib and set(rule.attrib) <= RULES[rule.tag]
        assert set(rule.attrib.values()) <= {"ALLOW", "DENY"}
        assert len(rule) and all(item.tag == rule.tag[:-1] and item.text for item in rule)
    return found


def allowed(kind: str, how: str, namespace: str) -> set[str]:
    """Give the full names that are allowed to a node `kinematics` in a namespace."""
    names = [item.text for rule in profile().iterfind(kind) if rule.get(how) == "ALLOW" for item in rule]
    assert len(set(names)) == len(names)
    starts = {"~": f"{namespace}/kinematics", "/": "/"}
    return {starts.get(name[0], f"{namespace}/{name[0]}") + name[1:] for name in names}


def test_the_policy_has_the_form_that_sros2_reads_and_grants_no_more_than_a_server_needs() -> None:
    rules = [(rule.tag, *rule.attrib.items()) for rule in profile()]
    assert rules == [
        ("topics", ("subscribe", "ALLOW")),
        ("topics", ("publish", "ALLOW")),
        ("services", ("reply", "ALLOW")),
        ("actions", ("execute", "ALLOW")),
    ]


@pytest.mark.timeout(600)  # the first run builds messages
def test_the_policy_names_what_the_node_does_and_nothing_else(tmp_path: Path) -> None:
    environment = message_packages.environment("moveit_msgs", "tf2_msgs")
    everything = {
        "managed": True,
        "use_sim_time": True,
        "listen_to_tf": True,
        "publish_tf": True,
        "publish_twists": True,
        "publish_pose_array": True,
    }
    node = kinematics_node(tmp_path, "/policy", environment, robot_description=ROVER, **everything)
    actions = allowed("actions", "execute", "/policy")
    with node, Bench("/policy") as bench:
        for transition in ("configure", "activate"):
            request = ChangeState.Request()
            request.transition.label = transition
            assert bench.call(ChangeState, "kinematics/change_state", request).success, node.output

        def named(found: list[tuple[str, list[str]]]) -> set[str]:
            """Give names but for the parts of actions, of which there are five each."""
            names = {name for name, _ in found}
            parts = {name for name in names if name.partition("/_action/")[0] in actions and "/_action/" in name}
            return names - parts

        graph, who = bench.node, ("kinematics", "/policy")
        published = allowed("topics", "publish", "/policy")
        bench.wait_until(
            lambda: named(graph.get_publisher_names_and_types_by_node(*who)) >= published, "all that may be published"
        )
        bench.wait_until(
            lambda: "/policy/solve_fk" in {name for name, _ in graph.get_service_names_and_types()}, "services"
        )
        bench.spin_for(0.5)
        assert named(graph.get_publisher_names_and_types_by_node(*who)) == published
        assert named(graph.get_subscriber_names_and_types_by_node(*who)) == allowed("topics", "subscribe", "/policy")
        assert named(graph.get_service_names_and_types_by_node(*who)) == allowed("services", "reply", "/policy")
        services = {name for name, _ in graph.get_service_names_and_types() if name.startswith("/policy/")}
        servers = {name.partition("/_action/")[0] for name in services if "/_action/" in name}
        assert servers == actions
        assert not graph.get_client_names_and_types_by_node(*who)
