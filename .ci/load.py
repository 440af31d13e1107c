#!/usr/bin/env python3
"""What a server over gRPC bears: rates, latencies, and whether its memory stays flat.

load.py CAPSCHED [NODES [APPLICATIONS [SECONDS]]]: 10,000 nodes, 1,000 applications at once and 600 s by default. The
program is built with the feature `grpc`. The clients are `node-agent --simulate` and `app --simulate` over loopback;
their figures are printed as JSON. The resident size is read every 10 s once all nodes are registered; its median is shown
for each tenth of the time. Exit code 1: a client failed, such as for a container that was given out twice.
"""

import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time

from served import Server, running

EVERY_S = 10


def resident_mb(process):
    """The resident size of a process, in MB; nothing once it ended."""
    with open(f"/proc/{process.pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1e6
    return None


def watch(process, ended, sizes):
    while size := resident_mb(process):
        sizes.append(size)
        if ended.wait(EVERY_S):
            return


def tenths(sizes):
    """The median of each tenth of the time, or less where there are fewer values."""
    count = min(10, len(sizes))
    cuts = [len(sizes) * cut // count for cut in range(count + 1)]
    return [statistics.median(sizes[cuts[at] : cuts[at + 1]]) for at in range(count)]


def main(program, nodes=10_000, applications=1_000, seconds=600):
    nodes, applications, seconds = int(nodes), int(applications), int(seconds)
    with tempfile.TemporaryDirectory() as directory, contextlib.closing(Server(program, directory)) as server:
        server.start()
        common = ["--server", f"http://127.0.0.1:{server.grpc}", "--user", "yarn", "--json"]
        agent = [program, "node-agent", "--simulate", str(nodes), "--duration", str(seconds + 30), *common]
        queue = ["--queue", "root.prod.serving", "--duration", str(seconds)]
        sizes, ended = [], threading.Event()
        with running(agent) as agents:
            server.await_nodes(nodes)
            print(f"{nodes} nodes registered", file=sys.stderr)
            watcher = threading.Thread(target=watch, args=(server.process, ended, sizes))
            watcher.start()
            try:
                with running([program, "app", "--simulate", str(applications), *queue, *common]) as masters:
                    figures = [masters.communicate()[0].decode()]
            finally:
                ended.set()
                watcher.join()
            figures.append(agents.communicate()[0].decode())
        if server.process.poll() is not None:
            sys.exit(f"load: the server ended with exit code {server.process.returncode}")
    print(f"{nodes} nodes, {applications} applications at once, {seconds} s; load {os.getloadavg()[0]:.1f}")
    print("resident size of the server by tenths of the time, in MB: " + " ".join(f"{size:.0f}" for size in tenths(sizes)))
    print("".join(figures), end="")
    sys.exit(bool(agents.returncode or masters.returncode))


main(*sys.argv[1:])
