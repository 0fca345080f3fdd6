"""Inverse kinematics over nine robots, judged by Pinocchio, its cost counted in Pinocchio's calls; and against TRAC-IK.

    python benchmarks/ik.py [--targets 100000] [--robots panda ur5e ...] [--parts arms hands hard paths growth tracik peer]

Solutions count where Pinocchio puts the tip within the tolerances and all joints are inside their limits. The unit of cost is
one `pinocchio.forwardKinematics` of the joints on the path, called from Python, timed in turn with the solver; "wall" is as a
user waits, "CPU" adds up the time of all cores. Most robots are those of the corpus beside the repository (see test/corpus.py).
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import ik_peers
import numpy as np
import pinocchio
import torch
from ik_robots import HANDS, ROBOTS, Arm, Hands
from timing import medians, table

import pk_core as pk

LOOSE = pk.IKOptions(position_tolerance=1e-4, rotation_tolerance=1e-3)
TIGHT = pk.IKOptions(position_tolerance=1e-6, rotation_tolerance=1e-6)
NEAREST = pk.IKOptions(position_tolerance=1e-6, rotation_tolerance=1e-6, prefer="nearest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    print(
        f"{os.cpu_count()} CPUs, {torch.get_num_threads()} threads, torch {torch.__version__}, pinocchio {pinocchio.__version__}"
    )
    arms = [Arm.load(name) for name in arguments.robots]
    for part in arguments.parts:
        PARTS[part](arms, arguments.targets)


def reachable(arms: list[Arm], n: int) -> None:
    """Solve poses of uniform configurations at two tolerances, and poses out of reach."""
    header = ["", "1e-4/1e-3", "1e-6/1e-6", "outside limits", "unreachable solved", "iterations", "restarts",
              "calls a target: wall", "CPU", "one alone: wall", "CPU", "a call [us]"]  # fmt: skip
    rows = [[arm.name, *reachable_row(arm, n)] for arm in arms]
    table(f"{n} targets a robot; cost at 1e-4 m and 1e-3 rad in Pinocchio calls", header, rows)


def reachable_row(arm: Arm, n: int) -> list[str]:
    targets = arm.poses(arm.uniform(n))
    loose, tight = (pk.solve_ik(arm.chain, targets, options=options) for options in (LOOSE, TIGHT))
    beyond = pk.solve_ik(arm.chain, arm.out_of_reach(min(n, 1000)), options=LOOSE)
    q = np.concatenate([loose.best().numpy(), tight.best().numpy()])
    return [
        percent(solved(arm, loose, targets, LOOSE)),
        percent(solved(arm, tight, targets, TIGHT)),
        str((~arm.inside(q)).sum()),
        str(beyond.converged_any.sum().item()),
        f"{loose.iterations.double().mean():.1f}",
        f"{loose.restarts.double().mean():.2f}",
        *cost(arm, targets),
    ]


def solved(arm: Arm, result: pk.IKResult, targets: np.ndarray, options: pk.IKOptions) -> np.ndarray:
    """Say which targets Pinocchio finds solved inside the limits."""
    q = result.best().numpy()
    tolerances = [options.position_tolerance, options.rotation_tolerance]
    return (arm.errors(q, targets) <= tolerances).all(1) & arm.inside(q)


def cost(arm: Arm, targets: np.ndarray, seconds: float = 3.0) -> list[str]:
    """Give the cost of one of many targets, and of one alone, on the wall and in CPU time [Pinocchio calls]."""
    rows = torch.from_numpy(targets)
    many, one = rows[:20_000], rows[:1]
    calls = {
        "many": lambda: pk.solve_ik(arm.chain, many, options=LOOSE),
        "one": lambda: pk.solve_ik(arm.chain, one, options=LOOSE),
        "unit": arm.thousand_calls(),
    }
    cells = {}
    for clock in (time.perf_counter, time.process_time):
        t = medians(calls, seconds, clock=clock)
        unit = t["unit"] / 1000
        cells[clock] = f"{t['many'] / len(many) / unit:.1f}", f"{median_of_single(arm, rows, clock) / unit:.0f}", unit
    (wall, alone, unit), (cpu, alone_cpu, _) = cells.values()
    return [wall, cpu, alone, alone_cpu, f"{unit * 1e6:.2f}"]


def median_of_single(arm: Arm, targets: torch.Tensor, clock) -> float:
    """Give the median time of calls for one target each, 300 different ones."""
    times = []
    for row in targets[:300]:
        start = clock()
        pk.solve_ik(arm.chain, row, options=LOOSE)
        times.append(clock() - start)
    return float(np.median(times))


def hands(arms: list[Arm], n: int) -> None:
    """Solve poses of both hands at once."""
    n, rows = min(n, 10_000), []
    for robot in (Hands.load(arm.name) for arm in arms if arm.name in HANDS):
        targets, cells = robot.targets(robot.uniform(n)), []
        for options in (LOOSE, TIGHT):
            result = pk.solve_ik(robot.chain, targets, options=options)
            q, tolerances = result.best().numpy(), [options.position_tolerance, options.rotation_tolerance]
            good = [(robot.errors(q, T, tip) <= tolerances).all(1) for tip, T in targets.items()]
            cells += [percent(np.all(good, 0) & robot.inside(q)), str((~robot.inside(q)).sum())]
        calls = {
            "ik": lambda robot=robot, T=targets: pk.solve_ik(robot.chain, T, options=LOOSE),
            "unit": robot.thousand_calls(),
        }
        t = [medians(calls, 2.0, least=3, clock=clock) for clock in (time.perf_counter, time.process_time)]
        rows.append([robot.name, *cells, *(f"{x['ik'] / n / x['unit'] * 1000:.0f}" for x in t)])
    header = ["", "1e-4/1e-3", "outside limits", "1e-6/1e-6", "outside limits", "calls a target: wall", "CPU"]
    table(f"{n} targets for both hands at once", header, rows)


def hard(arms: list[Arm], n: int) -> None:
    """Solve poses of configurations near singular ones and near the limits."""
    n = min(n, 10_000)
    rows = []
    for arm in arms:
        cells = [arm.name]
        for q in (arm.near_singular(n), arm.near_limits(n)):
            targets = arm.poses(q)
            for options in (LOOSE, TIGHT):
                cells.append(percent(solved(arm, pk.solve_ik(arm.chain, targets, options=options), targets, options)))
        rows.append(cells)
    header = ["", "singular 1e-4/1e-3", "1e-6/1e-6", "limits 1e-4/1e-3", "1e-6/1e-6"]
    table(f"{n} targets near singular configurations, and with half of the joints near a limit", header, rows)


def paths(arms: list[Arm], n: int) -> None:
    """Follow a smooth curve of 1000 poses, each solved nearest to a seed."""
    rows = []
    for arm in arms:
        q = arm.path(1000)
        cells = [f"{jump:.3f} ({found})" for jump, found in (follow(arm, q, ahead) for ahead in (0.0, 1.0))]
        rows.append([arm.name, *cells, f"{np.abs(np.diff(q, axis=0)).max():.3f}"])
    header = ["", "seed: the solution before", "one step ahead of it", "on the curve itself"]
    table(
        'a path of 1000 poses at 1e-6/1e-6, prefer="nearest": largest change of a joint [rad, m] (solved)', header, rows
    )


def follow(arm: Arm, q: np.ndarray, ahead: float) -> tuple[float, int]:
    """Give the largest change of a joint between solutions, and how many were solved.

    Args:
        ahead: how many of the last steps are added to the solution before to make the seed. Where two branches of solutions
            all but meet, only the direction of motion tells them apart.
    """
    x, step, jump, found = q[0], np.zeros_like(q[0]), 0.0, 0
    for target in torch.from_numpy(arm.poses(q)):
        seed = np.clip(x + ahead * step, arm.chain.low.numpy(), arm.chain.high.numpy())
        result = pk.solve_ik(arm.chain, target, seeds=seed, options=NEAREST)
        step = result.best().numpy()[0] - x
        x, jump, found = x + step, max(jump, np.abs(step).max()), found + int(result.converged_any)
    return jump, found


def growth(arms: list[Arm], n: int) -> None:
    """Solve more and more targets in one call, up to ten times as many as asked for: time a target and memory."""
    arm = arms[0]
    rows = []
    for count in [1, 100, 10_000, n, 10 * n]:
        targets = arm.chain.forward_kinematics(torch.from_numpy(arm.uniform(count))).get_matrix()
        t = medians({"ik": lambda: pk.solve_ik(arm.chain, targets), "unit": arm.thousand_calls()}, 1.0, least=1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append([str(count), f"{t['ik'] / count / t['unit'] * 1000:.1f}", f"{peak:.0f}"])
    table(f"{arm.name}: growth", ["targets", "calls a target", "peak memory of the process [MB]"], rows)


def percent(good: np.ndarray) -> str:
    return f"{100 * good.mean():.3f} %"


PARTS = {
    "arms": reachable,
    "hands": hands,
    "hard": hard,
    "paths": paths,
    "growth": growth,
    "tracik": ik_peers.against_trac_ik,
    "peer": ik_peers.against_pytorch_kinematics,
}


if __name__ == "__main__":
    main()
