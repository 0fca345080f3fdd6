"""Ratios of pk against pytorch_kinematics, Pinocchio and a copy of the output in memory, from one run; `ik.py` has more of IK.

    python benchmarks/kinematics.py [--robots iiwa humanoid chain100] [--batches 1 64 1024 16384 131072]
                                    [--dtypes float32 float64] [--parts robots growth ik]

All takes half an hour; each option takes a part of it. Times are medians of calls made in turn in this process, short ones
several in a row; before anything is timed the outputs are checked to be equal.
The peer is timed in its eager mode and under torch.compile, and the better of the two counts.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import pinocchio
import pytorch_kinematics as peer
import torch
from ik_peers import against_pytorch_kinematics
from ik_robots import Arm
from robots import USUAL, urdf_of
from timing import medians, table

import pk_core as pk

SECONDS = 2.0  # of measuring a row
MOST = 1 << 30  # [bytes] of poses: the peer's gradient takes some twenty times as much
COMPILED_UP_TO = 16  # joints: Inductor takes minutes for the peer's loop over more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=USUAL, help="or ur5e, chain<N>")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64, 1024, 16384, 131072])
    parser.add_argument("--dtypes", nargs="+", choices=["float32", "float64"], default=["float32", "float64"])
    parser.add_argument("--parts", nargs="+", choices=["robots", "growth", "ik"], default=["robots", "growth", "ik"])
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, torch {torch.__version__}, {torch.get_num_threads()} threads")
    if "robots" in arguments.parts:
        for dtype in arguments.dtypes:
            for robot in arguments.robots:
                forward_kinematics(robot, getattr(torch, dtype), arguments.batches)
    if "growth" in arguments.parts:
        growth(torch.float32)
    if "ik" in arguments.parts:
        against_pytorch_kinematics([Arm.load(name) for name in ("panda", "ur5e")], 1000)


def forward_kinematics(robot: str, dtype: torch.dtype, batches: list[int]) -> None:
    """Compare FK of all links, FK with its gradient, and the Jacobian of one; and FK with a copy of its output."""
    urdf, frame = urdf_of(robot)
    ours, theirs = pk.build_chain_from_urdf(urdf, dtype=dtype), peer.build_chain_from_urdf(urdf).to(dtype=dtype)
    arm, their_arm = pk.SerialChain(ours, frame), peer.SerialChain(theirs, frame, dtype=dtype)
    compiled = None
    if len(theirs.get_joints()) <= COMPILED_UP_TO:
        compiled = torch.compile(theirs.forward_kinematics_tensor, dynamic=False)
    calls_of_pinocchio = pinocchio_calls(urdf, frame)
    pk.warmup(ours)
    rows, links = [], len(ours.get_frame_names())
    for n in batches:
        if n * links * 16 * dtype.itemsize > MOST:
            print(f"{robot}, {dtype}: {n} configurations are left out, their poses take more than {MOST >> 20} MB")
            continue
        q, q_arm = ours.random(n), arm.random(n)
        check_equal(ours, theirs, q, arm, their_arm, q_arm)
        rows.append(
            [
                str(n),
                *compare_forward(ours, theirs, compiled, q, calls_of_pinocchio[0]),
                *compare_gradient(ours, theirs, q),
                *compare_jacobian(arm, their_arm, q_arm, calls_of_pinocchio[1]),
            ]
        )
    table(
        f"{robot}, {ours.n_joints} joints, {links} links, {dtype}: times as fast as pytorch_kinematics and as Pinocchio",
        [
            "batch",
            "FK [us]",
            "eager",
            "compiled",
            "Pinocchio",
            "FK/copy",
            "FK+grad [us]",
            "peer",
            "J [us]",
            "peer",
            "Pinocchio",
        ],
        rows,
    )


def compare_forward(
    ours: pk.Chain, theirs: peer.Chain, compiled: Callable | None, q: torch.Tensor, call: Callable
) -> list[str]:
    poses = ours.forward_kinematics_tensor(q)
    there = torch.empty_like(poses)
    calls = {
        "pk": lambda: ours.forward_kinematics_tensor(q),
        "eager": lambda: theirs.forward_kinematics_tensor(q),
        "copy": lambda: there.copy_(poses),
        "pinocchio": call,
    }
    if compiled is not None:
        calls["compiled"] = lambda: compiled(q)
    t = medians(calls, SECONDS)
    ratios = (t["eager"] / t["pk"], t.get("compiled", float("nan")) / t["pk"], t["pinocchio"] * len(q) / 1000 / t["pk"])
    return [f"{t['pk'] * 1e6:.0f}", *(f"{ratio:.1f}" for ratio in (*ratios, t["pk"] / t["copy"]))]


def compare_gradient(ours: pk.Chain, theirs: peer.Chain, q: torch.Tensor) -> list[str]:
    gradient = torch.randn_like(ours.forward_kinematics_tensor(q))
    calls = {
        name: lambda chain=chain: with_gradient(chain, q, gradient) for name, chain in (("pk", ours), ("peer", theirs))
    }
    t = medians(calls, SECONDS)
    return [f"{t['pk'] * 1e6:.0f}", f"{t['peer'] / t['pk']:.1f}"]


def compare_jacobian(arm: pk.SerialChain, theirs: peer.SerialChain, q: torch.Tensor, call: Callable) -> list[str]:
    t = medians({"pk": lambda: arm.jacobian(q), "peer": lambda: theirs.jacobian(q), "pinocchio": call}, SECONDS)
    pinocchio_time = t["pinocchio"] * len(q) / 1000
    return [f"{t['pk'] * 1e6:.0f}", f"{t['peer'] / t['pk']:.1f}", f"{pinocchio_time / t['pk']:.1f}"]


def growth(dtype: torch.dtype) -> None:
    """Print how the cost of a link and a configuration goes with the number of links and of configurations."""
    batches = [1, 16, 256, 4096, 65536]
    rows = []
    for n_links in (3, 10, 30, 100, 300):
        chain = pk.build_chain_from_urdf(urdf_of(f"chain{n_links}")[0], dtype=dtype)
        configurations = [chain.random(min(n, 4_000_000 // n_links)) for n in batches]
        calls = {str(len(q)): lambda q=q: chain.forward_kinematics_tensor(q) for q in configurations}
        t = medians(calls, SECONDS)
        cost = [t[str(len(q))] / len(q) / (n_links + 1) * 1e9 for q in configurations]
        rows.append([str(n_links), *(f"{nanoseconds:.1f}" for nanoseconds in cost)])
    table(f"cost of a link of a configuration [ns], {dtype}, by links and batch", ["links", *map(str, batches)], rows)


def pinocchio_calls(urdf: bytes, frame: str) -> tuple[Callable, Callable]:
    """Give a thousand calls of Pinocchio's FK of all frames, and of its Jacobian of one."""
    model = pinocchio.buildModelFromXML(urdf.decode())
    data, q, index = model.createData(), pinocchio.neutral(model), model.getFrameId(frame)

    def fk() -> None:
        for _ in range(1000):
            pinocchio.framesForwardKinematics(model, data, q)

    def jacobian() -> None:
        for _ in range(1000):
            pinocchio.computeFrameJacobian(model, data, q, index, pinocchio.LOCAL_WORLD_ALIGNED)

    return fk, jacobian


def check_equal(
    ours: pk.Chain,
    theirs: peer.Chain,
    q: torch.Tensor,
    arm: pk.SerialChain,
    their_arm: peer.SerialChain,
    q_arm: torch.Tensor,
) -> None:
    """Hold both to the same joint order, poses and Jacobian before anything is timed."""
    assert ours.get_joint_parameter_names() == theirs.get_joint_parameter_names()
    a, b = ours.forward_kinematics(q), theirs.forward_kinematics(q)
    for name in ours.get_link_names():
        torch.testing.assert_close(a[name].get_matrix(), b[name].get_matrix(), rtol=0, atol=2e-5)
    torch.testing.assert_close(arm.jacobian(q_arm), their_arm.jacobian(q_arm), rtol=0, atol=2e-5)


def with_gradient(chain: pk.Chain | peer.Chain, q: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    q = q.detach().requires_grad_()
    chain.forward_kinematics_tensor(q).backward(gradient)
    return q.grad


if __name__ == "__main__":
    main()
