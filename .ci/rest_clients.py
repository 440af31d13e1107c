"""Calls of yarn-api-client to a resource manager whose address is the only argument."""

import sys

from yarn_api_client.resource_manager import ResourceManager


def main(base):
    rm = ResourceManager([base])
    calls = 0

    def get(name, *arguments, **named):
        nonlocal calls
        calls += 1
        return getattr(rm, name)(*arguments, **named).data

    assert get("cluster_information")["clusterInfo"]["state"] == "STARTED"
    metrics = get("cluster_metrics")["clusterMetrics"]
    assert metrics["activeNodes"] == 20, metrics
    root = get("cluster_scheduler")["scheduler"]["schedulerInfo"]
    assert root["queueName"] == "root" and root["queues"]["queue"], root
    leaf = rm.cluster_scheduler_queue(find_leaf(root)["queueName"])
    assert leaf is not None
    nodes = get("cluster_nodes")["nodes"]["node"]
    assert len(nodes) == 20
    assert get("cluster_node", nodes[0]["id"])["node"]["id"] == nodes[0]["id"]
    apps = get("cluster_applications")["apps"]["app"]
    assert apps, "the demonstration has applications"
    running = get("cluster_applications", states=["RUNNING"])["apps"].get("app", [])
    assert all(app["state"] == "RUNNING" for app in running)
    app = (running or apps)[0]["id"]
    assert get("cluster_application", app)["app"]["id"] == app
    attempts = get("cluster_application_attempts", app)["appAttempts"]["appAttempt"]
    get("cluster_application_attempt_containers", app, attempts[0]["appAttemptId"])
    assert get("cluster_application_state", app)["state"]
    assert get("cluster_get_application_queue", app)["queue"]
    assert "priority" in get("cluster_get_application_priority", app)
    assert get("cluster_application_timeouts", app)["timeouts"]["timeout"]
    counts = get("cluster_application_statistics", states=["RUNNING"])
    assert counts["appStatInfo"]["statItem"][0]["state"] == "RUNNING"
    assert "activities" in get("scheduler_activities")
    assert "appActivities" in get("application_activities", app)
    new = get("cluster_new_application")["application-id"]
    print(f"{calls} calls of yarn-api-client answered; the next application is {new}")


def find_leaf(queue):
    while queue.get("queues"):
        queue = queue["queues"]["queue"][0]
    return queue


main(sys.argv[1])
