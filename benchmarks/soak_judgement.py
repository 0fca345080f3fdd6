"""What `soak.py` takes for a fault: what a process holds grew, or joint_states stayed without poses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

MOST_GROWTH = {"memory": 16.0, "threads": 2, "files": 0}  # allocators keep some, pools make threads when they need them
LEAST_SAMPLES = 8


@dataclass(frozen=True)
class Usage:
    """What a process holds."""

    memory: float  # [MB]
    threads: int
    files: int

    @staticmethod
    def of(pid: int) -> Usage:
        """Read it from /proc."""
        process = Path(f"/proc/{pid}")
        pages = int((process / "statm").read_text().split()[1])
        return Usage(
            memory=pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            threads=len(os.listdir(process / "task")),
            files=len(os.listdir(process / "fd")),
        )


def growth(samples: Sequence[Usage]) -> list[str]:
    """Compare the second quarter of the time with the last: say what grew."""
    if len(samples) < LEAST_SAMPLES:
        return [f"{len(samples)} samples tell nothing: at least {LEAST_SAMPLES} are needed"]
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    found = []
    for name, most in MOST_GROWTH.items():
        before, after = (median(getattr(sample, name) for sample in part) for part in (early, late))
        print(f"{name}: {before:g} -> {after:g}")
        if after > before + most:
            found.append(f"{name} grew from {before:g} to {after:g}")
    return found


def losses(lost: int, sent: int, most: float) -> list[str]:
    """Say so if more than a share of the joint_states that were sent stayed without poses."""
    return [f"{lost} of {sent} joint_states without poses"] if lost > most * sent or not sent else []


def load(requests: int, refused: int, problem: str) -> list[str]:
    """Say so if the load was none, or ended early."""
    idle = [] if requests and refused else [f"{requests} requests were answered and {refused} refused"]
    return idle + ([problem] if problem else [])
