#!/usr/bin/env python3
"""How long a server that was killed needs until it places a container again.

restart.py CAPSCHED [NODES [APPLICATIONS [RESTARTS]]]: 10,000 nodes, 200 applications and 5 restarts by
default. The program is built with the feature `grpc`. The time counts from the start of the process to the first
container that it places, by the times of its events. Exit code 1: a client failed, such as for a container that was
given out twice. Whatever the end, no process that it started stays.
"""

import contextlib
import os
import sys
import tempfile
import time

from served import Server, running


def measure(server, nodes, restarts):
    """The times of each restart until the page answers, the first container is placed, all nodes are back; in s."""
    for _ in range(restarts):
        time.sleep(10)
        server.kill()
        times = server.start(), server.first_container(), server.await_nodes(nodes)
        print(" ".join(f"{time_s:.2f}" for time_s in times), file=sys.stderr)
        yield times


def shown(times):
    times = sorted(times)
    return f"least {times[0]:.2f} s, median {times[len(times) // 2]:.2f} s, most {times[-1]:.2f} s"


def main(program, nodes=10_000, applications=200, restarts=5):
    nodes, applications, restarts = int(nodes), int(applications), int(restarts)
    with tempfile.TemporaryDirectory() as directory, contextlib.closing(Server(program, directory)) as server:
        server.start()
        common = ["--server", f"http://127.0.0.1:{server.grpc}", "--user", "yarn", "--json"]
        common += ["--duration", str(60 + 40 * restarts)]
        with running([program, "node-agent", "--simulate", str(nodes), *common]) as agents:
            server.await_nodes(nodes)
            queue = ["--queue", "root.prod.serving"]
            with running([program, "app", "--simulate", str(applications), *queue, *common]) as masters:
                answers, firsts, alls = zip(*measure(server, nodes, restarts))
                figures = agents.communicate()[0].decode() + masters.communicate()[0].decode()
    print(f"{nodes} nodes, {applications} applications, {restarts} restarts after kill -9; load {os.getloadavg()[0]:.1f}")
    print(f"until the page answers: {shown(answers)}")
    print(f"until the first container is placed: {shown(firsts)}")
    print(f"until all nodes are back: {shown(alls)}")
    print(figures, file=sys.stderr)
    sys.exit(bool(agents.returncode or masters.returncode))


main(*sys.argv[1:])
