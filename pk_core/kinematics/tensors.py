"""A `Tree` on a device, in a dtype: the frozen record that every function of this floor takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..tree import Tree


@dataclass(frozen=True, eq=False)
class TreeTensors:
    """The constants of a tree as a tensor; its layout as integers.

    Attributes:
        tree: the float64 source.
        constants: (n_nodes, 19) on the device, in the dtype of the chain.
        constants_numpy: the same memory as the CPU kernels take it, None on other devices.
        layout, frame_nodes: those of the tree as plain integers: torch.compile unrolls a loop over them.
    """

    tree: Tree
    constants: torch.Tensor
    constants_numpy: np.ndarray | None
    layout: list[list[int]]
    frame_nodes: list[int]

    @staticmethod
    def make(tree: Tree, dtype: torch.dtype, device: torch.device) -> TreeTensors:
        """Round the float64 constants of a tree once, to this dtype."""
        constants = torch.from_numpy(tree.constants).to(device=device, dtype=dtype)
        in_kernels = device.type == "cpu" and dtype in (torch.float32, torch.float64)
        array = constants.numpy() if in_kernels else None
        return TreeTensors(tree, constants, array, tree.layout.tolist(), tree.frame_nodes.tolist())

    def pruned(self, frame_names: tuple[str, ...]) -> TreeTensors:
        """Keep only the nodes that move these frames."""
        return TreeTensors.make(self.tree.pruned(frame_names), self.constants.dtype, self.constants.device)

    @property
    def nq(self) -> int:
        """Number of columns of q."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.tree.nv
