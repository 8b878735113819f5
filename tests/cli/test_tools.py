#!/usr/bin/env python3
"""Event files and uploads, read back by TensorBoard, W&B and MLflow themselves. scripts/test-tools runs this in its own virtual environment; it is not
among the default tests."""
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
import types
import urllib.parse
import urllib.request

import mlflow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

import test_export
from program import ROOT, main, record
from test_export import DIVERGING, ExportTest, lines


def accumulator(path):
    out = EventAccumulator(str(path), size_guidance={"scalars": 0, "histograms": 0})
    out.Reload()
    return out


def scalars(*paths):
    """Of one file, or of the directory that several share."""
    found = accumulator(paths[0] if len(paths) == 1 else paths[0].parent)
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def hparams(path):
    content = accumulator(path).PluginTagToContent("hparams")
    start = metadata.parse_session_start_info_plugin_data(content["_hparams_/session_start_info"])
    end = content.get("_hparams_/session_end_info")
    keys = {key: getattr(value, value.WhichOneof("kind")) for key, value in start.hparams.items()}
    return start.group_name, keys, end and metadata.parse_session_end_info_plugin_data(end).status


def histograms(path):
    found = accumulator(path)
    return {tag: (event.step, event.histogram_value) for tag in found.Tags()["histograms"] for event in found.Histograms(tag)}


# The tests of test_export.py, which otherwise use a reader of their own.
test_export.tensorboard = types.SimpleNamespace(scalars=scalars, hparams=hparams, histograms=histograms)


class EventFiles(test_export.TensorBoard):
    pass


class Server(ExportTest):
    """What TensorBoard's page is given, by its own loader and by its data server."""

    @contextlib.contextmanager
    def serve(self, load_fast):
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", "runs/study/tensorboard", "--port", "0", f"--load_fast={load_fast}"]
        process = subprocess.Popen(command, cwd=self.tmp, stderr=subprocess.PIPE, text=True)
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if " at http://" in line:
                    break
            else:
                self.fail("".join(said))
            self.url = line.split(" at ")[1].split()[0] + "data/"
            yield
        finally:
            process.terminate()
            process.communicate()

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}") as answer:
            return json.load(answer)

    def wait_for_runs(self, names):
        deadline = time.time() + 60
        while set(found := self.get("plugin/scalars/tags")) != names and time.time() < deadline:
            time.sleep(0.2)
        self.assertEqual(set(found), names)
        return found

    def check(self):
        runs = {str(run.relative_to(self.tmp / "runs/study")): run for run in self.runs()}
        variants = {run.parent.name for run in runs.values()}
        tags = self.wait_for_runs({*runs, *(f"{variant}/{name}" for variant in variants for name in ("mean", "low", "high"))})
        for name, run in runs.items():
            expected = self.expected_scalars(run)
            self.assertEqual(set(tags[name]), set(expected))
            for tag, points in expected.items():
                self.assertEqual([tuple(point[1:]) for point in self.get("plugin/scalars/scalars", run=name, tag=tag)], points)
        for variant in variants:
            final = {name: self.get("plugin/scalars/scalars", run=f"{variant}/{name}", tag="val/loss")[-1][2] for name in ("mean", "low", "high")}
            mean = statistics.mean(record(run)["summary"]["metrics"]["val/loss"]["final"] for run in runs.values() if run.parent.name == variant)
            self.assertAlmostEqual(final["mean"], mean, places=6)
            self.assertTrue(final["low"] < final["mean"] < final["high"], final)

        asked = {"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "colParams": [{"metric": {"group": "", "tag": "val/loss"}}],
                 "aggregationType": "AGGREGATION_AVG", "startIndex": 0, "sliceSize": 100}
        groups = {group["name"]: group for group in self.get("plugin/hparams/session_groups", request=json.dumps(asked))["sessionGroups"]}
        self.assertEqual(set(groups), variants)
        for name, group in groups.items():
            own = {run_name: record(run) for run_name, run in runs.items() if run.parent.name == name}
            self.assertEqual({session["name"] for session in group["sessions"]}, set(own))
            ffn = next(iter(own.values()))["config"]["model"]["ffn"]
            self.assertEqual(group["hparams"], {"model.ffn.activation": ffn["activation"], "model.ffn.expansion": ffn["expansion"]})
            [value] = [metric for metric in group["metricValues"] if metric["name"] == {"group": "", "tag": "val/loss"}]
            mean = statistics.mean(one["summary"]["metrics"]["val/loss"]["final"] for one in own.values())
            self.assertAlmostEqual(value["value"], mean, places=6)

    def test_the_page_has_every_run_variant_and_session_group(self):
        self.study(seeds=3)
        self.ok("export", "runs/study", "--tensorboard")
        for load_fast in ("false", "true"):
            with self.subTest(load_fast=load_fast), self.serve(load_fast):
                self.check()


class Uploads(ExportTest):
    def setUp(self):
        super().setUp()
        self.study()
        self.study(code=1, **{key: DIVERGING[key] for key in ("name", "train", "sweep")})

    def everything(self):
        """run.json and metrics.jsonl of every run, by identity; what is not finite as a number."""
        runs = [run for study in ("runs/study", "runs/diverging") for run in self.runs(study)]
        self.assertEqual(len(runs), 20)
        numbers = lambda row: {key: value if key == "step" else float(value) for key, value in row.items()}
        return {record(run)["identity"]: (run, record(run), list(map(numbers, lines(run / "metrics.jsonl")))) for run in runs}

    def upload(self, script, **environment):
        done = subprocess.run([sys.executable, str(ROOT / "scripts" / script), "runs", "project"], cwd=self.tmp, capture_output=True, text=True,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_wandb_reads_every_run(self):
        said = self.upload("to_wandb", WANDB_MODE="offline")
        self.assertNotIn("WARNING", said)
        expected = self.everything()
        places = list((self.tmp / "wandb").glob("offline-run-*"))
        self.assertEqual(len(places), len(expected))
        for place in places:
            told = subprocess.run([sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(place)], capture_output=True, text=True, check=True).stdout
            records = {}
            for entry in map(json.loads, told.splitlines()):
                records.setdefault(entry["type"], []).append(entry[entry["type"]])
            [about] = records["run"]
            run, own, rows = expected.pop(about["run_id"])
            self.assertEqual((about["project"], about["run_group"], about["display_name"]), ("project", run.parent.name, f"{run.parent.name}/{run.name}"))
            self.assertEqual({key: value for key, value in about["config"]["update"].items() if key != "_wandb"}, own["config"])
            history = [{"step": item["_step"], **{key: float(value) for key, value in item.items() if key[0] != "_"}}
                       for item in (entry["item"] for entry in records["history"])]
            self.assertEqual(str([sorted(row.items()) for row in history]), str([sorted(row.items()) for row in rows]))  # as text: NaN is then itself
            summary = {key: value for entry in records["summary"] for key, value in entry["update"].items()}
            self.assertEqual(summary["state"], own["state"])
            self.assertEqual(str(float(summary["val/loss"])), str(rows[-1]["val/loss"]))
            self.assertEqual(records["exit"][0].get("exit_code", 0), 0 if own["state"] == "done" else 1)

    def test_mlflow_reads_every_run(self):
        store = f"sqlite:///{self.tmp}/mlflow.db"
        self.upload("to_mlflow", MLFLOW_TRACKING_URI=store)
        expected = self.everything()
        client = mlflow.MlflowClient(store)
        uploaded = client.search_runs([client.get_experiment_by_name("project").experiment_id])
        self.assertEqual(len(uploaded), len(expected))
        for upload in uploaded:
            run, own, rows = expected.pop(upload.data.tags["identity"])
            self.assertEqual((upload.data.tags["variant"], upload.data.tags["state"]), (run.parent.name, own["state"]))
            self.assertEqual((upload.info.run_name, upload.info.status), (f"{run.parent.name}/{run.name}", "FINISHED" if own["state"] == "done" else "FAILED"))
            params = upload.data.params
            for key, value in (("seed", own["config"]["seed"]), ("model.ffn.activation", own["config"]["model"]["ffn"]["activation"]),
                               ("train.optimizer.lr", own["config"]["train"]["optimizer"]["lr"])):
                self.assertEqual(params[key], str(value))
            self.assertEqual({key.split(".")[0] for key in params}, set(own["config"]))
            curves = {}
            for row in rows:
                for key, value in row.items():
                    if key != "step":
                        # A database holds no infinity: MLflow keeps the largest number instead.
                        curves.setdefault(key, []).append((row["step"], math.copysign(sys.float_info.max, value) if math.isinf(value) else value))
            found = {key: [(metric.step, metric.value) for metric in client.get_metric_history(upload.info.run_id, key)] for key in upload.data.metrics}
            self.assertEqual(str(sorted((key, sorted(points)) for key, points in found.items())), str(sorted(curves.items())))


if __name__ == "__main__":
    main()
