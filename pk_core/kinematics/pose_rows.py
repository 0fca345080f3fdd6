"""Poses out of component-major scratch: from `pose[component, lane]` to rows of 4x4 matrices.

LLVM writes numbers that stand sixteen apart one by one, which took longer than to compute them. So eight lanes at a time are
transposed in registers; `_write_one` is the definition, and what the rest of a batch goes through.
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
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


@intrinsic
def _write_eight(typing_context, pose, lane, out, row):
    """Write lanes lane .. lane + 7 of contiguous arrays: a 4x4 transposition for each row of four lanes' matrices."""

    def generate(context, builder, signature, arguments):
        source, target = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2))
        width = builder.extract_value(source.shape, 1)
        number = context.get_data_type(pose.dtype)
        align = context.get_abi_sizeof(number)
        eight, four = ir.VectorType(number, WIDTH), ir.VectorType(number, 4)

        def load(component: int) -> ir.Value:
            at = builder.add(builder.mul(_index(component), width), arguments[1])
            value = builder.load(builder.bitcast(builder.gep(source.data, [at]), eight.as_pointer()))
            value.align = align
            return value

        def store(values: ir.Value, lane: int, i: int) -> None:
            at = builder.add(builder.mul(builder.add(arguments[3], _index(lane)), _index(16)), _index(4 * i))
            builder.store(values, builder.bitcast(builder.gep(target.data, [at]), four.as_pointer())).align = align

        for i in range(3):
            for lane, values in enumerate(
                _transposed(builder, [load(k) for k in (3 * i, 3 * i + 1, 3 * i + 2, 9 + i)])
            ):
                store(values, lane, i)
        for lane in range(WIDTH):
            store(ir.Constant(four, [0.0, 0.0, 0.0, 1.0]), lane, 3)
        return context.get_dummy_value()

    return types.void(pose, types.intp, out, types.intp), generate


def _transposed(builder: ir.IRBuilder, columns: list[ir.Value]) -> list[ir.Value]:
    """Give, of four vectors of eight lanes, eight vectors of four: shuffles stay within halves, as processors like it."""

    def interleave(a: ir.Value, b: ir.Value, pattern: tuple[int, ...]) -> ir.Value:
        """Take entries of each half: 0 .. 3 of a, 4 .. 7 of b."""
        return _shuffle(builder, a, b, [k + half + (4 if k >= 4 else 0) for half in (0, 4) for k in pattern])

    a, b, c, d = columns
    low, high = (0, 4, 1, 5), (2, 6, 3, 7)
    rows = []
    for pattern in (low, high):
        ab, cd = interleave(a, b, pattern), interleave(c, d, pattern)
        rows += [interleave(ab, cd, (0, 1, 4, 5)), interleave(ab, cd, (2, 3, 6, 7))]
    return [_shuffle(builder, row, row, [half, half + 1, half + 2, half + 3]) for half in (0, 4) for row in rows]


def _shuffle(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, entries: list[int]) -> ir.Value:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(entries)), entries))


def _index(value: int) -> ir.Value:
    return ir.Constant(ir.IntType(64), value)
