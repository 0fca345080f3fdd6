"""What the node tells of itself, as messages: its parameters and its diagnosis. Message types only, no rclpy."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

from pk_core.model import Axis, Joint

from .diagnostics import Diagnosis
from .msg import Model, ModelJoint
from .parameters import Parameter
from .served_model import ServedModel


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


def model_message(model: ServedModel, source: str, stamp: Time) -> Model:
    """Tell what is served from now on."""
    low, high = model.limits
    return Model(
        stamp=stamp,
        name=model.robot.name,
        source=source,
        hash=model.hash,
        root=model.root,
        links=list(model.frame_names[: model.n_links]),
        coordinates=list(model.columns),
        lower=low.tolist(),
        upper=high.tolist(),
        joints=[_joint_message(joint) for joint in model.robot.joints if not joint.hidden],
    )


def _joint_message(joint: Joint) -> ModelJoint:
    axis = joint.axes[0] if joint.axes else Axis()
    mimic = axis.mimic
    return ModelJoint(
        name=joint.name,
        type=joint.type.value,
        parent=joint.parent,
        child=joint.child,
        lower=axis.lower,
        upper=axis.upper,
        velocity=axis.velocity,
        effort=axis.effort,
        mimic=mimic.joint if mimic else "",
        multiplier=mimic.multiplier if mimic else 0.0,
        offset=mimic.offset if mimic else 0.0,
    )
