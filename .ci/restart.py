"""How long a server that was killed needs until it places a container again.

restart.py CAPSCHED [NODES [APPLICATIONS [RESTARTS]]]: 10,000 nodes, 200 applications and 5 restarts by
default. The program is built with the feature `grpc`. The time counts from the start of the process to the first
container that it places, by the times of its events. Exit code 1: a client failed, such as for a container that was
given out twice. Whatever the end, no process that it started stays.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PATIENCE_S = 120


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A server over a directory, with ports that stay."""

    def __init__(self, program, directory):
        self.process = None
        self.http, self.grpc = free_port(), free_port()
        self.log = open(os.path.join(directory, "log"), "ab")
        self.args = [program, "serve", "--conf", "configs/capacity-scheduler/demo.xml", "--insecure-simple"]
        self.args += ["--data", os.path.join(directory, "data"), "--rate-limit", "0", "--log", "warn"]
        self.args += ["--listen", f"127.0.0.1:{self.http}", "--grpc", f"127.0.0.1:{self.grpc}"]

    def start(self):
        self.begun_s = time.time()
        self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=self.log)
        if not self.process.stdout.readline():
            sys.exit(f"restart: {self.args[0]} does not start: is it built with the feature grpc?")
        return time.time() - self.begun_s

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process:
            self.kill()

    def open(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=PATIENCE_S)

    def metrics(self):
        with self.open("/ws/v1/cluster/metrics") as answer:
            return json.load(answer)["clusterMetrics"]

    def await_nodes(self, nodes):
        """Waits until so many nodes are active; the time since the start, in s."""
        until = time.time() + PATIENCE_S
        while time.time() < until:
            if self.metrics()["activeNodes"] == nodes:
                return time.time() - self.begun_s
            time.sleep(0.05)
        sys.exit(f"restart: {nodes} nodes did not register in time")

    def first_container(self):
        """The time from the start to the first container that was placed, in s."""
        with self.open("/v1/events?from=0") as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    event = json.loads(line[5:])
                    if event.get("kind") == "allocated":
                        return event["time"] / 1000 - self.begun_s
        sys.exit("restart: the stream of events ended")


@contextlib.contextmanager
def running(args):
    """A client, which is killed where it still runs at the end."""
    client = subprocess.Popen(args, stdout=subprocess.PIPE)
    try:
        yield client
    finally:
        client.kill()
        client.wait()


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
