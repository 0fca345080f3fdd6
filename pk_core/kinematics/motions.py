"""The elementary motions that carry a frame: what the velocity-level functions go along."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ..tree import AXIS, FIXED, FREE, KIND, MULTIPLIER, SCALAR, SLIDE, TURN, V_COLUMN
from .tensors import TreeTensors


@dataclass(frozen=True, eq=False)
class Motions:
    """The motions on the way from the root to one frame, in that order; n of them.

    A scalar node makes one, a ball three turns about its own axes, a free node three slides along its own axes and then three
    turns about them. So each is `turn` radians about and `slide` metres along an axis of its node, for one unit of velocity.

    Attributes:
        tree: the way, whose frames are the node of each motion and then that of the frame itself.
        nodes: (n,) the node of each motion.
        columns: (n,) its column in velocities.
        last: (n,) the last motion of the same node.
        own: (2, n, 3) turns and slides of the motions of balls and free nodes; zero for scalar ones.
    """

    tree: TreeTensors
    nodes: Tensor
    columns: Tensor
    last: Tensor
    own: Tensor

    @staticmethod
    def make(tree: TreeTensors) -> Motions:
        """List the motions of a tree that ends at one frame."""
        nodes, columns, last, own = [], [], [], []
        for node, row in enumerate(tree.layout):
            parts = _parts(row[KIND])
            last += [len(nodes) + len(parts) - 1] * len(parts)
            nodes += [node] * len(parts)
            columns += [row[V_COLUMN] + k for k in range(len(parts))]
            own += parts
        frames = [*nodes, tree.frame_nodes[0]]
        names = tuple(f"#{k}" for k in range(len(frames)))
        source = replace(tree.tree, frame_names=names, frame_nodes=np.array(frames, dtype=np.int64))
        with torch.inference_mode(False):  # what is made there can't take part in a backward pass
            return Motions(
                replace(tree, tree=source, frame_nodes=frames),
                *(
                    torch.tensor(indices, dtype=torch.long, device=tree.constants.device)
                    for indices in (nodes, columns, last)
                ),
                torch.tensor(own, dtype=tree.constants.dtype, device=tree.constants.device)
                .reshape(len(own), 2, 3)
                .movedim(1, 0),
            )

    def local(self) -> tuple[Tensor, Tensor]:
        """Give the turn and the slide of each motion for one unit of velocity, in the axes of its node: (*batch, n, 3)."""
        c = self.tree.constants.index_select(-2, self.nodes)
        axis = c[..., MULTIPLIER, None] * c[..., AXIS : AXIS + 3]
        turn, slide = self.own  # balls and free nodes have neither as a constant: theirs add to zero
        return c[..., TURN, None] * axis + turn, c[..., SLIDE, None] * axis + slide


def _parts(kind: int) -> list[list[list[float]]]:
    """List the turn and the slide of the motions of a node that its constants don't say."""
    zero = [0.0, 0.0, 0.0]
    axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    turns = [[axis, zero] for axis in axes]
    if kind == FIXED:
        return []
    if kind == SCALAR:
        return [[zero, zero]]
    return [[zero, axis] for axis in axes] + turns if kind == FREE else turns
