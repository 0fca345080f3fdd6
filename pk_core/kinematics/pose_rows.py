"""Poses between component-major scratch, `pose[component, lane]`, and rows of 4x4 matrices.

LLVM writes and reads numbers that stand sixteen apart one by one, which took longer than to compute them. So eight lanes at a
time are transposed in registers; `_write_one` and `read_one` are the definitions, and what the rest of a batch goes through.
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.extending import intrinsic

from .compilation import jit

WIDTH = 8
_SIMULATED = bool(numba.config.ENABLE_CUDASIM)  # functions are plain Python there


@jit
def write_poses(pose, out, start, count):
    """Write the first `count` lanes of a block of poses (12, lanes) to rows of out (n, 16) from `start` on."""
    whole = 0 if _SIMULATED else count - count % WIDTH
    for lane in range(0, whole, WIDTH):
        _write_eight(pose, lane, out, start + lane)
    for lane in range(whole, count):
        _write_one(pose, lane, out[start + lane])


@jit
def _write_one(pose, lane, row):
    for i in range(3):
        row[4 * i], row[4 * i + 1], row[4 * i + 2] = pose[3 * i, lane], pose[3 * i + 1, lane], pose[3 * i + 2, lane]
        row[4 * i + 3] = pose[9 + i, lane]
    row[12], row[13], row[14], row[15] = 0, 0, 0, 1


@jit
def read_poses(rows, start, count, pose):
    """Fill a block (12, lanes) with the upper three lines of the matrices in rows (n, 16) from `start` on; zeros after `count`."""
    whole = 0 if _SIMULATED else count - count % WIDTH
    for lane in range(0, whole, WIDTH):
        _read_eight(rows, start + lane, pose, lane)
    for lane in range(whole, count):
        read_one(rows[start + lane], pose, lane)
    for k in range(12):
        for lane in range(count, pose.shape[1]):
            pose[k, lane] = 0


@jit
def read_one(row, pose, lane):
    """Fill one lane of a block."""
    for i in range(3):
        pose[3 * i, lane], pose[3 * i + 1, lane], pose[3 * i + 2, lane] = row[4 * i], row[4 * i + 1], row[4 * i + 2]
        pose[9 + i, lane] = row[4 * i + 3]


@intrinsic
def _write_eight(typing_context, pose, lane, out, row):
    """Write lanes lane .. lane + 7 of contiguous arrays: a 4x4 transposition for each row of four lanes' matrices."""

    def generate(context, builder, signature, arguments):
        block = _Block(context, builder, signature.args[0], arguments[0], arguments[1])
        rows = _Rows(context, builder, signature.args[2], arguments[2], arguments[3])
        for i in range(3):
            lines = _transposed(builder, [block.load(k) for k in (3 * i, 3 * i + 1, 3 * i + 2, 9 + i)])
            for lane, values in enumerate(_halves(builder, lines)):
                rows.store(values, lane, i)
        for lane in range(WIDTH):
            rows.store(ir.Constant(rows.vector, [0.0, 0.0, 0.0, 1.0]), lane, 3)
        return context.get_dummy_value()

    return types.void(pose, types.intp, out, types.intp), generate


@intrinsic
def _read_eight(typing_context, rows, row, pose, lane):
    """Fill lanes lane .. lane + 7 of contiguous arrays, the other way round."""

    def generate(context, builder, signature, arguments):
        rows = _Rows(context, builder, signature.args[0], arguments[0], arguments[1])
        block = _Block(context, builder, signature.args[2], arguments[2], arguments[3])
        for i in range(3):
            lines = _joined(builder, [rows.load(lane, i) for lane in range(WIDTH)])
            for k, values in zip((3 * i, 3 * i + 1, 3 * i + 2, 9 + i), _transposed(builder, lines)):
                block.store(values, k)
        return context.get_dummy_value()

    return types.void(rows, types.intp, pose, types.intp), generate


class _Vectors:
    """Vectors in the memory of an array, at no alignment but that of its numbers."""

    def __init__(self, context: BaseContext, builder: ir.IRBuilder, kind: types.Array, array: ir.Value, width: int):
        self._builder, self._array = builder, context.make_array(kind)(context, builder, array)
        number = context.get_data_type(kind.dtype)
        self._align, self.vector = context.get_abi_sizeof(number), ir.VectorType(number, width)

    def _at(self, index: ir.Value) -> ir.Value:
        return self._builder.bitcast(self._builder.gep(self._array.data, [index]), self.vector.as_pointer())

    def _load(self, index: ir.Value) -> ir.Value:
        value = self._builder.load(self._at(index))
        value.align = self._align
        return value

    def _store(self, values: ir.Value, index: ir.Value) -> None:
        self._builder.store(values, self._at(index)).align = self._align


class _Block(_Vectors):
    """Eight lanes of component-major scratch from `lane` on."""

    def __init__(self, context: BaseContext, builder: ir.IRBuilder, kind: types.Array, array: ir.Value, lane: ir.Value):
        super().__init__(context, builder, kind, array, WIDTH)
        self._lane, self._width = lane, builder.extract_value(self._array.shape, 1)

    def _index(self, component: int) -> ir.Value:
        return self._builder.add(self._builder.mul(_index(component), self._width), self._lane)

    def load(self, component: int) -> ir.Value:
        """Give a component of the lanes."""
        return self._load(self._index(component))

    def store(self, values: ir.Value, component: int) -> None:
        """Set it."""
        self._store(values, self._index(component))


class _Rows(_Vectors):
    """Eight rows of sixteen numbers from `row` on."""

    def __init__(self, context: BaseContext, builder: ir.IRBuilder, kind: types.Array, array: ir.Value, row: ir.Value):
        super().__init__(context, builder, kind, array, 4)
        self._row = row

    def _index(self, lane: int, i: int) -> ir.Value:
        row = self._builder.add(self._row, _index(lane))
        return self._builder.add(self._builder.mul(row, _index(16)), _index(4 * i))

    def load(self, lane: int, i: int) -> ir.Value:
        """Give line i of a row's matrix."""
        return self._load(self._index(lane, i))

    def store(self, values: ir.Value, lane: int, i: int) -> None:
        """Set it."""
        self._store(values, self._index(lane, i))


def _transposed(builder: ir.IRBuilder, lines: list[ir.Value]) -> list[ir.Value]:
    """Transpose four vectors of eight as two 4x4 matrices side by side: shuffles stay within halves, as processors like it."""

    def interleave(a: ir.Value, b: ir.Value, pattern: tuple[int, ...]) -> ir.Value:
        """Take entries of each half: 0 .. 3 of a, 4 .. 7 of b."""
        return _shuffle(builder, a, b, [k + half + (4 if k >= 4 else 0) for half in (0, 4) for k in pattern])

    a, b, c, d = lines
    low, high = (0, 4, 1, 5), (2, 6, 3, 7)
    out = []
    for pattern in (low, high):
        ab, cd = interleave(a, b, pattern), interleave(c, d, pattern)
        out += [interleave(ab, cd, (0, 1, 4, 5)), interleave(ab, cd, (2, 3, 6, 7))]
    return out


def _halves(builder: ir.IRBuilder, vectors: list[ir.Value]) -> list[ir.Value]:
    """Give the first halves of four vectors of eight, then the second ones."""
    return [_shuffle(builder, v, v, [half, half + 1, half + 2, half + 3]) for half in (0, 4) for v in vectors]


def _joined(builder: ir.IRBuilder, halves: list[ir.Value]) -> list[ir.Value]:
    """Put halves, ordered as `_halves` gives them, together."""
    return [_shuffle(builder, a, b, list(range(8))) for a, b in zip(halves[:4], halves[4:])]


def _shuffle(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, entries: list[int]) -> ir.Value:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(entries)), entries))


def _index(value: int) -> ir.Value:
    return ir.Constant(ir.IntType(64), value)
