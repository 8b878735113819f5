#!/usr/bin/env python3
"""Runs that are trained further (keep: state), and that start from others' weights (--init-from)."""
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from program import ROOT, ProgramTest, main, record, run_at

sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ffn_train  # noqa: E402

ONE = {"name": "one", "task": {"kind": "xor"}, "model": {"ffn": {"kind": "moe", "num_experts": 4}},
       "train": {"steps": 60, "eval_every": 20, "batch_size": 8, "optimizer": {"lr": 0.002}}}


SLOW = ("train.batch_size=1024",)


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("train_seconds", "time_s", "files")}
    return value


class GoingOn(ProgramTest):
    def setUp(self):
        super().setUp()
        self.one = self.write("one.json", ONE)

    def runs(self, out):
        """{name of the run's directory: (weights, evaluations and summary but for times)} of finished runs of so many steps"""
        found = {}
        for path in sorted((self.tmp / out).rglob("run.json")):
            lines = (path.parent / "metrics.jsonl").read_text().splitlines()
            key = str(path.parent.relative_to(self.tmp / out))
            found[key] = ((path.parent / "model.safetensors").read_bytes(), [without_times(json.loads(line)) for line in lines],
                          without_times(record(path)["summary"]))
        return found

    def longer_equals_one_run(self, *settings, shorter=("train.steps=60",), longer="train.steps=150", said="going on from step 60 of"):
        """Trains a shorter run and goes on, and the longer one at once; returns what was said when it went on."""
        shutil.rmtree(self.tmp / "twice", ignore_errors=True)
        shutil.rmtree(self.tmp / "once", ignore_errors=True)
        self.ok(self.one, *settings, *shorter, "keep=state", "-o", "twice")
        before = self.runs("twice")
        told = self.ok(self.one, *settings, longer, "-o", "twice").stderr
        self.ok(self.one, *settings, longer, "-o", "once")
        twice, once = self.runs("twice"), self.runs("once")
        self.assertIn(said, told)
        self.assertEqual(len(twice), len(before) + len(once))
        self.assertEqual({k: v for k, v in twice.items() if k in before}, before)
        self.assertEqual({k: v for k, v in twice.items() if k not in before}, once)
        return told

    def test_plan_counts_the_steps_that_are_left(self):
        flops = lambda *more: json.loads(self.ok("plan", self.one, "seeds=2", *more, "--no-probe", "--json").stdout)["train_flops"]
        alone, long = flops(), flops("train.steps=150")
        self.assertEqual(long, alone * 150 / 60)
        self.ok(self.one, "seeds=2", "keep=state")
        self.assertEqual(flops("train.steps=150"), long - alone)
        self.assertIn("1 more run goes on", self.ok("plan", self.one, "seeds=2", "train.steps=150", "--no-probe").stderr)

    def test_a_longer_run_goes_on_to_the_bits_of_one_run(self):
        for engine in ("cpu", "torch"):
            self.longer_equals_one_run("compute.engine=" + engine)
        resumed = [s.get("resumed_at_step") for s in max((record(p) for p in (self.tmp / "twice").rglob("run.json")), key=lambda r: r["step"])["sessions"]]
        self.assertEqual(resumed, [None, 60])

    def test_the_last_evaluation_of_the_shorter_run_leaves_no_trace_where_none_is_due(self):
        self.longer_equals_one_run(shorter=("train.steps=50",), said="going on from step 50 of")
        self.longer_equals_one_run("train.schedule.warmup_steps=10", "train.optimizer.kind=sgd", "train.optimizer.lr=0.05")

    def test_a_hit_between_the_due_evaluations_is_no_hit_of_the_longer_run(self):
        target = ("train.eval_every=25", 'train.target={"metric":"val/loss","at_most":1e-4}')
        self.longer_equals_one_run(*target, shorter=("train.steps=40",), said="going on from step 40 of")
        hits = sorted((r["step"], r["summary"]["hit"]["step"]) for r in map(record, (self.tmp / "twice").rglob("run.json")))
        self.assertEqual(hits, [(40, 40), (150, 50)])
        stops = (*target, "train.target.stop=true", "train.target.patience=2")
        self.longer_equals_one_run(*stops, shorter=("train.steps=40",), said="going on from step 40 of")

    def test_a_study_goes_on_and_its_runs_may_be_at_different_steps(self):
        study = ("seeds=4", "model.ffn.activation=relu,gelu", "name=study")
        self.assertIn("7 more runs go on", self.longer_equals_one_run(*study))

    def stopped_at_checkpoint(self, how, *arguments):
        """Starts a run that takes a while, and ends it when it has its first checkpoint."""
        process = subprocess.Popen(self.command(self.one, *SLOW, *arguments), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        while not list((self.tmp / "twice").rglob("checkpoint.safetensors")):
            self.assertIsNone(process.poll())
            time.sleep(0.002)
        os.killpg(process.pid, how)  # its workers, too, which would write a last checkpoint when it dies
        return process.wait()

    def test_runs_of_a_cohort_go_on_from_one_step_before_and_after_its_evaluation(self):
        study = (*SLOW, "seeds=8", "name=study", "-j", "1", "-o")
        self.stopped_at_checkpoint(signal.SIGKILL, "seeds=1", "name=study", "train.steps=150", "train.checkpoint_every=60", "-o", "twice")
        (killed,) = (self.tmp / "twice").rglob("run.json")
        self.assertEqual(record(killed)["step"], 60)
        self.ok(self.one, *study, "twice", "keep=state")
        self.assertIn("6 more runs go on", self.ok(self.one, *study, "twice", "train.steps=150").stderr)
        self.assertEqual([s.get("resumed_at_step") for s in record(killed)["sessions"]], [None, 60])
        self.ok(self.one, *study, "once", "train.steps=150")
        twice, once = self.runs("twice"), self.runs("once")
        self.assertEqual({k: twice[k] for k in once}, once)

    def test_wsd_goes_on_from_before_its_decay_only(self):
        wsd = ("train.schedule.kind=wsd", "train.schedule.decay_fraction=0.5", "train.checkpoint_every=20")
        told = self.longer_equals_one_run(*wsd, said="its learning rate is another from step 31 on")
        self.assertIn("training from the start", told)
        self.longer_equals_one_run("train.schedule.kind=cosine", said="its learning rate is another from step 1 on")

    def test_an_interrupted_run_is_gone_on_from_where_it_was_stopped(self):
        wsd = ("train.schedule.kind=wsd", "train.eval_every=400", "train.checkpoint_every=50")
        self.assertEqual(self.stopped_at_checkpoint(signal.SIGINT, *wsd, "train.steps=600", "-o", "twice"), 75)
        (step,) = (record(p)["step"] for p in (self.tmp / "twice").rglob("run.json"))
        self.assertIn(f"going on from step {step} of", self.ok(self.one, *SLOW, *wsd, "train.steps=700", "-o", "twice").stderr)
        self.ok(self.one, *SLOW, *wsd, "train.steps=700", "-o", "once")
        (once,) = self.runs("once").items()
        self.assertEqual({p.parent.name: p for p in (self.tmp / "twice").rglob("model.safetensors")}.keys(), {once[0].split("/")[-1]})
        self.assertEqual((self.tmp / "twice" / once[0] / "model.safetensors").read_bytes(), once[1][0])

    def killed(self, after, *arguments):
        process = subprocess.Popen(self.command(*arguments), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after)
        process.kill()
        return process.wait() == -signal.SIGKILL

    def test_a_run_killed_at_any_moment_goes_on_to_the_same_bits(self):
        settings = ("train.eval_every=500", "train.checkpoint_every=700")
        self.ok(self.one, *settings, "train.steps=3000", "keep=state", "-o", "twice")
        (shorter,) = self.runs("twice")
        kills = 0
        for after in (0.03, 0.05, 0.08, 0.12, 0.2, 0.3):
            kills += self.killed(after, self.one, *settings, "train.steps=12000", "-o", "twice")
        self.ok(self.one, *settings, "train.steps=12000", "-o", "twice")
        self.ok(self.one, *settings, "train.steps=12000", "-o", "once")
        twice, once = self.runs("twice"), self.runs("once")
        self.assertEqual(len(twice), 2)
        self.assertEqual({k: v for k, v in twice.items() if k != shorter}, once)
        self.assertGreater(kills, 0)

    def test_a_state_that_was_not_kept_is_said_and_nothing_is_trained_again(self):
        self.ok(self.one)
        self.assertIn("train with keep=state", self.ok(self.one, "train.steps=150").stderr)
        self.assertIn("its state was not kept", self.ok(self.one, "keep=state").stderr)
        self.ok(self.one, "seeds=2", "name=study")
        self.assertIn("2 runs are finished", self.ok(self.one, "seeds=2", "name=study", "keep=state").stderr)
        self.assertEqual(self.files(), [f for f in self.files() if "checkpoint" not in f])

    def test_the_best_weights_are_those_of_the_best_evaluation_whenever_it_was_stopped(self):
        settings = ("train.steps=3000", "train.eval_every=100", "train.checkpoint_every=700", "train.optimizer.lr=0.1", "keep=best")
        for by, best in (("val/loss", min), ("val/accuracy", max)):
            target = ("train.target=null",) if by == "val/loss" else ("train.target.metric=val/accuracy", "train.target.at_least=1")
            shutil.rmtree(self.tmp / "runs", ignore_errors=True)
            for after in (0.03, 0.06, 0.1):
                self.killed(after, self.one, *settings, *target)
            self.ok(self.one, *settings, *target)
            run = run_at(self.tmp / "runs/one/seed-0")
            lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
            expected = next(line["step"] for line in lines if line[by] == best(line[by] for line in lines))
            self.assertEqual(ffn_train.read_safetensors(run / "best.safetensors")[1]["step"], str(expected))
            # A run that ends at that step has the same weights.
            self.ok(self.one, *(word for word in settings if not word.startswith("train.steps=")), *target, f"train.steps={expected}", "-o", "short")
            (end,) = (self.tmp / "short").rglob("model.safetensors")
            tensors = [ffn_train.read_safetensors(file)[0] for file in (run / "best.safetensors", end)]
            self.assertTrue(all((tensors[0][name] == tensors[1][name]).all() for name in tensors[1]))
            shutil.rmtree(self.tmp / "short")
        self.assertLess(expected, 3000)
        last, first = ffn_train.load(run), ffn_train.load(run, best=True)
        self.assertFalse(all((a == b).all() for a, b in zip(last.parameters(), first.parameters())))
        self.assertIn(f"these are the weights of step {expected}, the best by", self.ok("inspect", run, "--best").stdout)
        self.ok(self.one, "name=warm", "--init-from", run / "best.safetensors")

    def test_best_weights_that_were_not_kept_are_not_made_up(self):
        self.ok(self.one)
        self.assertIn("no best.safetensors", self.fails(3, "inspect", run_at(self.tmp / "runs/one/seed-0"), "--best"))
        self.assertIn("its best weights", self.ok(self.one, "keep=best").stderr)
        slow = ("name=slow", "train.steps=300000", "train.checkpoint_every=100")
        self.killed(0.5, self.one, *slow)
        self.assertIn("begun without keep=best", self.fails(3, self.one, *slow, "keep=best"))
        self.ok(self.one, "name=kept", "keep=state")
        longer = " ".join(self.ok(self.one, "name=kept", "train.steps=150", "keep=best").stderr.split())
        self.assertIn("without keep=best", longer)

    def test_a_damaged_state_is_found_and_its_run_trained_again(self):
        self.ok(self.one, "keep=state")
        state = run_at(self.tmp / "runs/one/seed-0") / "checkpoint.safetensors"
        good = state.read_bytes()
        state.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        self.assertIn("checkpoint.safetensors: damaged", self.run_program("check", "runs").stdout)
        self.assertIn("its checksum differs", self.ok(self.one, "train.steps=150").stderr)
        self.assertIn("the run is trained again", self.ok(self.one, "keep=state").stderr)
        self.assertEqual(state.read_bytes()[-64:], good[-64:])
        (state.parent / "run.json").write_text("{")
        self.assertIn("are not gone on from", self.ok(self.one, "train.steps=200").stderr)

    def test_a_run_starts_from_the_weights_of_another_and_counts_them_by_their_content(self):
        self.ok(self.one, "name=source")
        (source,) = (self.tmp / "runs/source").glob("seed-*")
        for engine in ("cpu", "torch"):
            self.ok(self.one, "--init-from", "runs/source/seed-0", f"name={engine}", "train.optimizer.lr=1e-12", "--engine", engine)
            (warm,) = (self.tmp / "runs" / engine).glob("seed-*")
            last = [json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["val/loss"] for run in (source, warm)]
            self.assertAlmostEqual(*last, delta=1e-6)
            weights = [ffn_train.read_safetensors(run / "model.safetensors")[0] for run in (source, warm)]
            self.assertTrue(all(abs(weights[0][name] - weights[1][name]).max() < 1e-9 for name in weights[0]), engine)
        again = self.ok(warm, "-o", "again", "-q")
        self.assertEqual(again.returncode, 0)
        self.assertIn("already trained", self.ok(self.one, "model.init_from=runs/source/seed-0", "name=torch", "train.optimizer.lr=1e-12").stderr)
        self.ok(self.one, "name=source", "seed=1")
        (other,) = (self.tmp / "runs/source").glob("seed-1*")
        shutil.copy(other / "model.safetensors", source / "model.safetensors")
        self.assertNotIn("already trained", self.ok(self.one, "model.init_from=runs/source/" + source.name, "name=torch", "train.optimizer.lr=1e-12").stderr)
        self.assertIn("holds other weights", self.fails(3, warm, "-o", "third"))
        two = json.loads(self.ok("compare", "runs/torch", "--all", "--json").stdout)  # of one seed, from two sets of weights
        self.assertEqual([len(two["facets"]), two["by"]], [1, "model.init_from"])

    def test_weights_of_another_model_are_refused_with_the_differences(self):
        self.ok(self.one, "name=source")
        error = self.fails(3, self.one, "--init-from", "runs/source/seed-0", "name=wide", "model.d_model=48")
        self.assertIn("do not fit the model", error)
        self.assertIn("same task and model", error)
        self.assertIn("/model/init_from", self.fails(2, self.one, "model.init_from=nowhere"))

    def test_weights_that_are_not_finite_are_refused_and_too_large_ones_named(self):
        self.ok(self.one, "name=source")
        (source,) = (self.tmp / "runs/source").glob("seed-*")
        whole = (source / "model.safetensors").read_bytes()
        begin = 8 + int.from_bytes(whole[:8], "little")
        header = json.loads(whole[8:begin])
        del header["__metadata__"]  # and with it the checksum
        header = json.dumps(header).encode()
        for name, number in (("nan", math.nan), ("infinite", -math.inf), ("large", 1e38)):
            weights = whole[begin:-4] + struct.pack("<f", number) if name != "large" else struct.pack("<f", number) * ((len(whole) - begin) // 4)
            (self.tmp / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + weights)
        for name in ("nan", "infinite"):
            error = self.fails(3, self.one, f"model.init_from={name}.safetensors", f"name={name}")
            self.assertIn(f"{name}.safetensors: the weights are not finite", error)
            self.assertIn("that ended well", error)
        for dev in ((), ("--fast-dev-run",)):
            result = self.run_program(self.one, "model.init_from=large.safetensors", "name=large", *dev)
            self.assertEqual(result.returncode, 1)
            self.assertIn("diverged at step 0", result.stdout)


if __name__ == "__main__":
    main()
