"""Inverse kinematics: damped least squares with limits and restarts, for one target and for a million."""

from .options import IKOptionError, IKOptions, IKStatus
from .pseudo_inverse import IKSolution, PseudoInverseIK
from .result import IKResult
from .solver import solve_ik

__all__ = ["IKOptionError", "IKOptions", "IKResult", "IKSolution", "IKStatus", "PseudoInverseIK", "solve_ik"]
