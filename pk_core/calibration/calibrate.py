"""Find the true dimensions of a robot from measurements: the door to the calibration."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..chain import Chain
from ..configuration import Configuration
from ..errors import ShapeError
from ..ik.targets import are_poses
from ..model import JointType
from ..parameters import Parameters
from ..serial_chain import SerialChain
from ..transforms.transform3d import Transform3d
from .measurements import Measurements, read_measurements
from .options import CalibrationError, CalibrationOptions
from .parameters import ModelParameters, make_blocks
from .placement import roughly_placed
from .result import CalibrationResult, name_undetermined
from .solver import Fit, fit, residuals_of

Joints = Sequence[str]


def calibrate(
    chain: Chain,
    q: Configuration,
    measured: Tensor | Transform3d,
    frame: str = "",
    *,
    origins: Joints = (),
    axes: Joints = (),
    offsets: Joints = (),
    mimic: Joints = (),
    base: bool = False,
    tool: bool = False,
    tool_pose: Tensor | Transform3d | None = None,
    options: CalibrationOptions | None = None,
) -> CalibrationResult:
    """Estimate parameters of a robot from measured configurations and positions or poses: Levenberg-Marquardt.

    Where joints are listed, "all" takes all that move the frame and have such a parameter. Choose freely: what the data
    don't tell stays where it was, and is named in the result.

    Args:
        chain: where the estimation starts, its `with_parameters(...)` included, the base too.
        q: (n, nq), the configurations [rad] and [m], or a dict by joint name.
        measured: positions (n, 3) [m], or poses (n, 4, 4) or (n, 7) as x y z and a quaternion wxyz, in the frame in which
            the chain gives poses.
        frame: the frame of the chain that carries the tool; of a serial chain its end unless said otherwise.
        origins: joints whose `T_parent_joint` is estimated, fixed joints too.
        axes: joints whose direction is estimated.
        offsets: joints whose coordinate is measured with a constant error.
        mimic: joints whose multiplier and offset are estimated.
        base: estimate `T_base_root`: measured poses are in another frame than the robot's root, a camera's say.
        tool: estimate `T_frame_tool`: what is measured is fixed to the frame somewhere else, as a marker is.
        tool_pose: where the tool is, or where its estimation starts (4, 4); the frame itself unless given.

    Raises:
        UnknownJoint, UnknownLink, UnsupportedError: a name the robot does not have, or a parameter the joint does not have.
        ShapeError, TensorTypeError: what is wrong with q, measured or tool_pose.
        CalibrationError: rows that hold NaN or are no rigid transforms, by number; nothing to estimate; an option.
    """
    with torch.inference_mode(False):  # derivatives are needed whatever mode the caller is in
        options = options or CalibrationOptions()
        exact = _in_double(chain)
        frame = _frame(exact, frame)
        chosen = _chosen(exact, frame, dict(origins=origins, axes=axes, offsets=offsets, mimic=mimic))
        tool_at = _tool(tool_pose)
        blocks = make_blocks(exact, chosen, base, tool_at if tool else None, options.length_scale, options.angle_scale)
        if not blocks:
            raise CalibrationError(
                "nothing to estimate: name joints in origins, axes, offsets or mimic, or ask for base or tool"
            )
        data = read_measurements(exact, q, measured)
        start = ModelParameters(exact, frame, tool_at, blocks)
        return _result(chain, start, data, fit(roughly_placed(start, data, options), data, options))


def _result(chain: Chain, start: ModelParameters, data: Measurements, found: Fit) -> CalibrationResult:
    parameters, system = found.parameters, found.system
    basis = system.undetermined(parameters.units)
    position, rotation = system.noise[0].item(), system.noise[-1].item() if data.width == 6 else torch.nan
    tool = parameters.value_of("tool")
    return CalibrationResult(
        chain=parameters.calibrated().to(chain.dtype, chain.device),
        base=parameters.value_of("base"),
        tool=parameters.tool if tool is None else tool,
        names=parameters.names,
        change=parameters.change_from(start),
        covariance=system.covariance(found.loss),
        undetermined=name_undetermined(basis, parameters.names, parameters.units),
        undetermined_share=basis.square().sum(-1),
        residuals_before=residuals_of(start, data),
        residuals=system.residuals,
        weights=system.weights,
        noise=(position, rotation),
        iterations=found.iterations,
        converged=found.converged,
    )


def _in_double(chain: Chain) -> Chain:
    """Give the chain in float64 on the CPU, its parameters without gradients."""
    held = (chain.parameters or Parameters()).to(torch.float64, torch.device("cpu"))
    if chain._tensors.constants.dim() > 2:
        raise CalibrationError("the chain has parameters of their own for each row; calibrate each robot alone")

    def detached(values: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in values.items()}

    mimic = {name: (multiplier.detach(), offset.detach()) for name, (multiplier, offset) in held.mimic.items()}
    base = None if held.base is None else held.base.detach()
    exact = chain.with_parameters().to(torch.float64, "cpu")
    return exact.with_parameters(
        origins=detached(held.origins), axes=detached(held.axes), offsets=detached(held.offsets), mimic=mimic, base=base
    )


def _frame(chain: Chain, frame: str) -> str:
    if not frame and not isinstance(chain, SerialChain):
        raise CalibrationError(
            "frame: name the frame of the chain that was measured, or take a SerialChain that ends there"
        )
    frame = frame or chain.end_frame
    chain.get_frame_indices(frame)
    return frame


def _chosen(chain: Chain, frame: str, asked: dict[str, Joints]) -> dict[str, list[str]]:
    """Resolve "all", and check that each joint has the parameter that it is asked for."""
    sources = chain._frames((frame,)).tree.sources
    joints = [chain.robot.joint(name) for name in dict.fromkeys(s.origin_of for s in sources) if name]
    moving = [j for j in joints if len(j.axes) == 1 and j.type is not JointType.PLANAR]
    every = {
        "origins": [joint.name for joint in joints if not joint.hidden],
        "axes": [joint.name for joint in moving],
        "offsets": [joint.name for joint in moving if not joint.mimic],
        "mimic": [joint.name for joint in moving if joint.mimic],
    }
    chosen = {}
    for kind, names in asked.items():
        if isinstance(names, str) and names != "all":
            raise CalibrationError(f"{kind} must be a list of joint names or 'all', got the string {names!r}")
        chosen[kind] = every[kind] if names == "all" else list(dict.fromkeys(names))
    example = {
        "origins": torch.eye(4, dtype=torch.float64, device="cpu"),
        "axes": [0.0, 0.0, 1.0],
        "offsets": 0.0,
        "mimic": (1.0, 0.0),
    }
    chain.with_parameters(**{kind: dict.fromkeys(names, example[kind]) for kind, names in chosen.items()})
    return chosen


def _tool(tool_pose: Tensor | Transform3d | None) -> Tensor:
    if tool_pose is None:
        return torch.eye(4, dtype=torch.float64, device="cpu")
    T = tool_pose.get_matrix() if isinstance(tool_pose, Transform3d) else torch.as_tensor(tool_pose)
    T = T.detach().to("cpu", torch.float64).clone()
    T = T[0] if T.shape == (1, 4, 4) else T
    if T.shape != (4, 4):
        raise ShapeError(f"tool_pose has shape {tuple(T.shape)}; it must be (4, 4)")
    if not are_poses(T.unsqueeze(0)).all():
        raise ShapeError("tool_pose is no rigid transform: it holds NaN, or its rotation is not orthonormal")
    return T
