"""A server and its simulated clients as processes, for the measurements beside this file."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
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
            sys.exit(f"{self.args[0]} does not start: is it built with the feature grpc?")
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
        sys.exit(f"{nodes} nodes did not register in time")

    def first_container(self):
        """The time from the start to the first container that was placed, in s."""
        with self.open("/v1/events?from=0") as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    event = json.loads(line[5:])
                    if event.get("kind") == "allocated":
                        return event["time"] / 1000 - self.begun_s
        sys.exit("the stream of events ended")


@contextlib.contextmanager
def running(args):
    """A client, which is killed where it still runs at the end."""
    client = subprocess.Popen(args, stdout=subprocess.PIPE)
    try:
        yield client
    finally:
        client.kill()
        client.wait()
