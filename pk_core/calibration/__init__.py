"""Model identification: the true dimensions of a robot from measured configurations and poses."""

from .calibrate import calibrate
from .options import CalibrationError, CalibrationOptions
from .result import CalibrationResult, Undetermined

__all__ = ["CalibrationError", "CalibrationOptions", "CalibrationResult", "Undetermined", "calibrate"]
