"""A program of many clients, for the tests: `python -m clients <node> <rows.npy> <clients> <seconds> <timeout>`.

Each client asks for the same targets again and again from a thread of its own. Prints one line of JSON: how many answers
came to each client, the distinct ones among them, and what was raised.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import numpy as np
import rclpy

from pk_ros.client import KinematicsClient, KinematicsError

TIP = "panda_hand"


def main() -> None:
    node, rows = sys.argv[1], np.load(sys.argv[2])
    n_clients, seconds, timeout = int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
    rclpy.init()
    answers: set[bytes] = set()
    counts = [0] * n_clients
    errors: list[str] = []
    begun = threading.Barrier(n_clients + 1)

    def ask(i: int) -> None:
        with KinematicsClient(node, timeout=timeout) as client:
            client.wait_until_ready()
            begun.wait()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    answers.add(client.solve_ik(TIP, rows).positions.tobytes())
                    counts[i] += 1
                except KinematicsError as error:
                    errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(n_clients)]
    for thread in threads:
        thread.start()
    begun.wait()
    print("begun", flush=True)
    for thread in threads:
        thread.join()
    distinct = [np.frombuffer(answer).tolist() for answer in answers]
    print(json.dumps({"counts": counts, "answers": distinct, "errors": errors}), flush=True)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
