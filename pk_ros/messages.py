"""What the node tells of itself, as messages: its parameters and its diagnosis. Message types only, no rclpy."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

from .diagnostics import Diagnosis
from .parameters import Parameter


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Describe a parameter to those who ask the node for it."""
    message = ParameterDescriptor(description=parameter.description, read_only=parameter.read_only)
    if parameter.choices:
        message.additional_constraints = f"one of: {', '.join(parameter.choices)}"
    if parameter.range and isinstance(parameter.default, int):
        low, high = map(int, parameter.range)
        message.integer_range = [IntegerRange(from_value=low, to_value=high, step=1)]
    elif parameter.range:
        low, high = map(float, parameter.range)
        message.floating_point_range = [FloatingPointRange(from_value=low, to_value=high, step=0.0)]
    return message


def diagnostic_array(diagnosis: Diagnosis, node_name: str, robot: str, stamp: Time) -> DiagnosticArray:
    """Put a diagnosis as /diagnostics wants it."""
    status = DiagnosticStatus(
        level=bytes([diagnosis.level]),
        name=f"{node_name}: kinematics",
        message=diagnosis.message,
        hardware_id=robot,
        values=[KeyValue(key=key, value=value) for key, value in diagnosis.values.items()],
    )
    message = DiagnosticArray(status=[status])
    message.header.stamp = stamp
    return message
