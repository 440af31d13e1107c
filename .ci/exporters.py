"""What exporters for Prometheus make of a resource manager, compared with what it answers itself.

exporters.py ADDRESS await: waits until twenty nodes run the 25 containers of five applications.
exporters.py ADDRESS EXPORTER WHERE: checks the metrics of an exporter, in a file or at an address.
"""

import json
import re
import sys
import time
import urllib.request
from pathlib import Path

TRIES = 300
LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')


def read(where):
    if not where.startswith("http"):
        return Path(where).read_text()
    with urllib.request.urlopen(where, timeout=30) as answer:
        return answer.read().decode()


def cluster(address):
    return json.loads(read(f"http://{address}/ws/v1/cluster/metrics"))["clusterMetrics"]


def wait(what):
    for _ in range(TRIES):
        try:
            found = what()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.2)
    sys.exit("exporters: nothing came in time")


def lives(address):
    found = cluster(address)
    return found["activeNodes"] == 20 and found["containersAllocated"] == 25


class Samples:
    """The samples of a text in the format of Prometheus."""

    def __init__(self, text):
        found = [LINE.match(line) for line in text.splitlines() if not line.startswith("#")]
        self.all = [(one[1], dict(LABEL.findall(one[2] or "")), float(one[3])) for one in found if one]

    def sum(self, name, **labels):
        """The sum of the samples of a name that have all labels; an error where there is none."""
        values = [value for known, has, value in self.all if known == name and labels.items() <= has.items()]
        assert values, f"no sample of {name} with {labels}"
        return sum(values)


def applications(samples, now):
    queue = "root.prod.serving"
    assert samples.sum("yarn_apps_by_state", state="RUNNING", queue=queue) == 5
    for name, known in (("allocatedVCores", "allocatedVirtualCores"), ("allocatedMB", "allocatedMB")):
        assert samples.sum(f"yarn_apps_{name}", queue=queue) == now[known], name
    assert samples.sum("yarn_apps_vcoreSeconds") > 0


def figures(samples, now):
    assert samples.sum("yarn_up") == 1
    assert samples.sum("yarn_nodes_total", status="active") == 20
    assert samples.sum("yarn_applications_total", status="running") == 5
    assert samples.sum("yarn_containers_total", status="allocated") == 25
    assert samples.sum("yarn_cores_total", status="total") == now["totalVirtualCores"]
    assert samples.sum("yarn_memory_bytes", status="total") == now["totalMB"] * 2**20
    assert samples.sum("yarn_queue_capacity", queue="prod") == 65
    assert samples.sum("yarn_queue_used_vcores_count", queue="prod") == now["allocatedVirtualCores"]


def beans(samples, now):
    prefix = "hadoop_yarn_resourcemanager"
    assert samples.sum(f"{prefix}_state") == 1, "1 is what the exporter calls active"
    assert samples.sum(f"{prefix}_clustermetrics_num_nms", type="Active") == 20
    queues = f"{prefix}_queuemetrics"
    assert samples.sum(f"{queues}_containers", type="Allocated", queue1="prod") == 25
    root = [has for name, has, _ in samples.all if name == f"{queues}_vcores" and "queue1" not in has]
    assert {has["queue0"] for has in root} == {"root"}
    assert samples.sum(f"{queues}_vcores", type="Allocated", queue1="prod") == now["allocatedVirtualCores"]
    assert samples.sum(f"{queues}_mb", type="Allocated", queue1="prod") == now["allocatedMB"]


CHECKS = {
    "yarn-apps-exporter": applications,
    "yarn-prometheus-exporter": figures,
    "hadoop_exporter": beans,
}


def main(address, exporter, where=None):
    if exporter == "await":
        wait(lambda: lives(address))
        return
    samples = Samples(wait(lambda: read(where)))
    CHECKS[exporter](samples, cluster(address))
    print(f"{exporter}: {len(samples.all)} samples, and the figures of the server")


main(*sys.argv[1:])
