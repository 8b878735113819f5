#!/usr/bin/env python3
"""`ffn-train export` and `log.tensorboard`: tables and event files, read back by other means than those that wrote them."""
import csv
import ctypes
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

from program import ROOT, ProgramTest, main, record, run_at

try:
    import pandas
except ImportError:
    pandas = None
try:
    import tensorboard_reader as tensorboard
except ImportError:
    tensorboard = None

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


def single(x):
    """As single precision holds it."""
    return ctypes.c_float(x).value


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

    def expected_scalars(self, run):
        """{tag: [(step, value)]} of a run's metrics.jsonl, in single precision."""
        out = {}
        for line in lines(run / "metrics.jsonl"):
            for metric, value in line.items():
                if "/" in metric:
                    out.setdefault(metric, []).append((line["step"], single(float(value))))
        return out


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
        notes = self.export("runs/study", "--csv", "--tensorboard")["notes"]
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
        self.assertIn("--csv", self.fails(2, "export", "."))
        self.assertIn("no run has begun", self.fails(3, "export", ".", "--csv"))
        self.assertIn("no directory nowhere", self.fails(3, "export", "nowhere", "--csv"))
        self.assertIn("--tensorboard", self.fails(2, "export", ".", "--csv", "--histograms"))

    def test_an_export_is_no_part_of_a_study(self):
        self.study()
        before = self.ok("compare", "runs/study").stdout
        self.export("runs/study", "--csv", "--tensorboard")
        self.ok("check", "runs/study")
        self.assertEqual(self.ok("compare", "runs/study").stdout, before)
        self.assertIn("0 trained now", self.ok("--config", "study.json").stderr)


@unittest.skipUnless(tensorboard, "needs python3-protobuf")
class TensorBoard(ExportTest):
    def event_file(self, directory):
        found = list(run_at(self.tmp / directory).glob("events.out.tfevents.*"))
        self.assertEqual(len(found), 1, directory)
        return found[0]

    def check_scalars(self, run, *paths):
        """The scalars of a run's event files are those of metrics.jsonl, each once."""
        self.assertEqual(str({tag: points for tag, points in tensorboard.scalars(*paths).items() if points}), str(self.expected_scalars(run)))  # as text: NaN is then itself

    def test_every_run_has_its_scalars_and_the_variant_is_its_group(self):
        self.study()
        self.assertEqual(self.export("runs/study", "--tensorboard")["tensorboard"], {"directory": "runs/study/tensorboard", "runs": 16, "variants": 4})
        for run in self.runs():
            path = self.event_file("runs/study/tensorboard" / run.relative_to(self.tmp / "runs/study"))
            self.check_scalars(run, path)
            group, keys, end = tensorboard.hparams(path)
            config = record(run)["config"]["model"]["ffn"]
            self.assertEqual(group, run.parent.name)
            self.assertEqual(keys, {"model.ffn.activation": config["activation"], "model.ffn.expansion": config["expansion"]})
            self.assertEqual(end, 1)

    def test_a_variant_has_the_mean_of_its_seeds_and_its_interval(self):
        self.study()
        self.export("runs/study", "--tensorboard")
        variant = "activation=gelu+expansion=4"
        curves = [{line["step"]: line["val/loss"] for line in lines(run / "metrics.jsonl")} for run in self.runs("runs/study/" + variant)]
        self.assertEqual(len(curves), 4)
        mean, low, high = (dict(tensorboard.scalars(self.event_file(f"runs/study/tensorboard/{variant}/{name}"))["val/loss"]) for name in ("mean", "low", "high"))
        self.assertEqual(set(mean), set(curves[0]))
        for step in mean:
            values = [curve[step] for curve in curves]
            centre = sum(values) / 4
            half = 3.182446305284263 * math.sqrt(sum((v - centre) ** 2 for v in values) / 3 / 4)  # t of 3 degrees of freedom at 97.5 %
            for found, expected in ((mean, centre), (low, max(0, centre - half)), (high, centre + half)):  # no loss is below 0
                self.assertAlmostEqual(found[step], expected, delta=1e-6 * abs(expected) + 1e-9)
        accuracy = [v for name in ("low", "high") for v in tensorboard.scalars(self.event_file(f"runs/study/tensorboard/{variant}/{name}"))["val/accuracy"]]
        self.assertTrue(all(0 <= value <= 1 for _, value in accuracy), accuracy)

    def test_metrics_of_single_blocks_are_there_too(self):
        self.study(log={"layers": True}, train={**STUDY["train"], "layer_metrics": True})
        self.export("runs/study", "--csv", "--tensorboard")
        name = "ffn/zero_fraction.0"
        curve = dict(tensorboard.scalars(self.event_file("runs/study/tensorboard/activation=relu+expansion=4/mean"))[name])
        runs = self.runs("runs/study/activation=relu+expansion=4")
        last = [lines(run / "metrics.jsonl")[-1][name] for run in runs]
        self.assertAlmostEqual(curve[200], sum(last) / 4, places=6)
        with open(self.tmp / "runs/study/runs.csv", newline="") as file:
            found = {row["run"]: row[name] for row in csv.DictReader(file)}
        self.assertEqual([float(found[str(run.relative_to(self.tmp))]) for run in runs], last)

    def test_diverged_runs_end_as_failures(self):
        self.study(code=1, **{k: DIVERGING[k] for k in ("name", "train", "sweep")})
        self.export("runs/diverging", "--tensorboard")
        for run in self.runs("runs/diverging"):
            path = self.event_file("runs/diverging/tensorboard" / run.relative_to(self.tmp / "runs/diverging"))
            self.assertEqual(tensorboard.hparams(path)[2], 2)
            self.check_scalars(run, path)

    def test_histograms_are_those_of_the_weights(self):
        self.ok("xor", "train.steps=50", "-q")
        self.export("runs/xor", "--tensorboard", "--histograms")
        found = tensorboard.histograms(self.event_file("runs/xor/tensorboard/xor/seed-0"))
        data = ((run_at(self.tmp / "runs/xor/seed-0") / "model.safetensors")).read_bytes()
        size = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + size])
        header.pop("__metadata__")
        self.assertEqual({name for name in found if name.startswith("weights/")}, {"weights/" + name for name in header})
        for name, about in header.items():
            begin, end = (8 + size + offset for offset in about["data_offsets"])
            values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            step, histogram = found["weights/" + name]
            self.assertEqual((step, histogram.num, histogram.min, histogram.max), (50, len(values), min(values), max(values)))
            self.assertAlmostEqual(histogram.sum, math.fsum(values), places=9)
            limits, below = list(histogram.bucket_limit), 0
            for limit, count in zip(limits, histogram.bucket):
                below += count
                self.assertEqual(below, sum(v <= limit for v in values), name)
            self.assertEqual(limits, sorted(set(limits)))

    def test_histograms_of_activations_are_those_of_the_network_in_python(self):
        self.ok("xor", "train.steps=50", "model.ffn.kind=gated", "model.ffn.activation=silu", "-q")
        self.export("runs/xor", "--tensorboard", "--histograms")
        found = tensorboard.histograms(self.event_file("runs/xor/tensorboard/xor/seed-0"))
        # The four patterns, through the modules of scripts/ffn_train_networks.py; hooks tell what φ gets and what the last matrix gets.
        program = """if True:
            import ffn_train, json, torch
            model, seen = ffn_train.load("runs/xor/seed-0"), {}
            ffn = model.block0.ffn
            ffn.gate.register_forward_hook(lambda module, given, out: seen.update({"pre_activation/block0": out}))
            ffn.down.register_forward_hook(lambda module, given, out: seen.update({"hidden/block0": given[0]}))
            model(torch.tensor([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)]))
            print(json.dumps({name: [x.numel(), x.min().item(), x.max().item(), x.double().sum().item(), x.double().square().sum().item()] for name, x in seen.items()}))"""
        told = subprocess.run(["/usr/bin/python3", "-c", program], cwd=self.tmp, env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")}, capture_output=True, text=True)
        if "No module named 'torch'" in told.stderr:
            self.skipTest("needs python3-torch")
        expected = json.loads(told.stdout or self.fail(told.stderr))
        self.assertEqual(len(expected), 2)
        for name, numbers in expected.items():
            step, histogram = found[name]
            self.assertEqual((step, histogram.num), (50, numbers[0]))
            for x, y in zip((histogram.min, histogram.max, histogram.sum, histogram.sum_squares), numbers[1:]):
                self.assertAlmostEqual(x, y, delta=1e-5 * (1 + abs(y)))

    def test_a_network_without_hidden_layers_lacks_no_activations(self):
        self.ok("xor", "model.ffn.kind=none", "train.steps=20", "-q")
        self.assertEqual(self.export("runs/xor", "--tensorboard", "--histograms")["notes"], [])

    def test_the_same_runs_make_the_same_files_over_the_old_ones(self):
        self.study()
        self.export("runs/study", "--tensorboard")
        files = lambda: {p: p.read_bytes() for p in (self.tmp / "runs/study/tensorboard").rglob("*") if p.is_file()}
        first = files()
        self.export("runs/study", "--tensorboard")
        self.assertEqual(files(), first)

    def test_several_studies_keep_their_names(self):
        for name in ("one", "two"):
            self.ok("--config", self.write("study.json", {**STUDY, "name": name, "seeds": 2}), "-q")
        self.export("runs/one", "runs/two", "--tensorboard", "-o", "tb")
        self.event_file("tb/tensorboard/one/activation=gelu+expansion=4/seed-0")
        self.event_file("tb/tensorboard/two/activation=gelu+expansion=4/mean")

    # ---- log.tensorboard

    def test_it_is_off_by_default_and_makes_no_other_run(self):
        self.study()
        self.assertFalse([name for name in self.files() if "tfevents" in name])
        self.assertIn("0 trained now", self.ok("--config", "study.json", "log.tensorboard=true").stderr)
        tensors = lambda out: [data[8 + struct.unpack_from("<Q", data)[0]:] for data in ((run / "model.safetensors").read_bytes() for run in self.runs(out))]
        self.ok("--config", "study.json", "log.tensorboard=true", "-q", "-o", "with")
        self.assertEqual(tensors("with/study"), tensors("runs/study"))

    def test_a_study_writes_them_while_it_trains(self):
        self.study(log={"tensorboard": True})
        for run in self.runs():
            path = self.event_file(run.relative_to(self.tmp))
            self.check_scalars(run, path)
            group, keys, end = tensorboard.hparams(path)
            self.assertEqual((group, end), ("study/" + run.parent.name, 1))
            self.assertEqual((keys["model.d_model"], keys["train.optimizer.lr"], keys["model.ffn.activation"] in ("relu", "gelu")), (8, 0.005, True))
            self.assertFalse({"seed", "name"} & set(keys))
        self.ok("check", "runs/study")

    def test_what_was_moved_aside_can_be_cleaned_with_its_events(self):
        for more in ([], ["--fresh"]):
            self.ok("xor", "train.steps=20", "log.tensorboard=true", "-q", *more)
        [old] = (self.tmp / "runs/xor").glob("seed-0.*.old-1")
        self.event_file(old)
        self.ok("clean", "--yes")
        self.assertFalse(old.exists())

    def test_a_resumed_run_begins_a_file_with_every_evaluation(self):
        config = self.write("long.json", {**STUDY, "name": "long", "seeds": 1, "sweep": {"grid": {}}, "log": {"tensorboard": True},
                                          "train": {"steps": 300000, "eval_every": 1000, "checkpoint_every": 5000, "optimizer": {"lr": 0.005}}})
        run = None
        for starts, how in enumerate((signal.SIGKILL, signal.SIGINT), 1):
            process = subprocess.Popen(self.command("--config", config, "-q"), cwd=self.tmp, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
            deadline = time.time() + 60
            while time.time() < deadline and not list(self.tmp.rglob("checkpoint.safetensors")):
                time.sleep(0.02)
            time.sleep(0.3)
            run = next(self.tmp.rglob("run.json")).parent
            os.killpg(process.pid, how) if how == signal.SIGKILL else process.send_signal(how)
            process.wait(60)
            self.assertEqual(len(list(run.glob("events.out.tfevents.*"))), starts)
        self.ok("--config", config, "-q")
        self.assertIn("resumed_at_step", (run / "run.json").read_text())
        files = sorted(run.glob("events.out.tfevents.*"))
        self.assertEqual(len(files), 3)
        self.check_scalars(run, *files)
        self.check_scalars(run, files[-1])

    def test_one_that_is_switched_on_later_has_what_was_before(self):
        config = self.write("long.json", {**STUDY, "name": "long", "seeds": [0], "sweep": {"grid": {}},
                                          "train": {"steps": 300000, "eval_every": 1000, "checkpoint_every": 5000, "optimizer": {"lr": 0.005}}})
        process = subprocess.Popen(self.command("--config", config, "-q"), cwd=self.tmp, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.time() + 60
        while time.time() < deadline and not list(self.tmp.rglob("checkpoint.safetensors")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        self.ok("--config", config, "log.tensorboard=true", "-q")
        run = next(self.tmp.rglob("run.json")).parent
        self.check_scalars(run, self.event_file(run.relative_to(self.tmp)))


class Uploads(ExportTest):
    """The scripts with stand-ins for the packages, which record what they are asked; scripts/test-tools uses the packages themselves."""

    def upload(self, script, **modules):
        (self.tmp / "fake").mkdir(exist_ok=True)
        for name, text in modules.items():
            self.write(f"fake/{name}.py", text)
        result = subprocess.run(["/usr/bin/python3", str(ROOT / "scripts" / script), "runs/diverging", "project"], cwd=self.tmp, capture_output=True, text=True,
                                env={**os.environ, "PYTHONPATH": str(self.tmp / "fake")})
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

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
