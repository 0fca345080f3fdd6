"""A `Tree` on a device, in a dtype: the frozen record that every function of this floor takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from ..errors import UnsupportedError
from ..tree import BALL, FREE, KIND, PARENT, Tree


@dataclass(frozen=True, eq=False)
class TreeTensors:
    """The constants of a tree as a tensor; its layout as integers.

    Attributes:
        tree: the float64 source.
        constants: (n_nodes, 19) or, with parameters of their own for each row, (*batch, n_nodes, 19); on the device, in the
            dtype of the chain.
        parametrised: the constants are computed from model parameters, which gradients may have to reach.
        layout, frame_nodes: those of the tree as plain integers: torch.compile unrolls a loop over them.
        operator: what `operators` call it; None: it has no name yet; empty: it was pruned and can't have one while compiling.
    """

    tree: Tree
    constants: torch.Tensor
    parametrised: bool
    layout: list[list[int]]
    frame_nodes: list[int]
    operator: str | None = None

    @staticmethod
    def make(tree: Tree, dtype: torch.dtype, device: torch.device) -> TreeTensors:
        """Round the float64 constants of a tree once, to this dtype."""
        constants = torch.from_numpy(tree.constants).to(device=device, dtype=dtype)
        return TreeTensors(tree, constants, False, tree.layout.tolist(), tree.frame_nodes.tolist())

    def with_constants(self, constants: torch.Tensor) -> TreeTensors:
        """Put other constants in place of these."""
        return replace(self, constants=constants, parametrised=True, operator=None)

    def pruned(self, frame_names: tuple[str, ...]) -> TreeTensors:
        """Keep only the nodes that move these frames; columns of q stay where they are.

        It works on plain integers, so that torch.compile can trace it where gradients have to reach the constants.
        """
        node_of = dict(zip(self.tree.frame_names, self.frame_nodes))
        ends = [node_of[name] for name in frame_names]
        nodes = self._ancestors(ends)
        new_index = {node: i for i, node in enumerate(nodes)} | {-1: -1}
        layout = [[new_index[parent], *rest] for parent, *rest in (self.layout[node] for node in nodes)]
        frame_nodes = [new_index[node] for node in ends]
        with torch.inference_mode(False):  # what is made there can't take part in a backward pass
            constants = self.constants[..., nodes, :]
        tree = self._source(nodes, layout, frame_names, frame_nodes)
        return TreeTensors(tree, constants, self.parametrised, layout, frame_nodes, operator="")

    def _source(
        self, nodes: list[int], layout: list[list[int]], frame_names: tuple[str, ...], frame_nodes: list[int]
    ) -> Tree:
        """Give the arrays of the pruned tree, for kernels."""
        if torch.compiler.is_dynamo_compiling():
            return self.tree  # no kernel runs there, and torch.compile takes arrays of numpy for tensors
        return replace(
            self.tree,
            layout=np.array(layout, dtype=np.int64),
            constants=self.tree.constants[nodes],
            sources=tuple(self.tree.sources[node] for node in nodes),
            frame_names=frame_names,
            frame_nodes=np.array(frame_nodes, dtype=np.int64),
        )

    def _ancestors(self, ends: list[int]) -> list[int]:
        """List the nodes on the ways from the root to these, parents first."""
        keep = set()
        for node in ends:
            while node >= 0 and node not in keep:
                keep.add(node)
                node = self.layout[node][PARENT]
        return sorted(keep)

    @cached_property
    def constants_numpy(self) -> np.ndarray:
        """The constants (1, n_nodes, 19) as the CPU kernels take them.

        A copy, for torch may move a tensor's memory, as DataLoader does.
        """
        return self.constants.numpy(force=True).copy()[None]

    @cached_property
    def rare(self) -> int | None:
        """None where kernels may do without the code for balls, free nodes and rows with arms of their own."""
        return 1 if self.constants.dim() > 2 or any(row[KIND] in (BALL, FREE) for row in self.layout) else None

    @cached_property
    def layout_tensor(self) -> torch.Tensor:
        """The layout (n_nodes, 4) on the device, for kernels there."""
        return torch.from_numpy(self.tree.layout).to(self.constants.device)

    @cached_property
    def frame_nodes_tensor(self) -> torch.Tensor:
        """The nodes of the frames (n_frames,) on the device, for kernels there."""
        return torch.from_numpy(self.tree.frame_nodes).to(self.constants.device)

    @cached_property
    def numeric_tree(self) -> Tree:
        """The tree with the constants that hold now, float64, for what takes no gradients.

        Raises:
            UnsupportedError: each row has parameters of its own.
        """
        if not self.parametrised:
            return self.tree
        if self.constants.dim() > 2:
            raise UnsupportedError("inverse kinematics of several arms at once is not supported: solve for each alone")
        return replace(self.tree, constants=self.constants.detach().double().cpu().numpy().copy())

    @property
    def nq(self) -> int:
        """Number of columns of q."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.tree.nv
