"""Latch one transform on /tf_static until this is ended: a program of its own, since it needs tf2_msgs.

`python -m tf_talker <parent> <child> <x> <y> <z> <qx> <qy> <qz> <qw>`
"""

from __future__ import annotations

import sys

from bench import LATCHED, Bench
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage


def main() -> None:
    stamped = TransformStamped(child_frame_id=sys.argv[2])
    stamped.header.frame_id = sys.argv[1]
    t, q = stamped.transform.translation, stamped.transform.rotation
    t.x, t.y, t.z, q.x, q.y, q.z, q.w = map(float, sys.argv[3:])
    with Bench("/tf_talker") as bench:
        bench.node.create_publisher(TFMessage, "/tf_static", LATCHED).publish(TFMessage(transforms=[stamped]))
        bench.wait_until(lambda: False, "the end", timeout=3600.0)


if __name__ == "__main__":
    main()
