"""A `Tree` on a device, in a dtype: the frozen record that every function of this floor takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from ..tree import Tree


@dataclass(frozen=True, eq=False)
class TreeTensors:
    """The constants of a tree as a tensor; its layout as integers.

    Attributes:
        tree: the float64 source.
        constants: (n_nodes, 19) on the device, in the dtype of the chain.
    """

    tree: Tree
    constants: torch.Tensor

    @staticmethod
    def make(tree: Tree, dtype: torch.dtype, device: torch.device) -> TreeTensors:
        """Round the float64 constants of a tree once, to this dtype."""
        return TreeTensors(tree, torch.as_tensor(tree.constants).to(device=device, dtype=dtype))

    def pruned(self, frame_names: tuple[str, ...]) -> TreeTensors:
        """Keep only the nodes that move these frames."""
        return TreeTensors.make(self.tree.pruned(frame_names), self.constants.dtype, self.constants.device)

    def with_constants(self, constants: torch.Tensor) -> TreeTensors:
        """Give the same tree with other constants."""
        return replace(self, constants=constants)

    @property
    def nq(self) -> int:
        """Number of columns of q."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.tree.nv

    @cached_property
    def layout(self) -> list[list[int]]:
        """Rows of `Tree.layout` as plain integers: torch.compile unrolls a loop over them."""
        return self.tree.layout.tolist()

    @cached_property
    def frame_nodes(self) -> list[int]:
        """The node of each frame."""
        return self.tree.frame_nodes.tolist()

    @cached_property
    def constants_numpy(self) -> np.ndarray:
        """The constants as the CPU kernels take them, sharing memory."""
        return self.constants.detach().numpy()
