#!/usr/bin/env python3
"""Ladders: what the answer says over sizes is recomputed here from the runs' own files."""
import json
import math
import shlex
import statistics

from program import ProgramTest, main, record

SIZES = [4, 8, 16, 32]
STUDY = {
    "name": "climb", "seeds": 7, "task": {"kind": "function", "name": "sine"},
    "model": {"d_model": 4, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 150, "eval_every": 75, "optimizer": {"kind": "adamw", "lr": 0.01}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "tanh"]}},
    "ladder": {"values": SIZES[:3], "hold_out": SIZES[3:], "floor": 0},
    "compare": {"metric": "val/loss"},
}


def slope(x, y):
    mx, my = statistics.mean(x), statistics.mean(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


class Ladder(ProgramTest):
    def losses(self, study="climb"):
        """activation → size → seed → val/loss."""
        out = {}
        for run in (self.tmp / "runs" / study).glob("*/seed-*/run.json"):
            config, metrics = record(run)["config"], record(run)["summary"]["metrics"]
            of_size = out.setdefault(config["model"]["ffn"]["activation"], {}).setdefault(config["model"]["d_model"], {})
            of_size[config["seed"]] = metrics["val/loss"]["final"]
        return out

    def test_a_ladder_answers_from_its_runs(self):
        said = " ".join(self.ok("--config", self.write("climb.json", STUDY)).stdout.split())
        self.assertIn("From d_model 4 to 32: ", said)
        self.assertIn("Pairs in the order of the largest size: ", said)
        answer = json.loads(self.ok("compare", "runs/climb", "--json").stdout)
        self.assertEqual([list(facet["keys"]) for facet in answer["facets"]], [["model.d_model"]] * 4)
        ladder, losses = answer["ladder"], self.losses()
        self.assertEqual([size["held_out"] for size in ladder["sizes"]], [False, False, False, True])
        mean = {a: {s: statistics.mean(map(math.log, of.values())) for s, of in sizes.items()} for a, sizes in losses.items()}
        pairs = [("relu", "gelu"), ("relu", "tanh"), ("gelu", "tanh")]
        for size, said in zip(SIZES, ladder["sizes"]):
            same = sum((mean[a][size] < mean[b][size]) == (mean[a][32] < mean[b][32]) for a, b in pairs)
            self.assertEqual((said["decision_accuracy"]["pairs"], said["decision_accuracy"]["agreeing"]), (3, same))
        for variant in ladder["variants"][1:]:
            of_seed = [slope([math.log2(s) for s in SIZES], [math.log(losses[variant["value"]][s][k] / losses["relu"][s][k]) for s in SIZES]) for k in range(7)]
            self.assertAlmostEqual(variant["slope"]["log_ratio_per_doubling"], statistics.mean(of_seed), places=9)
        if ladder["law"]:
            law = ladder["law"]
            compute = [math.log(size["flops"]) for size in ladder["sizes"]]
            # Equal designs: the shared exponent is the mean of the variants' own.
            own = [slope(compute, [mean[v["value"]][s] for s in SIZES]) for v in ladder["variants"]]
            self.assertAlmostEqual(-law["exponent"], statistics.mean(own), places=6)
            for i, variant in enumerate(ladder["variants"][1:], 1):
                if variant["multiplier"]:
                    self.assertAlmostEqual(math.log(variant["multiplier"]["value"]), (law["log_scale"][0] - law["log_scale"][i]) / law["exponent"], places=6)
        else:
            self.assertTrue(ladder["no_projection"])
        self.ok("report", "runs/climb")
        page = (self.tmp / "runs/climb/report.html").read_text()
        self.assertIn('"decision_accuracy"', page)

    def test_rates_tuned_at_the_smallest_size_follow_the_rule(self):
        self.write("text.txt", "the cat sat on the mat and the dog sat on the log\n" * 400)
        study = {"name": "tuned", "seeds": 1, "task": {"kind": "text", "file": "text.txt", "context": 16},
                 "model": {"d_model": 8, "blocks": 1, "attention": {"heads": 1}, "residual": True},
                 "train": {"eval_every": 1000, "optimizer": {"kind": "adamw", "lr": 0.01}},
                 "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
                 "ladder": {"values": [8, 16], "tokens_per_param": 1, "tuned_at": "smallest"},
                 "tune": {"train.optimizer.lr": [0.01, 0.02], "seeds": 1}}
        self.ok("--config", self.write("tuned.json", study), "-q")
        runs = [record(run)["config"] for run in (self.tmp / "runs/tuned").glob("activation*/seed-*/run.json")]
        tuning = [record(run)["config"]["model"]["d_model"] for run in (self.tmp / "runs/tuned/tuning").rglob("run.json")]
        self.assertEqual(set(tuning), {8})
        for activation in ("relu", "gelu"):
            small, large = sorted((c for c in runs if c["model"]["ffn"]["activation"] == activation), key=lambda c: c["model"]["d_model"])
            ratio = large["train"]["optimizer"]["lr"] / small["train"]["optimizer"]["lr"]
            tokens = [c["train"]["steps"] * c["train"]["batch_size"] for c in (small, large)]  # as many times the parameters
            self.assertAlmostEqual(ratio, (tokens[0] / tokens[1]) ** (1 / 3), places=1)
            self.assertEqual((small["model"]["attention"]["heads"], large["model"]["attention"]["heads"]), (1, 2))
        said = " ".join(self.ok("compare", "runs/tuned").stdout.split())
        self.assertIn("fewer than 50,000 parameters outside embeddings", said)
        self.assertIn("Tuned at 8, rates at the other sizes by the rule.", said)

    def test_a_text_read_too_often_or_gone_has_no_law(self):
        text = self.write("text.txt", "кот и пёс \n" * 2000)  # 22,000 characters of 36,000 bytes
        study = {"name": "often", "seeds": 1, "task": {"kind": "text", "file": "text.txt", "context": 16}, "model": {"d_model": 4},
                 "train": {"batch_size": 16, "eval_every": 1000}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
                 "ladder": {"values": [4, 8], "with": {"train.steps": [100, 400]}, "floor": 0}}
        self.ok("--config", self.write("often.json", study), "-q")
        answer = json.loads(self.ok("compare", "runs/often", "--json").stdout)
        self.assertEqual(answer["ladder"]["no_law"], "at model.d_model 4 a model of text has fewer than 50,000 parameters outside embeddings and head, too few for a law")
        self.assertIn("runs read their text more than once: 1.3 times at d_model 4, 5.2 times at d_model 8", answer["notes"])
        self.ok("--config", self.write("twice.json", {**study, "name": "twice", "ladder": {**study["ladder"], "with": {"train.steps": [400, 400]}}}), "-q")
        said = lambda: json.loads(self.ok("compare", "runs/twice", "--json").stdout)["ladder"]["no_law"]
        self.assertEqual(said(), "at model.d_model 4 the text is read 5.2 times")
        text.unlink()
        self.assertEqual(said(), f"the text of these runs is not at {text} any more")

    def test_verdicts_at_a_rate_for_each_size_say_so_and_how_to_tune(self):
        done = self.ok("text", "seeds=8", "name=l", "model.ffn.activation=gelu,0 * z", "train.eval_every=1000",
                       'ladder={"values":[16,32],"tokens_per_param":1}')
        self.assertIn("This is at lr 0.003 to 0.00191 by d_model; tuning may change it.", " ".join(done.stdout.split()))
        self.assertRegex(done.stdout + done.stderr, r"name=l-tuned tune.train.optimizer.lr=0.0003,\S* ladder.tuned_at=smallest")

    def test_lost_runs_leave_no_law_to_the_seeds_that_are_left(self):
        study = {**STUDY, "seeds": 3, "train": {**STUDY["train"], "steps": 20, "eval_every": 20}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "exp(exp(exp(z)))"]}}}
        done = self.run_program("--config", self.write("climb.json", study))
        ladder = json.loads(self.ok("compare", "runs/climb", "--json").stdout)["ladder"]
        self.assertRegex(ladder["no_law"], r"^\d+ runs? ha(ve|s) no val/loss$")
        self.assertEqual([v["slope"] for v in ladder["variants"]], 3 * [None])
        self.assertNotIn("Pairs in the order", done.stdout)
        command = next(line for line in done.stderr.splitlines() if line.startswith("next, for what is not sure:")).split("train ", 1)[1]
        self.assertIn("'seeds=[3,4,5,", command)
        self.ok("plan", "--no-probe", *shlex.split(command)[1:])

    def test_what_the_ladder_sets_is_refused_on_the_command_line(self):
        path = self.write("climb.json", STUDY)
        self.assertIn("set ladder.values", self.fails(2, "plan", path, "model.d_model=8"))
        self.assertIn("is none; set it to val/loss", self.fails(2, "plan", path, "compare.metric=val/r2"))
        self.assertIn('"seed" is no size', self.fails(2, "plan", path, "ladder.key=seed"))
        self.assertIn("the same at every size", self.fails(2, "plan", path, 'ladder.with={"compute.threads": [1, 1, 1, 2]}'))
        self.assertIn("nothing is tuned", self.fails(2, "plan", path, "ladder.tuned_at=smallest"))
        self.assertIn("at most 1000000000", self.fails(2, "plan", path, "ladder.tokens_per_param=1e300"))
        self.assertIn("its sizes alone", self.fails(2, "plan", path, "compare.over=task.noise", "task.noise=0,0.1"))
        self.assertIn("its sizes alone, and train.batch_size makes more", self.fails(2, "plan", path, "train.batch_size=8,16"))
        self.assertIn("compares ratios", self.fails(2, "plan", path, "compare.scale=difference"))
        self.assertIn("84 runs", self.ok("plan", path, "--no-probe", "ladder.values=4,8,16").stdout)
        text = ["text", "seeds=2", "model.ffn.activation=gelu,relu"]
        self.assertIn("sets train.steps at each size", self.fails(2, "plan", *text, 'ladder={"key": "train.steps", "values": [9, 99], "tokens_per_param": 1}'))
        self.assertRegex(self.ok("plan", "--no-probe", *text, 'ladder={"values": [16, 32], "hold_out": [64], "tokens_per_param": 1}').stdout, r" 16 +\d+ +\d+ +0.003 .*\n +32 .* 0.00191 .*\n +64 .*held out")
        ruled = 'ladder={"values": [16, 32], "tokens_per_param": 1}'
        self.assertIn("tokens_per_param sets it", self.fails(2, "plan", *text, "train.batch_size=8,16", ruled))
        self.assertIn("is swept whole", self.fails(2, "plan", *text, 'train.optimizer={"kind":"sgd"},{"kind":"adamw"}', ruled))
        self.assertIn("84 runs", self.ok("plan", path, "--no-probe").stdout)


if __name__ == "__main__":
    main()
