"""Ratios of pk against pytorch_kinematics, Pinocchio and a plain copy of the output, from one run.

    python benchmarks/kinematics.py [--robot panda|ur5e] [--batches 1 1024 131072] [--dtype float32|float64]

Times are medians of calls made in turn in this process; before anything is timed the outputs are checked to be equal.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pinocchio
import pytorch_kinematics as peer
import torch
from timing import medians, table

import pk_core as pk

ROBOTS = Path(__file__).parents[1] / "config" / "robots"
TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", choices=TIPS, default="panda")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 1024, 131072])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--targets", type=int, default=10_000, help="of inverse kinematics")
    arguments = parser.parse_args()
    urdf, tip = (ROBOTS / f"{arguments.robot}.urdf").read_bytes(), TIPS[arguments.robot]
    dtype = getattr(torch, arguments.dtype)
    ours = pk.build_serial_chain_from_urdf(urdf, tip, dtype=dtype)
    theirs = peer.build_serial_chain_from_urdf(urdf, tip).to(dtype=dtype)
    pk.warmup(ours)
    print(
        f"{arguments.robot}, {arguments.dtype}, {os.cpu_count()} CPUs, torch {torch.__version__}, {torch.get_num_threads()} threads"
    )
    kinematics(ours, theirs, arguments.batches)
    inverse_kinematics(urdf, tip, arguments.targets)
    against_the_peer(ours, theirs)


def kinematics(ours: pk.SerialChain, theirs: peer.SerialChain, batches: list[int]) -> None:
    """Compare FK of all links, FK with its gradient, and the Jacobian; and FK with a copy of its output."""
    rows = [[str(n), *compare(ours, theirs, ours.random(n))] for n in batches]
    header = ["batch", "FK [us]", "peer/pk FK", "FK/copy", "peer/pk FK+backward", "peer/pk Jacobian"]
    table(
        "forward kinematics of all links, against pytorch_kinematics (eager, its fastest mode without a compiler)",
        header,
        rows,
    )


def compare(ours: pk.SerialChain, theirs: peer.SerialChain, q: torch.Tensor) -> list[str]:
    """Time one batch; give the cells of its row."""
    check_equal(ours, theirs, q)
    poses = ours.forward_kinematics_tensor(q)
    gradient = torch.randn_like(poses)
    calls = {
        "fk": lambda: ours.forward_kinematics_tensor(q),
        "fk peer": lambda: theirs.forward_kinematics_tensor(q),
        "copy": lambda: poses.clone(),
        "grad": lambda: with_gradient(ours, q, gradient),
        "grad peer": lambda: with_gradient(theirs, q, gradient),
        "jac": lambda: ours.jacobian(q),
        "jac peer": lambda: theirs.jacobian(q),
    }
    t = medians(calls, seconds=3.0)
    ratios = [t["fk peer"] / t["fk"], t["fk"] / t["copy"], t["grad peer"] / t["grad"], t["jac peer"] / t["jac"]]
    return [f"{t['fk'] * 1e6:.0f}", *(f"{ratio:.1f}" for ratio in ratios)]


def check_equal(ours: pk.SerialChain, theirs: peer.SerialChain, q: torch.Tensor) -> None:
    a, b = ours.forward_kinematics(q).get_matrix(), theirs.forward_kinematics(q).get_matrix()
    torch.testing.assert_close(a, b, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours.jacobian(q), theirs.jacobian(q), rtol=0, atol=1e-5)


def with_gradient(chain: pk.SerialChain | peer.SerialChain, q: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    q = q.detach().requires_grad_()
    chain.forward_kinematics_tensor(q).backward(gradient)
    return q.grad


def inverse_kinematics(urdf: bytes, tip: str, n: int) -> None:
    """Solve reachable targets; the cost of one is counted in calls of Pinocchio's forwardKinematics."""
    arm = pk.build_serial_chain_from_urdf(urdf, tip, dtype=torch.float64)
    model = pinocchio.buildModelFromXML(urdf.decode())
    data, q0 = model.createData(), pinocchio.randomConfiguration(model)
    targets = arm.forward_kinematics(arm.random(n)).get_matrix()

    def thousand_calls() -> None:
        for _ in range(1000):
            pinocchio.forwardKinematics(model, data, q0)

    t = medians({"ik": lambda: pk.solve_ik(arm, targets), "fk": thousand_calls}, 5.0)
    t |= medians({"one": lambda: pk.solve_ik(arm, targets[0])}, 2.0)
    result = pk.solve_ik(arm, targets)
    good = judged_by_pinocchio(model, tip, result.best().numpy(), targets.numpy(), arm)
    call = t["fk"] / 1000
    row = [
        str(n),
        f"{100 * good:.2f} %",
        f"{t['ik'] / n * 1e6:.1f}",
        f"{t['ik'] / n / call:.1f}",
        f"{t['one'] / call:.0f}",
        f"{call * 1e6:.2f}",
    ]
    header = ["targets", "solved", "us a target", "= Pinocchio FK calls", "one target alone, calls", "a call [us]"]
    table("inverse kinematics, 1e-4 m and 1e-3 rad, solved as Pinocchio judges, inside the limits", header, [row])


def judged_by_pinocchio(
    model: pinocchio.Model, tip: str, q: np.ndarray, targets: np.ndarray, arm: pk.SerialChain
) -> float:
    """Give the share of solutions (n, nq) that meet their targets inside the limits."""
    data, frame, good = model.createData(), model.getFrameId(tip), 0
    low, high = (np.array(bound) for bound in arm.get_joint_limits())
    for x, T in zip(q, targets):
        pinocchio.framesForwardKinematics(model, data, np.concatenate([x, np.zeros(model.nq - len(x))]))
        pose = data.oMf[frame]
        near = np.linalg.norm(pose.translation - T[:3, 3]) <= 1e-4
        good += (
            near
            and np.linalg.norm(pinocchio.log3(pose.rotation.T @ T[:3, :3])) <= 1e-3
            and bool(((x >= low) & (x <= high)).all())
        )
    return good / len(q)


def against_the_peer(ours: pk.SerialChain, theirs: peer.SerialChain, n: int = 1000, retries: int = 10) -> None:
    """Solve the same targets by the same class of both: pytorch_kinematics at its default tolerances, 1e-3 m and 1e-2 rad."""
    goal = ours.forward_kinematics(ours.random(n)).get_matrix()
    limits = torch.tensor(ours.get_joint_limits(), dtype=ours.dtype).T
    settings = dict(num_retries=retries, joint_limits=limits, max_iterations=100, early_stopping_any_converged=True)
    theirs_ik = peer.PseudoInverseIK(theirs, **settings, early_stopping_no_improvement="all")
    ours_ik = pk.PseudoInverseIK(ours, **settings, early_stopping_no_improvement="all")
    options = pk.IKOptions(position_tolerance=1e-3, rotation_tolerance=1e-2)
    peer_goal, our_goal = peer.Transform3d(matrix=goal), pk.Transform3d(matrix=goal)
    t = medians(
        {
            "peer": lambda: theirs_ik.solve(peer_goal),
            "class": lambda: ours_ik.solve(our_goal),
            "pk": lambda: pk.solve_ik(ours, goal, options=options),
        },
        least=3,
    )
    solved = [
        x.converged_any.double().mean().item()
        for x in (theirs_ik.solve(peer_goal), ours_ik.solve(our_goal), pk.solve_ik(ours, goal, options=options))
    ]
    rows = [
        [name, f"{100 * share:.1f} %", f"{t[key] / n * 1e6:.1f}", f"{t['peer'] / t[key]:.1f}"]
        for name, key, share in zip(
            ("pytorch_kinematics.PseudoInverseIK", "pk.PseudoInverseIK", "pk.solve_ik"), t, solved, strict=False
        )
    ]
    table(
        f"inverse kinematics of {n} targets, {retries} retries, 1e-3 m and 1e-2 rad",
        ["", "solved", "us a target", "times as fast"],
        rows,
    )


if __name__ == "__main__":
    main()
