"""Print one message of /tf_static, then one of /tf, as JSON: a program of its own, since it needs tf2_msgs."""

from __future__ import annotations

import json
from typing import Any

from bench import LATCHED, Bench
from tf2_msgs.msg import TFMessage


def as_data(message: TFMessage) -> list[dict[str, Any]]:
    return [
        {
            "parent": stamped.header.frame_id,
            "child": stamped.child_frame_id,
            "stamp": [stamped.header.stamp.sec, stamped.header.stamp.nanosec],
            "row": [getattr(part, name) for part, names in _parts(stamped.transform) for name in names],
        }
        for stamped in message.transforms
    ]


def _parts(transform: Any) -> list[tuple[Any, str]]:
    return [(transform.translation, "xyz"), (transform.rotation, "xyzw")]


def main() -> None:
    with Bench("/tf_listener") as bench:
        static = bench.collect(TFMessage, "/tf_static", LATCHED)
        bench.wait_until(lambda: static, "/tf_static")
        moving = bench.collect(TFMessage, "/tf")
        bench.wait_until(lambda: moving, "/tf")
        print(json.dumps({"static": as_data(static[0]), "moving": as_data(moving[0])}))


if __name__ == "__main__":
    main()
