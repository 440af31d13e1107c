"""The installed wheel, with the standard library alone and with the data frames that are installed."""

import importlib.util
import json
import pathlib
import sys
import tempfile
import threading
import unittest

import capsched

QUEUES = {
    "yarn.scheduler.capacity.root.queues": "a,b",
    "yarn.scheduler.capacity.root.a.capacity": 60,
    "yarn.scheduler.capacity.root.b.capacity": 40,
    "yarn.scheduler.capacity.root.b.user-limit-factor": 10,
}
TRACE = [
    {"am.type": "mapreduce", "job.start.ms": 0, "job.end.ms": 9000, "job.queue.name": "root.a", "job.id": "one",
     "job.user": "ann", "job.tasks": [{"count": 3, "container.start.ms": 0, "container.end.ms": 5000}]},
    {"am.type": "mapreduce", "job.start.ms": 2000, "job.end.ms": 9000, "job.queue.name": "root.b", "job.id": "two",
     "job.user": "bob", "job.tasks": [{"count": 2, "container.start.ms": 0, "container.end.ms": 7000}]},
]
NODES = [{"host": f"n{i}", "size": {"memory-mb": 8192, "vcores": 8}} for i in range(2)]
OPPORTUNISTIC = {
    "yarn.resourcemanager.opportunistic-container-allocation.enabled": True,
    "yarn.nodemanager.opportunistic-containers-max-queue-length": 2,
}
GANG = {"size": (1024, 1), "minimum": 2, "within_ms": 1000, "priority": 7}


def installed(name):
    return importlib.util.find_spec(name) is not None


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / "jobs.json"
        self.trace.write_text("\n".join(map(json.dumps, TRACE)))

    def run_with(self, **changes):
        return capsched.simulate(**{"conf": QUEUES, "trace": self.trace, "nodes": NODES} | changes)

    def test_the_same_run_twice_decides_the_same(self):
        for mode in ("heartbeat", "asynchronous", "global"):
            first, second = self.run_with(mode=mode), self.run_with(mode=mode)
            self.assertEqual(first.hash, second.hash)
            self.assertEqual(first.summary, second.summary)
            self.assertEqual(first.summary["placed"], 7, "five tasks and two masters")
            self.assertEqual(first.summary["finished"], len(first.jobs))
            self.assertEqual(first.summary["violations"], 0)
            self.assertGreater(len(first.queues), 0)
            self.assertEqual(first.cluster.column_names, ["at_ms", "waiting", "gap_permille"])

    def test_a_configuration_is_a_dict_a_file_or_a_folder(self):
        text = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in QUEUES.items())
        file = self.folder / "capacity-scheduler.xml"
        file.write_text(f"<configuration>{text}</configuration>")
        expected = self.run_with().hash
        for conf in (file, str(file), self.folder):
            self.assertEqual(self.run_with(conf=conf).hash, expected)

    @unittest.skipUnless(installed("polars"), "polars is not installed")
    def test_polars_takes_the_columns_over(self):
        import polars

        run = self.run_with()
        jobs = run.jobs.to_polars()
        self.assertEqual(sorted(jobs["queue"]), ["root.a", "root.b"])
        self.assertEqual(jobs.schema["submitted_ms"], polars.UInt64)
        decisions = polars.DataFrame(run.decisions)
        placed = decisions.filter(polars.col("event") == "allocated")
        self.assertEqual(placed["memory-mb"].sum(), 7 * 1024)
        self.assertEqual(placed["node"].null_count(), 0)
        del run
        self.assertEqual(jobs["asked"].to_list(), [4, 3], "the columns outlive the run")

    @unittest.skipUnless(installed("pandas") and installed("pyarrow"), "pandas or pyarrow is not installed")
    def test_pandas_takes_the_columns_over(self):
        jobs = self.run_with().jobs.to_pandas()
        self.assertEqual(list(jobs["asked"]), [4, 3])
        self.assertEqual(set(jobs["outcome"]), {"finished"})

    def test_a_stream_that_nobody_takes_over_is_released(self):
        table = self.run_with().jobs
        for _ in range(1000):
            table.__arrow_c_stream__()

    def test_nonsense_is_refused(self):
        broken = self.folder / "broken.json"
        broken.write_text("{")
        for changes in (
            {"conf": {}},
            {"conf": QUEUES | {"yarn.scheduler.capacity.root.b.capacity": "NaN"}},
            {"conf": QUEUES | {"yarn.scheduler.capacity.root.b.capacity": 41}},
            {"conf": self.folder / "none.xml"},
            {"trace": self.folder / "none.json"},
            {"trace": broken},
            {"trace": []},
            {"mode": "sometimes"},
            {"hadoop": "2.7"},
            {"nodes": [{"host": "n", "size": [-1, 1]}]},
            {"nodes": [{"host": "", "size": [1, 1]}]},
            {"nodes": [{"host": "n", "size": [1] * 9}]},
            {"nodes": [{"host": "n", "size": {"gpus": 1}}]},
            {"nodes": [NODES[0], NODES[0]]},
            {"heartbeat_ms": 0},
            {"round_ms": 0},
        ):
            with self.subTest(changes):
                with self.assertRaises(capsched.CapschedError) as refused:
                    self.run_with(**changes)
                self.assertTrue(str(refused.exception))
        for changes in ({"conf": 5}, {"trace": 5}, {"nodes": [{}]}, {"until_ms": -1}, {"until_ms": "x"}):
            with self.subTest(changes), self.assertRaises((TypeError, OverflowError, KeyError)):
                self.run_with(**changes)


class Engine(unittest.TestCase):
    def setUp(self):
        self.engine = capsched.Engine(QUEUES)
        self.engine.add_node("n0:8041", (8192, 8))
        self.assertEqual(self.engine.submit(1, "a", "ann"), "root.a")
        self.assertEqual(self.engine.ask(1, [{"size": (1024, 1), "count": 3}])["allocated"], [])

    def test_containers_come_with_heartbeats(self):
        for _ in range(3):
            self.engine.heartbeat("n0:8041")
        self.assertEqual(self.engine.events_waiting(), 4)
        events = [event["event"] for event in self.engine.events()]
        self.assertEqual(events, ["master_started"] + ["allocated"] * 3)
        self.assertEqual(self.engine.events_waiting(), 0)
        reply = self.engine.ask(1, release=[2])
        self.assertEqual([one["container"][-1] for one in reply["allocated"]], ["1", "3"])
        self.assertEqual(reply["unknown"], [])
        self.engine.heartbeat("n0:8041")
        self.engine.container_finished(reply["allocated"][0]["container"])
        self.assertEqual(self.engine.state()["nodes"][0]["containers"], 2)
        self.engine.finish_app(1)
        self.assertEqual(self.engine.state()["apps"], [])

    def test_containers_change(self):
        def change(**update):
            return self.engine.ask(1, updates=[{"container": 1, **update}])["updated"]

        for _ in range(3):
            self.engine.heartbeat("n0:8041")
        self.engine.ask(1)
        self.assertEqual(change(change="increase", size=(2048, 1)), [])
        self.engine.heartbeat("n0:8041")
        [grown] = self.engine.ask(1)["updated"]
        self.assertEqual(
            (grown["change"], grown["size"], grown["version"]), ("INCREASE_RESOURCE", [2048, 1], 1)
        )
        [shrunk] = change(change="decrease", version=1, size={"memory-mb": 1024, "vcores": 1})
        self.assertEqual((shrunk["size"], shrunk["version"]), ([1024, 1], 2))
        [demoted] = change(change="demote", version=2)
        self.assertEqual((demoted["size"], demoted["version"]), ([1024, 1], 3))
        self.assertEqual(change(change="promote", version=3), [])
        self.engine.heartbeat("n0:8041")
        [promoted] = self.engine.ask(1)["updated"]
        self.assertEqual(promoted["version"], 4)
        changes = [event["kind"] for event in self.engine.events() if event["event"] == "updated"]
        self.assertEqual(changes, ["increase", "decrease", "demote", "promote"])

    def test_changes_are_refused_one_by_one(self):
        self.engine.heartbeat("n0:8041")
        self.engine.ask(1)
        before = self.engine.state_hash()
        reply = self.engine.ask(1, updates=[
            {"container": 9, "change": "increase", "size": (2048, 1)},
            {"container": 1, "change": "increase", "size": (2048, 1), "version": 5},
            {"container": 1, "change": "increase", "size": (99_999, 1)},
            {"container": 1, "change": "decrease", "size": (2048, 1)},
        ])
        self.assertEqual(reply["updated"], [])
        self.assertEqual([(error["container"], error["reason"], error["version"]) for error in reply["update_errors"]], [
            (9, "INVALID_CONTAINER_ID", None),
            (1, "INCORRECT_CONTAINER_VERSION_ERROR", 0),
            (1, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0),
            (1, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0),
        ])
        self.assertEqual(self.engine.state_hash(), before)

    def test_a_gang_is_placed_whole_or_given_up(self):
        def gangs():
            return [event["gang"] for event in self.engine.events() if event["event"] == "gang"]

        gang = {"size": (2048, 1), "minimum": 2, "within_ms": 5000, "priority": 2}
        self.engine.ask_gang(1, gang)
        self.engine.heartbeat("n0:8041")
        members = [one for one in self.engine.ask(1)["allocated"] if one["priority"] == 2]
        self.assertEqual([one["size"] for one in members], [[2048, 1]] * 2)
        self.assertEqual(gangs(), ["placed"])
        self.engine.ask_gang(1, gang | {"minimum": 4, "close": "rack"})
        self.engine.ask_gang(1, gang | {"minimum": 0})
        self.engine.advance(60_000)
        self.engine.heartbeat("n0:8041")
        self.assertNotIn("expired", gangs(), "it is withdrawn")
        self.engine.ask_gang(1, gang | {"minimum": 4})
        self.engine.advance(120_000)
        self.engine.heartbeat("n0:8041")
        self.assertIn("expired", gangs())

    def test_opportunistic_containers_wait_on_their_node(self):
        self.assertRaises(capsched.CapschedError, self.engine.ask_opportunistic, 1, [{"size": (1024, 1)}])
        engine = capsched.Engine(QUEUES | OPPORTUNISTIC)
        engine.add_node("n0:8041", (4096, 4))
        engine.submit(1, "root.a", "ann")
        engine.ask_opportunistic(1, [{"size": (2048, 1), "count": 3, "priority": 5}])
        allocated = engine.ask(1)["allocated"]
        self.assertEqual([(one["opportunistic"], one["priority"]) for one in allocated], [(True, 5)] * 3)
        steps = [event["step"] for event in engine.events() if event["event"] == "opportunistic"]
        self.assertEqual(sorted(steps), ["queued", "started", "started"])
        self.assertNotIn("used", engine.state()["queues"][0]["labels"][""], "no queue is charged")
        before = engine.state_hash()
        for asks in ([{"size": (1024, 1)}] * 513, [{"size": (-1, 1)}], [{"size": (1, 1), "count": -1}]):
            self.assertRaises(capsched.CapschedError, engine.ask_opportunistic, 1, asks)
        self.assertRaises(capsched.CapschedError, engine.ask_opportunistic, 9, [])
        self.assertRaises(TypeError, engine.ask_opportunistic, 1, None)
        self.assertEqual(engine.state_hash(), before)
        engine.container_finished(allocated[0]["container"])
        engine.heartbeat("n0:8041")
        started = [event["step"] for event in engine.events() if event["event"] == "opportunistic"]
        self.assertEqual(started, ["started"], "the one that waited")

    def test_rounds_need_no_heartbeat(self):
        engine = capsched.Engine(QUEUES, "asynchronous")
        engine.add_node("n0:8041", {"memory-mb": 4096, "vcores": 4})
        engine.submit(1, "root.b", "bob")
        engine.ask(1, [{"size": (1024, 1), "count": 9}])
        placed = 0
        while step := engine.schedule():
            placed += step
        self.assertEqual(placed, 4)

    def test_a_refused_call_changes_nothing(self):
        before = self.engine.state_hash()
        none = {"yarn.scheduler.capacity.root.queues": "a"}
        for call in (
            lambda: self.engine.add_node("n0:8041", (1, 1)),
            lambda: self.engine.add_node("n1:8041", (-1, 1)),
            lambda: self.engine.add_node("n1:8041", (2**63 - 1, 1)),
            lambda: self.engine.add_node("", (1, 1)),
            lambda: self.engine.add_node("n1:8041", (1, 1), partition="gpu"),
            lambda: self.engine.remove_node("n7:8041"),
            lambda: self.engine.submit(1, "root.a", "ann"),
            lambda: self.engine.submit(2, "root", "ann"),
            lambda: self.engine.submit(2, "root.none", "ann"),
            lambda: self.engine.submit(2, "root.a", ""),
            lambda: self.engine.submit(2, "root.a", "a\nb"),
            lambda: self.engine.ask(9, []),
            lambda: self.engine.ask(1, [{"size": (-1, 1)}]),
            lambda: self.engine.ask(1, [{"size": (9000, 1)}]),
            lambda: self.engine.ask(1, [{"size": (1024, 1), "count": -1}]),
            lambda: self.engine.ask(1, [{"size": (1024, 1), "count": 2_000_000}]),
            lambda: self.engine.ask(1, [{"size": (1024, 1), "place": ""}]),
            lambda: self.engine.ask(1, [{"size": {"gold": 1}}]),
            lambda: self.engine.ask(1, updates=[{"container": 1, "change": "grow", "size": (1, 1)}]),
            lambda: self.engine.ask(1, updates=[{"container": 1, "change": "increase"}]),
            lambda: self.engine.ask(1, updates=[{"container": 1, "change": "demote", "size": (1, 1)}]),
            lambda: self.engine.ask_gang(9, GANG),
            lambda: self.engine.ask_gang(1, GANG | {"minimum": 10_001}),
            lambda: self.engine.ask_gang(1, GANG | {"within_ms": 0}),
            lambda: self.engine.ask_gang(1, GANG | {"elastic": 2_000_000}),
            lambda: self.engine.ask_gang(1, GANG | {"size": (-1, 1)}),
            lambda: self.engine.ask_gang(1, GANG | {"close": "no attribute"}),
            lambda: self.engine.ask_gang(1, GANG | {"partition": "gpu"}),
            lambda: self.engine.heartbeat("n7:8041"),
            lambda: self.engine.container_finished("container_1_0001_01_000009"),
            lambda: self.engine.container_finished("nonsense"),
            lambda: self.engine.finish_app(9),
            lambda: self.engine.refresh(none),
        ):
            with self.assertRaises(capsched.CapschedError) as refused:
                call()
            self.assertTrue(str(refused.exception))
        for call in (
            lambda: self.engine.submit(-1, "root.a", "ann"),
            lambda: self.engine.submit(2**32, "root.a", "ann"),
            lambda: self.engine.ask(1, [{"size": (2**63, 1)}]),
            lambda: self.engine.ask(1, [{"size": float("nan")}]),
            lambda: self.engine.ask(1, [{"count": 1}]),
            lambda: self.engine.ask(1, updates=[{"container": -1, "change": "demote"}]),
            lambda: self.engine.ask(1, updates=[{"change": "demote"}]),
            lambda: self.engine.ask_gang(1, {"minimum": 2}),
            lambda: self.engine.ask_gang(1, GANG | {"minimum": -2}),
            lambda: self.engine.advance(-1),
            lambda: self.engine.add_node(None, (1, 1)),
        ):
            with self.assertRaises((TypeError, OverflowError, KeyError)):
                call()
        self.assertEqual(self.engine.state_hash(), before)

    def test_containers_outlive_the_attempt_of_their_master(self):
        engine = capsched.Engine(QUEUES)
        engine.add_node("n0:8041", (8192, 8))
        engine.submit(7, "root.a", "ann", master=(1024, 1), restarts="keeping_containers")
        engine.heartbeat("n0:8041")
        engine.ask(7, [{"size": (1024, 1), "count": 1}])
        engine.heartbeat("n0:8041")
        granted = engine.ask(7)["allocated"]
        self.assertEqual(len(granted), 1)
        engine.heartbeat("n0:8041")
        engine.events()
        engine.container_finished("container_1_0007_01_000001", exit_status=1)
        last = engine.events()[-1]
        self.assertEqual((last["event"], last["attempt"]), ("attempt_ended", 1))
        with self.assertRaisesRegex(ValueError, "ended already"):
            engine.end_attempt(7)
        self.assertEqual(engine.start_attempt(7), 2)
        self.assertEqual([app["live"] for app in engine.state()["apps"]], [[2]])
        with self.assertRaisesRegex(ValueError, "sometimes"):
            engine.submit(8, "root.a", "ann", restarts="sometimes")

    def test_a_refresh_takes_another_configuration_over(self):
        before = self.engine.state_hash()
        self.engine.refresh(QUEUES | {
            "yarn.scheduler.capacity.root.a.capacity": 30,
            "yarn.scheduler.capacity.root.b.capacity": 70,
        })
        self.assertNotEqual(self.engine.state_hash(), before)

    def test_a_refresh_brings_labels(self):
        with self.assertRaisesRegex(ValueError, "gpu"):
            self.engine.refresh(QUEUES, partitions=[("gpu", True), ("gpu", True)])
        self.engine.refresh(QUEUES, partitions=[("gpu", True)])
        self.engine.add_node("n1:8041", (8192, 8), partition="gpu")
        self.engine.refresh(QUEUES, partitions=[])
        with self.assertRaises(ValueError):
            self.engine.add_node("n2:8041", (8192, 8), partition="gpu")

    def test_engines_of_several_threads_do_not_meet(self):
        def use():
            engine = capsched.Engine(QUEUES)
            engine.add_node("n0:8041", (8192, 8))
            hashes.append(engine.state_hash())

        hashes = []
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(hashes)), 1)


if __name__ == "__main__":
    print(sys.version)
    unittest.main(verbosity=2)
