"""The same targets to other solvers, in turn with ours in one process: TRAC-IK and pytorch_kinematics."""

from __future__ import annotations

import importlib.util

import numpy as np
import pinocchio
import pytorch_kinematics as peer
import torch
from ik_robots import Arm
from timing import medians, table

import pk_core as pk


def against_trac_ik(arms: list[Arm], n: int, tolerance: float = 1e-5) -> None:
    """Solve by TRAC-IK (pytracik) with a random seed and 50 ms for each target, as its authors measure it."""
    if importlib.util.find_spec("pytracik") is None:
        print("\nagainst TRAC-IK: not measured, for pytracik is not installed (requirements/tracik.txt)")
        return
    import pytracik

    n, rows = min(n, 1000), []
    options = pk.IKOptions(position_tolerance=tolerance, rotation_tolerance=tolerance)
    for arm in arms:
        root = arm.root or arm.chain.root_frame
        solver = pytracik.TRAC_IK(root, arm.tips[0], arm.urdf.decode(), 0.05, tolerance, pytracik.SolveType.Speed)
        q, seeds = arm.uniform(n), arm.uniform(n, seed=1)
        targets = arm.poses(q)
        calls = {
            "pk": lambda: pk.solve_ik(arm.chain, targets, options=options),
            "tracik": lambda: trac_ik(solver, targets, seeds),
        }
        t = medians(calls, 1.0, least=3)
        ours, theirs = pk.solve_ik(arm.chain, targets, options=options).best().numpy(), trac_ik(solver, targets, seeds)
        shares = [share_solved(arm, x, targets, tolerance) for x in (theirs, ours)]
        rows.append([arm.name, *shares, f"{t['tracik'] / n * 1e6:.0f}", f"{t['tracik'] / t['pk']:.0f}"])
    header = ["", "TRAC-IK solved", "pk solved", "TRAC-IK [us a target]", "pk is so many times as fast"]
    table(f"against TRAC-IK, {n} targets, {tolerance:g} m and rad", header, rows)


def trac_ik(solver: object, targets: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Solve targets one by one, (n, nq); NaN where there is no solution."""
    import pytracik

    solutions = np.full(seeds.shape, np.nan)
    for i, T in enumerate(targets):
        xyzw = pinocchio.Quaternion(T[:3, :3]).coeffs()
        answer = pytracik.ik(solver, seeds[i], *T[:3, 3], *xyzw)
        if answer[0] >= 0:
            solutions[i] = answer[1:]
    return solutions


def share_solved(arm: Arm, q: np.ndarray, targets: np.ndarray, tolerance: float) -> str:
    """Judge by Pinocchio; TRAC-IK's tolerance is one of each component, so a tenth more than its norm passes."""
    found = ~np.isnan(q).any(1)
    errors = np.full((len(q), 2), np.inf)
    errors[found] = arm.errors(q[found], targets[found])
    good = (errors <= 1.1 * np.sqrt(3) * tolerance).all(1) & arm.inside(np.where(found[:, None], q, 0.0))
    return f"{100 * good.mean():.1f} %"


def against_pytorch_kinematics(arms: list[Arm], n: int, retries: int = 10) -> None:
    """Solve by its PseudoInverseIK: 1000 targets, its default tolerances 1e-3 m and 1e-2 rad."""
    n, rows = min(n, 1000), []
    options = pk.IKOptions(position_tolerance=1e-3, rotation_tolerance=1e-2)
    for arm in arms:
        chain = peer.build_serial_chain_from_urdf(arm.urdf, arm.tips[0], arm.root).to(dtype=torch.float64)
        goal = torch.from_numpy(arm.poses(arm.uniform(n)))
        limits = torch.tensor(np.stack(arm.span, 1))
        settings = dict(num_retries=retries, joint_limits=limits, max_iterations=100, early_stopping_any_converged=True)
        theirs, ours = (
            module.PseudoInverseIK(x, **settings, early_stopping_no_improvement="all")
            for module, x in ((peer, chain), (pk, arm.chain))
        )
        calls = {
            "peer": lambda: theirs.solve(peer.Transform3d(matrix=goal)),
            "class": lambda: ours.solve(pk.Transform3d(matrix=goal)),
            "pk": lambda: pk.solve_ik(arm.chain, goal, options=options),
        }
        t = medians(calls, 1.0, least=3)
        shares = [f"{100 * call().converged_any.double().mean():.1f} %" for call in calls.values()]
        rows.append([arm.name, *shares, f"{t['peer'] / t['class']:.0f}", f"{t['peer'] / t['pk']:.0f}"])
    header = [
        "",
        "solved by pytorch_kinematics",
        "pk.PseudoInverseIK",
        "pk.solve_ik",
        "times as fast: the class",
        "solve_ik",
    ]
    table(f"against pytorch_kinematics' PseudoInverseIK, {n} targets, {retries} retries", header, rows)
