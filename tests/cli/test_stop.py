#!/usr/bin/env python3
"""Runs that end at their hit (train.target.stop), and targets that are asked for afterwards (compare --target)."""
import json
import signal
import subprocess
import time

from program import ProgramTest, main, record, run_at

STUDY = {"name": "study", "task": {"kind": "xor"}, "seeds": 6, "sweep": {"grid": {"train.optimizer.lr": [0.004, 0.002, 1e-6]}},
         "train": {"steps": 300, "eval_every": 2, "checkpoint_every": 20, "optimizer": {"lr": 0.002}, "target": {"metric": "val/loss", "at_most": 0.1}}}
ONE = {k: v for k, v in STUDY.items() if k not in ("sweep", "seeds")}
STOP = "train.target.stop=true"
BOUNCES = ("train.optimizer.lr=0.1", "train.batch_size=1", "train.eval_every=1", "train.target={\"metric\": \"val/accuracy\", \"at_least\": 0.99}")


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("train_seconds", "seconds_to_target", "files", "directory")}
    return [without_times(v) for v in value] if isinstance(value, list) else value


class Stop(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("study.json", STUDY)
        self.one = self.write("one.json", ONE)

    def records(self, out):
        paths = sorted((self.tmp / out).rglob("run.json"))
        return {(r["config"]["train"]["optimizer"]["lr"], r["config"]["seed"]): r for r in map(record, paths)}

    def weights(self, out):
        return {str(p.relative_to(self.tmp / out)): p.read_bytes() for p in sorted((self.tmp / out).rglob("model.safetensors"))}

    def test_runs_end_at_their_hit_and_the_answer_is_the_same_on_both_engines(self):
        for engine in ("cpu", "torch"):
            self.ok(self.config, "--engine", engine, "-q", "-o", f"whole-{engine}")
            self.ok(self.config, "--engine", engine, "-q", "-o", f"stopped-{engine}", STOP)
            whole, stopped = self.records(f"whole-{engine}"), self.records(f"stopped-{engine}")
            self.assertEqual(len(stopped), 18)
            ended = {key: r["summary"]["steps"] for key, r in stopped.items()}
            for key, r in whole.items():
                hit, own = r["summary"]["hit"], stopped[key]["summary"]["hit"]
                self.assertEqual(ended[key], hit["step"] if hit else 300)
                self.assertEqual(own and own["step"], hit and hit["step"])
            self.assertTrue(len(set(ended.values())) > 3 and 300 in ended.values(), ended)  # they leave one by one, and some never do
            answers = [json.loads(self.ok("compare", f"{kind}-{engine}/study", "--json").stdout) for kind in ("whole", "stopped")]
            for part in ("facets", "notes", "metric"):
                self.assertEqual(*(without_times(json.loads(json.dumps(a[part]).replace("stopped-", "whole-"))) for a in answers))

    def test_a_run_alone_and_in_a_cohort_ends_with_the_same_bits(self):
        for engine in ("cpu", "torch"):
            self.ok(self.config, "--engine", engine, "-q", "-o", engine, STOP)
            self.ok(self.one, "--engine", engine, "-q", "-o", engine + "-alone", STOP, "seed=4")
            (alone,), cohort = self.weights(engine + "-alone").items(), self.weights(engine)
            self.assertEqual(alone[1], cohort[str(run_at(self.tmp / engine / "study/lr=0.002/seed-4").relative_to(self.tmp / engine)) + "/model.safetensors"])

    def test_a_killed_study_resumes_to_the_same_bits_and_finished_runs_stay(self):
        many = ("train.steps=20000", "train.checkpoint_every=500", "-j", "1", STOP, "-q", "-o")
        self.ok(self.config, *many, "whole")
        process = subprocess.Popen(self.command(self.config, *many, "killed"), cwd=self.tmp, stderr=subprocess.DEVNULL)
        while process.poll() is None and not list((self.tmp / "killed").rglob("checkpoint.safetensors")):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL, "it ended before it could be killed")
        done = [r for r in self.records("killed").values() if r["state"] == "done"]
        self.assertTrue(0 < len(done) < 18, len(done))
        self.ok(self.config, *many, "killed")
        self.assertEqual(self.weights("killed"), self.weights("whole"))
        self.assertIn("18 runs: 18 whole", self.ok("check", "whole/study").stdout)
        self.assertIn("all 18 done", self.ok("runs", "whole/study").stdout)
        self.assertEqual({len(r["sessions"]) for r in self.records("killed").values() if r["identity"] in {d["identity"] for d in done}}, {1})

    def test_patience_waits_for_further_evaluations_in_a_row_and_leaves_the_hit(self):
        for patience in (0, 3):
            self.ok(self.one, *BOUNCES, f"name=p{patience}", STOP, f"train.target.patience={patience}", "-q")
        hit, waited = (record(next((self.tmp / "runs").glob(f"p{p}/**/run.json")))["summary"] for p in (0, 3))
        self.assertEqual(waited["hit"]["step"], hit["hit"]["step"])
        evaluations = [json.loads(line) for line in next((self.tmp / "runs").glob("p3/**/metrics.jsonl")).read_text().splitlines()]
        met = [e["val/accuracy"] >= 0.99 for e in evaluations]
        self.assertEqual(met[-4:], [True] * 4)
        self.assertFalse(any(all(met[i:i + 4]) for i in range(len(met) - 4)), met)  # it did not pass an earlier end by
        self.assertIn("set stop to true as well", self.fails(2, self.config, "train.target.patience=3"))

    def test_it_is_part_of_the_identity_only_when_on(self):
        for name, more in (("plain", ()), ("off", ("train.target.stop=false", "train.target.patience=0")), ("on", (STOP,))):
            self.ok(self.one, *more, "-q", "-o", name)
        plain, off, on = (next(iter(self.records(name).values()))["identity"] for name in ("plain", "off", "on"))
        self.assertEqual(plain, off)
        self.assertNotEqual(plain, on)

    def test_what_is_known_at_the_hit_alone_is_not_compared_nor_tuned_by(self):
        why = "these runs end at their hit (train.target.stop), so their last value is as of then"
        self.assertIn(why, self.fails(2, self.config, STOP, "compare.metric=val/loss"))
        self.assertIn(why, self.fails(2, self.one, STOP, "seeds=4", "model.ffn.activation=relu,gelu", 'tune={"train.optimizer.lr":[0.001,0.002],"metric":"val/loss"}'))
        self.ok(self.config, STOP, "-q")
        self.assertIn(why, self.fails(2, "compare", "runs/study", "--metric", "val/accuracy"))
        self.ok("report", "runs/study", "-q")
        self.assertTrue("val/loss at the end is as of the hit and not compared" in (self.tmp / "runs/study/report.html").read_text())

    def test_a_target_that_is_asked_for_afterwards_is_answered_as_one_of_the_config(self):
        accuracy, loss = '{"metric": "val/accuracy", "at_least": 0.99}', '{"metric": "val/loss", "at_most": 0.3}'
        for asked, target in (("val/loss<=0.3", loss), ("val/accuracy>=0.99", accuracy)):
            out = asked[4:8]
            self.ok(self.config, "-q", "-o", out, f"train.target={target}")
            self.ok(self.config, "-q", "-o", out + "-none", "train.target=null")
            for other in (out + "-none", "other"):
                if other == "other":
                    self.ok(self.config, "-q", "-o", other)  # val/loss <= 0.1
                own = json.loads(self.ok("compare", f"{out}/study", "--json").stdout)
                later = json.loads(self.ok("compare", f"{other}/study", "--target", asked, "--json").stdout)
                self.assertTrue(any(g["hits"] > 0 for g in later["facets"][0]["groups"]))
                for part in ("facets", "notes", "metric"):
                    self.assertEqual(*(without_times(json.loads(json.dumps(a[part]).replace(f'"{other}/', f'"{out}/'))) for a in (own, later)))
        self.ok("report", "other/study", "--target", "val/loss<=0.3", "-q")

    def test_a_later_target_is_never_the_declared_question_and_asks_no_claims(self):
        claim = {"claim": "half the rate is slower", "source": "a test", "check": {"value": "0.002", "verdict": "worse"}}
        path = self.write("claims.json", {**STUDY, "name": "claims", "seeds": 12, "sweep": {"grid": {"train.optimizer.lr": [0.004, 0.002]}}, "expect": [claim]})
        for shard in ("1/2", "2/2"):
            self.ok(path, "--shard", shard, "-q")
        later = self.ok("compare", "runs/claims", "--target", "val/loss<=0.3").stdout
        self.assertIn("suggestive", later)
        self.assertNotIn("Sure", later)
        self.assertNotIn("claim:", later)
        self.assertIn("is slower: holds", self.ok("compare", "runs/claims").stdout)

    def test_times_to_different_losses_are_not_judged_and_no_loss_is_tuned(self):
        path = self.write("losses.json", {**ONE, "name": "losses", "seeds": 12})
        self.ok(path, "train.loss=auto,hinge", "-q")
        answer = self.ok("compare", "runs/losses").stdout
        self.assertIn("different losses", " ".join(answer.split()))
        self.assertNotIn("Sure", answer)
        error = self.fails(2, "validate", self.config, "tune.train.loss=auto,hinge")
        self.assertIn("no common scale", error)

    def test_a_target_that_the_curves_cannot_answer_is_refused(self):
        self.ok(self.config, STOP, "-q")
        self.ok("compare", "runs/study", "--target", "val/loss<=0.3")  # on the way to their own
        error = self.fails(2, "compare", "runs/study", "--target", "val/loss<=0.05")
        self.assertIn("it ended before, at step ", error)
        self.assertIn("train.target.stop=false", error)
        self.assertIn("it did not log val/rmse", self.fails(2, "compare", "runs/study", "--target", "val/rmse<=1"))
        self.assertIn("leave --metric out", self.fails(2, "compare", "runs/study", "--target", "val/loss<=0.3", "--metric", "val/loss"))
        for bad in ("val/loss", "val/loss<0.3", "val/loss<=", "val/loss<=x", "val/loss<=0.3 ", "val/loss<=nan"):
            self.assertIn("write METRIC<=VALUE", self.fails(2, "compare", "runs/study", "--target", bad))
        self.assertIn("val/loss", self.fails(2, "compare", "runs/study", "--target", "val/los<=1"))
        self.assertIn("never above 1", self.fails(2, "compare", "runs/study", "--target", "val/accuracy>=1.5"))
        self.ok(self.config, "keep=summary", "-q", "-o", "summary")
        self.assertIn("it kept no curve", self.fails(2, "compare", "summary/study", "--target", "val/loss<=0.3"))
        self.assertIn("with its first run", " ".join(self.ok("curves", "runs/study", "--metric", "val/accuracy").stdout.split()))


if __name__ == "__main__":
    main()
