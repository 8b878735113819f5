#!/usr/bin/env python3
"""`ffn-train export`, and what the scripts give to TensorBoard, W&B and MLflow."""
import csv
import json
import math
import os
import shutil
import subprocess
import unittest

from program import ROOT, ProgramTest, main, record

try:
    import pandas
except ImportError:
    pandas = None

STUDY = {
    "name": "study", "seeds": 4,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 200, "eval_every": 20, "optimizer": {"lr": 0.005}, "target": {"metric": "val/loss", "at_most": 0.1}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 4]}},
}
DIVERGING = {**STUDY, "name": "diverging", "train": {**STUDY["train"], "eval_every": 1, "optimizer": {"kind": "sgd", "lr": 1e20}},
             "sweep": {"grid": {"model.ffn.activation": ["relu"]}}}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class ExportTest(ProgramTest):
    def study(self, code=0, **changes):
        result = self.run_program("--config", self.write("study.json", {**STUDY, **changes}), "-q")
        self.assertEqual(result.returncode, code, result.stderr)

    def export(self, *arguments):
        return json.loads(self.ok("export", *arguments, "--json").stdout)

    def runs(self, study="runs/study"):
        found = sorted(p.parent for p in (self.tmp / study).rglob("run.json"))
        self.assertTrue(found)
        return found


class Csv(ExportTest):
    def rows(self, name):
        with open(self.tmp / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, strict=True))

    def test_the_tables_have_every_number_of_every_run(self):
        self.study()
        told = self.export("runs/study", "--csv")
        self.assertEqual((told["runs"], told["csv"]["curves"]), (16, "runs/study/curves.csv"))
        rows = self.rows("runs/study/curves.csv")
        self.assertEqual(len(rows), told["csv"]["curve_rows"])
        expected = {}
        for run in self.runs():
            for line in lines(run / "metrics.jsonl"):
                for metric, value in line.items():
                    if "/" in metric:
                        expected[str(run.relative_to(self.tmp)), line["step"], metric] = (value, line["time_s"], line["tokens"])
        found = {(row["run"], int(row["step"]), row["metric"]): (float(row["value"]), float(row["time_s"]), int(row["tokens"])) for row in rows}
        self.assertEqual(found, expected)  # to the last bit
        for row in self.rows("runs/study/runs.csv"):
            summary = record(self.tmp / row["run"])["summary"]
            config = record(self.tmp / row["run"])["config"]
            self.assertEqual((row["model.ffn.activation"], row["seed"], row["state"]), (config["model"]["ffn"]["activation"], str(config["seed"]), "done"))
            self.assertEqual(float(row["val/loss"]), summary["metrics"]["val/loss"]["final"])
            self.assertEqual(float(row["best val/loss"]), summary["metrics"]["val/loss"]["best"])
            self.assertEqual(row["hit_step"], str(summary["hit"]["step"]) if summary["hit"] else "")
            self.assertEqual(int(row["parameters"]), summary["parameters"])

    def test_what_is_not_finite_is_written_as_pandas_and_r_read_it(self):
        self.study(code=1, **{k: DIVERGING[k] for k in ("name", "train", "sweep")})
        self.export("runs/diverging", "--csv")
        values = {row["value"] for row in self.rows("runs/diverging/curves.csv")}
        odd = {value for value in values if not math.isfinite(float(value))}
        self.assertTrue(odd and odd <= {"NaN", "Inf", "-Inf"}, odd)
        self.assertEqual({row["state"] for row in self.rows("runs/diverging/runs.csv")}, {"diverged"})

    def test_a_run_that_diverged_has_no_final_value(self):
        self.run_program("xor", "name=some", "model.ffn.activation=relu,relu2", "train.optimizer.kind=sgd", "train.optimizer.lr=1", "seeds=4", "train.steps=60",
                         "train.eval_every=5", "-q")
        self.export("runs/some", "--csv")
        rows = self.rows("runs/some/runs.csv")
        self.assertEqual({row["state"] for row in rows}, {"done", "diverged"})
        for row in rows:
            self.assertEqual(row["val/loss"] == "", row["state"] == "diverged")
            self.assertNotEqual(row["best val/loss"], "")

    @unittest.skipUnless(pandas, "needs python3-pandas")
    def test_pandas_reads_numbers_as_numbers(self):
        self.study()
        self.export("runs/study", "--csv")
        curves, runs = (pandas.read_csv(self.tmp / "runs/study" / name) for name in ("curves.csv", "runs.csv"))
        self.assertEqual([str(curves[c].dtype) for c in ("seed", "step", "tokens", "value", "model.ffn.expansion")], ["int64", "int64", "int64", "float64", "int64"])
        self.assertFalse(curves.drop(columns="label").isna().any().any())
        last = curves[(curves.metric == "val/loss") & (curves.step == 200)].set_index("run")["value"]
        self.assertEqual(last.to_dict(), runs.set_index("run")["val/loss"].to_dict())
        means = runs.groupby(["model.ffn.activation", "model.ffn.expansion"])["val/loss"].mean()
        self.assertEqual(len(means), 4)

    @unittest.skipUnless(shutil.which("Rscript"), "needs r-base-core")
    def test_r_reads_numbers_as_numbers(self):
        self.run_program("--config", self.write("study.json", {**DIVERGING, "sweep": STUDY["sweep"]}), "-q")
        self.export("runs/diverging", "--csv")
        program = """
            curves <- read.csv("runs/diverging/curves.csv", check.names = FALSE)
            runs <- read.csv("runs/diverging/runs.csv", check.names = FALSE)
            cat(sapply(curves[c("seed", "step", "tokens", "time_s", "value", "model.ffn.expansion", "model.ffn.activation")], class), "\n")
            cat(class(runs[["val/loss"]]), class(runs$hit_step), nrow(runs), sum(is.nan(curves$value)) > 0, "\n")
            cat(format(curves$value[1:5], digits = 17), "\n")"""
        told = subprocess.run(["Rscript", "-e", program], cwd=self.tmp, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(told[0].split(), ["integer"] * 3 + ["numeric"] * 2 + ["integer", "character"])
        self.assertEqual(told[1].split(), ["numeric", "logical", "16", "TRUE"])  # no run got there: nothing but missing values
        finite = [float(row["value"]) for row in self.rows("runs/diverging/curves.csv")[:4]]
        self.assertEqual([float(x) for x in told[2].split()[:4]], finite)

    @unittest.skipUnless(pandas, "needs python3-pandas")
    def test_the_columns_are_those_of_ffn_train_py(self):
        self.study()
        self.export("runs/study", "--csv")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
        told = subprocess.run(["/usr/bin/python3", "-c", "import ffn_train; print(list(ffn_train.runs('runs/study')), list(ffn_train.metrics('runs/study')), sep='\\n')"],
                              cwd=self.tmp, env=environment, capture_output=True, text=True)
        if "No module named" in told.stderr:
            self.skipTest("needs python3-torch")
        for name, columns in zip(("runs.csv", "curves.csv"), told.stdout.splitlines()):
            own = list(self.rows("runs/study/" + name)[0])
            self.assertEqual(set(eval(columns)) - set(own), set())
            self.assertLessEqual(set(own) - set(eval(columns)), {"variant", "time_s", "tokens"})

    def test_a_damaged_file_is_named_once_and_one_that_is_missing_as_such(self):
        self.study()
        runs = self.runs()
        (runs[0] / "metrics.jsonl").write_text((runs[0] / "metrics.jsonl").read_text().replace("0", "1", 1))
        (runs[1] / "metrics.jsonl").unlink()
        notes = self.export("runs/study", "--csv")["notes"]
        self.assertEqual(len(notes), 2, notes)
        self.assertIn("damaged", notes[0])
        self.assertTrue(notes[1].endswith("metrics.jsonl is missing"), notes)

    def test_a_study_has_its_answer_finished_or_not(self):
        self.study()
        before = (self.tmp / "runs/study/study.json").read_text()
        self.assertEqual(self.export("runs/study", "--csv")["csv"]["compare"], "runs/study/compare.csv")
        self.assertEqual(self.ok("compare", "runs/study", "--csv").stdout.splitlines(), (self.tmp / "runs/study/compare.csv").read_text().splitlines())
        answer = json.loads((self.tmp / "runs/study/compare.json").read_text())["answer"]
        self.assertTrue(self.ok("compare", "runs/study", env={**os.environ, "COLUMNS": "1000"}).stdout.startswith(answer))
        self.assertEqual({row["answer"] for row in self.rows("runs/study/compare.csv")}, {answer})
        self.assertEqual((self.tmp / "runs/study/study.json").read_text(), before)
        (self.tmp / "runs/study/compare.csv").unlink()
        shutil.rmtree(self.runs()[0])
        self.export("runs/study", "--csv")
        self.assertEqual(self.ok("compare", "runs/study", "--csv").stdout.splitlines(), (self.tmp / "runs/study/compare.csv").read_text().splitlines())
        self.assertEqual(sum(int(row["runs"]) - int(row["done"]) for row in self.rows("runs/study/compare.csv")), 1)
        self.assertEqual((self.tmp / "runs/study/study.json").read_text(), before)

    def test_tables_of_others_are_not_overwritten(self):
        self.study(seeds=1)
        for name in ("runs.csv", "curves.csv", "compare.csv"):
            for text in ("mine,too\n1,2\n", ",run,variant,seed,state,steps\n0,a,b,0,done,7\n"):  # the latter with an index, as pandas adds one
                mine = self.write(f"tables/{name}", text)
                message = " ".join(self.fails(2, "export", "runs/study", "--csv", "-o", "tables").split())
                self.assertIn(f"tables/{name} exists", message)
                self.assertIn("with -o", message)
                self.assertEqual(mine.read_text(), text)
                self.assertEqual([path.name for path in (self.tmp / "tables").iterdir()], [name])
            mine.unlink()
        self.export("runs/study", "--csv", "-o", "tables")
        first = (self.tmp / "tables/curves.csv").read_text()
        self.study(seeds=2)
        self.export("runs/study", "--csv", "-o", "tables")
        self.assertGreater(len((self.tmp / "tables/curves.csv").read_text()), len(first))

    def test_what_is_wrong_is_said(self):
        self.assertIn("no run has begun", self.fails(3, "export", ".", "--csv"))
        self.assertIn("no directory nowhere", self.fails(3, "export", "nowhere", "--csv"))

    def test_an_export_is_no_part_of_a_study(self):
        self.study()
        before = self.ok("compare", "runs/study").stdout
        self.export("runs/study", "--csv")
        self.ok("check", "runs/study")
        self.assertEqual(self.ok("compare", "runs/study").stdout, before)
        self.assertIn("0 trained now", self.ok("--config", "study.json").stderr)


class Uploads(ExportTest):
    """The scripts with stand-ins for the packages, which record what they are asked; scripts/check/tools uses the packages themselves."""

    def upload(self, script, **modules):
        (self.tmp / "fake").mkdir(exist_ok=True)
        for name, text in modules.items():
            self.write(f"fake/{name}.py", text)
        result = subprocess.run(["/usr/bin/python3", str(ROOT / "scripts" / script), "runs/diverging", "project"], cwd=self.tmp, capture_output=True, text=True,
                                env={**os.environ, "PYTHONPATH": str(self.tmp / "fake")})
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines() if line[0] == "["]

    def setUp(self):
        super().setUp()
        self.study(code=1, **{k: DIVERGING[k] for k in ("name", "train", "sweep")})

    def test_wandb_gets_every_evaluation(self):
        calls = self.upload("to_wandb", wandb="""
import json
class Run:
    summary = {}
    def log(self, row, step): print(json.dumps(["log", step, row]))
    def finish(self, exit_code): print(json.dumps(["finish", exit_code, self.summary]))
def init(**about):
    print(json.dumps(["init", about["group"], about["id"], about["config"]["seed"]]))
    return Run()
""")
        logged = [call for call in calls if call[0] == "log"]
        self.assertEqual(len(logged), sum(len(lines(run / "metrics.jsonl")) for run in self.runs("runs/diverging")))
        self.assertTrue(all(isinstance(value, (int, float)) for _, _, row in logged for value in row.values()))
        self.assertEqual(len({call[2] for call in calls if call[0] == "init"}), 4)
        self.assertEqual([call for call in calls if call[0] == "finish"], [["finish", 1, {"state": "diverged"}]] * 4)

    def test_tensorboard_gets_every_evaluation(self):
        self.upload("to_tensorboard", sitecustomize="""
import json, sys, types
class Message:
    def __init__(self, **fields): vars(self).update(fields)
    def SerializeToString(self): return json.dumps(vars(self), default=vars).encode() + bytes([10])
class RecordWriter:
    def __init__(self, file): self.write = file.write
def module(name, **content):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)
for name in ("tensorboard", "tensorboard.compat", "tensorboard.compat.proto", "tensorboard.plugins", "tensorboard.summary", "tensorboard.summary.writer"): module(name)
module("tensorboard.compat.proto.event_pb2", Event=Message)
Message.Value = Message
module("tensorboard.compat.proto.summary_pb2", Summary=Message)
module("tensorboard.summary.writer.record_writer", RecordWriter=RecordWriter)
module("tensorboard.plugins.hparams", api_pb2=Message(STATUS_SUCCESS=1, STATUS_FAILURE=2), summary_v2=Message(hparams_pb=lambda keys, trial_id, start_time_secs: [trial_id, keys]),
       plugin_data_pb2=Message(SessionEndInfo=Message, HParamsPluginData=Message),
       metadata=Message(SESSION_END_INFO_TAG="end", NULL_TENSOR=0, create_summary_metadata=lambda data: data.session_end_info.status))
""")
        for run in self.runs("runs/diverging"):
            version, keys, *evaluations, end = lines(next((self.tmp / "project" / run.relative_to(self.tmp / "runs")).glob("events.out.tfevents.*")))
            self.assertEqual(version["file_version"], "brain.Event:2")
            self.assertEqual((keys["summary"][0], keys["summary"][1]["train.optimizer.lr"]), (run.parent.name, 1e20))
            expected = [(row["step"], {name: float(value) for name, value in row.items() if "/" in name}) for row in lines(run / "metrics.jsonl")]
            found = [(event["step"], {value["tag"]: value["simple_value"] for value in event["summary"]["value"]}) for event in evaluations]
            self.assertEqual(str(found), str(expected))  # as text: NaN is then itself
            self.assertEqual(end["summary"]["value"][0]["metadata"], 2)
        with open(self.runs("runs/diverging")[0] / "metrics.jsonl", "a") as file:
            file.write('{"step"')
        self.upload("to_tensorboard")  # without the run that is damaged

    def test_mlflow_gets_every_value(self):
        (self.tmp / "fake/mlflow").mkdir(parents=True)
        self.write("fake/mlflow/entities.py", "from collections import namedtuple\nMetric = namedtuple('Metric', 'key value timestamp step')\n"
                                              "Param = namedtuple('Param', 'key value')\nRunTag = namedtuple('RunTag', 'key value')\n")
        self.write("fake/mlflow/__init__.py", """
import json, types
class MlflowClient:
    def get_experiment_by_name(self, name): return None
    def create_experiment(self, name): return "1"
    def create_run(self, experiment, run_name): return types.SimpleNamespace(info=types.SimpleNamespace(run_id=run_name))
    def log_batch(self, run, metrics=(), params=(), tags=()):
        assert len(metrics) <= 1000 and len(params) <= 100
        print(json.dumps(["batch", run, len(metrics), len(params), dict(tags)]))
    def set_terminated(self, run, status): print(json.dumps(["end", run, status]))
""")
        calls = self.upload("to_mlflow")
        values = sum(len(line) - 1 for run in self.runs("runs/diverging") for line in lines(run / "metrics.jsonl"))
        self.assertEqual(sum(call[2] for call in calls if call[0] == "batch"), values)
        self.assertEqual([call[2] for call in calls if call[0] == "end"], ["FAILED"] * 4)
        self.assertIn({"variant", "state", "identity"}, [set(call[4]) for call in calls if call[0] == "batch"])


if __name__ == "__main__":
    main()
