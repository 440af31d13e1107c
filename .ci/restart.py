"""How long a server that was killed needs until it places a container again.

restart.py CAPSCHED [NODES [APPLICATIONS [RESTARTS]]]: 10,000 nodes, 200 applications and 5 restarts unless told
otherwise. The program is built with the feature `grpc`. The time counts from the start of the process to the first
container that it places, by the times of its events. Exit code 1: a client failed, such
as for a container that was given out twice.
"""

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


def shown(times):
    times = sorted(times)
    return f"least {times[0]:.2f} s, median {times[len(times) // 2]:.2f} s, most {times[-1]:.2f} s"


def main(program, nodes=10_000, applications=200, restarts=5):
    nodes, applications, restarts = int(nodes), int(applications), int(restarts)
    with tempfile.TemporaryDirectory() as directory:
        server = Server(program, directory)
        server.start()
        duration = str(60 + 20 * restarts)
        common = ["--server", f"http://127.0.0.1:{server.grpc}", "--user", "yarn", "--json"]
        agents = [program, "node-agent", "--simulate", str(nodes), "--duration", duration, *common]
        agents = subprocess.Popen(agents, stdout=subprocess.PIPE)
        server.await_nodes(nodes)
        masters = [program, "app", "--simulate", str(applications), "--queue", "root.prod.serving", *common]
        masters = subprocess.Popen([*masters, "--duration", duration], stdout=subprocess.PIPE)
        answers, firsts, alls = [], [], []
        for _ in range(restarts):
            time.sleep(10)
            server.kill()
            answers.append(server.start())
            firsts.append(server.first_container())
            alls.append(server.await_nodes(nodes))
            print(f"{answers[-1]:.2f} {firsts[-1]:.2f} {alls[-1]:.2f}", file=sys.stderr)
        figures = agents.communicate()[0].decode() + masters.communicate()[0].decode()
        server.process.terminate()
        server.process.wait()
    print(f"{nodes} nodes, {applications} applications, {restarts} restarts after kill -9; load {os.getloadavg()[0]:.1f}")
    print(f"until the page answers: {shown(answers)}")
    print(f"until the first container is placed: {shown(firsts)}")
    print(f"until all nodes are back: {shown(alls)}")
    print(figures, file=sys.stderr)
    sys.exit(bool(agents.returncode or masters.returncode))


main(*sys.argv[1:])
