"""pk: batched, differentiable robot kinematics in the PyTorch graph.

Conventions, everywhere:

    vectors        columns; `T_a_b` takes points of frame b to frame a, so letters cancel: T_a_c = T_a_b @ T_b_c
    stacks         plural: `Ts_a_b` (n, 4, 4)
    quaternions    wxyz, real part first
    twists         [v, w], linear part first; a Jacobian says in which axes
    units          metres, radians, seconds
    coordinates    q (*batch, nq), columns as `chain.get_joint_parameter_names()` says
"""

from . import transforms
from .builders import (
    build_chain_from_mjcf,
    build_chain_from_sdf,
    build_chain_from_urdf,
    build_serial_chain_from_mjcf,
    build_serial_chain_from_sdf,
    build_serial_chain_from_urdf,
)
from .calibration import CalibrationError, CalibrationOptions, CalibrationResult, Undetermined, calibrate
from .chain import Chain
from .errors import (
    IKFailed,
    ModelError,
    ParseError,
    PkError,
    ShapeError,
    TensorTypeError,
    UnknownJoint,
    UnknownLink,
    UnknownName,
    UnknownReference,
    UnsupportedError,
)
from .ik import IKOptionError, IKOptions, IKResult, IKSolution, IKStatus, PseudoInverseIK, solve_ik
from .load import load
from .model import Robot
from .parsers import parse_mjcf, parse_sdf, parse_urdf
from .serial_chain import SerialChain
from .transforms import *  # noqa: F403
from .validation import validate
from .warmup import warmup

__version__ = "0.1.0"

__all__ = [
    "CalibrationError",
    "CalibrationOptions",
    "CalibrationResult",
    "Chain",
    "IKFailed",
    "IKOptionError",
    "IKOptions",
    "IKResult",
    "IKSolution",
    "IKStatus",
    "ModelError",
    "ParseError",
    "PkError",
    "PseudoInverseIK",
    "Robot",
    "SerialChain",
    "ShapeError",
    "TensorTypeError",
    "Undetermined",
    "UnknownJoint",
    "UnknownLink",
    "UnknownName",
    "UnknownReference",
    "UnsupportedError",
    "build_chain_from_mjcf",
    "build_chain_from_sdf",
    "build_chain_from_urdf",
    "build_serial_chain_from_mjcf",
    "build_serial_chain_from_sdf",
    "build_serial_chain_from_urdf",
    "calibrate",
    "load",
    "parse_mjcf",
    "parse_sdf",
    "parse_urdf",
    "solve_ik",
    "validate",
    "transforms",
    "warmup",
    *transforms.__all__,
]
