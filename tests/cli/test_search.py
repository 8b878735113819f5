#!/usr/bin/env python3
"""A search over layers, through the program: what it finds, that kills do not change it, and what it refuses."""
import json
import os
import signal
import subprocess
import time

from program import ProgramTest, main, record

TASK = {
    "name": "product", "task": {"kind": "function", "name": "product"},
    "model": {"d_model": 4, "ffn": {"kind": "positionwise", "activation": "relu", "d_ff": 16}},
    "train": {"steps": 100, "eval_every": 50, "optimizer": {"lr": 0.01}, "target": {"metric": "val/loss", "at_most": 0.001, "stop": True}},
}
SEARCH = {
    "name": "found", "question": "Which layer multiplies?",
    "search": {"tasks": ["task.json"], "unseen": ["task.json task.name=sine"], "start": ["relu"], "generation": 8, "race_seeds": 4, "budget": 6e8,
               "keep": 2, "judge_seeds": 10, "sizes": [2]},
}


def without_times(found):
    found = json.loads(json.dumps(found))
    found["races"].pop("seconds")
    for row in found["front"]:
        row.pop("seconds"), row.pop("on_front")
    return found


class SearchTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("task.json", TASK)
        self.write("search.json", SEARCH)

    def found(self, name="found"):
        return json.loads((self.tmp / "runs" / name / "search.json").read_text())

    def test_from_relu_it_finds_a_product_and_says_so_by_name(self):
        said = " ".join(self.ok("search.json").stdout.split())
        self.assertIn("Found: bilinear (up * gate), a gated layer, against relu: better on task.json", said)
        found = self.found()
        self.assertEqual([j["seen"] for j in found["judgement"]], [True, False])
        # Verdicts are those of ordinary studies, at a share of alpha for each task, on seeds that no race had.
        for judged in found["judgement"]:
            answer = json.loads(self.ok("compare", self.tmp / judged["directory"], "--json").stdout)
            self.assertAlmostEqual(answer["alpha"], 0.025)
            self.assertEqual([pair["verdict"] for pair in answer["facets"][0]["pairs"]], [row["verdict"] for row in judged["layers"]])
            seeds = {record(run)["config"]["seed"] for run in (self.tmp / judged["directory"]).glob("*/seed-*/run.json")}
            self.assertEqual(seeds, set(range(10)))
        raced = [record(run) for run in (self.tmp / "runs/found/races").rglob("run.json")]
        self.assertEqual(len(raced), found["races"]["runs"])
        self.assertEqual({r["config"]["seed"] for r in raced}, {500000, 500001, 500002, 500003})
        self.assertAlmostEqual(sum(3 * r["summary"]["flops_per_token"] * r["summary"]["tokens"] for r in raced), found["races"]["flops"])
        self.assertGreaterEqual(found["races"]["flops"], 6e8)
        # The first round's half goes on, by ranks over the seeds at each layer's best rate.
        first = {}
        for run in (self.tmp / "runs/found/races/generation-000-round-1-1-product").rglob("run.json"):
            label, _, rate = record(run)["config"]["label"].rpartition(" at ")
            first.setdefault(label, {}).setdefault(rate, []).append(record(run)["summary"]["metrics"]["val/loss"]["final"])
        best = {label: min(sum(losses) / len(losses) for losses in rates.values()) for label, rates in first.items()}
        better_half = sorted(best, key=best.get)[:4]
        second = {record(run)["config"]["label"].rpartition(" at ")[0] for run in (self.tmp / "runs/found/races/generation-000-round-2-1-product").rglob("run.json")}
        self.assertEqual(second, set(better_half))
        sizes = [size["d_model"] for size in found["sizes"] if size["task"] == "task.json"]
        self.assertEqual(sizes, [4, 8])
        def dominates(a, b):  # times within a tenth are one
            axes = ("log_ratio", "parameters", "flops_per_token")
            return (all(a[k] <= b[k] for k in axes) and a["seconds"] <= 1.1 * b["seconds"]
                    and (any(a[k] < b[k] for k in axes) or 1.1 * a["seconds"] < b["seconds"]))

        for row in found["front"]:
            self.assertEqual(row["on_front"], not any(dominates(other, row) for other in found["front"]))
        page = self.tmp / "runs/found/report.html"
        self.ok("report", "runs/found")
        self.assertIn("bilinear", page.read_text())
        trains = next(row for row in found["front"] if row["layer"] == "bilinear")["config"]
        self.ok("task.json", "sweep={}", "tune={}", "seeds=1", "model.ffn=" + json.dumps(trains))

    def test_killed_at_any_place_it_ends_in_the_same_answer(self):
        self.ok("search.json", "-o", "whole")
        kills = 0
        while kills < 20:
            process = subprocess.Popen(self.command("search.json", "-q"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(0.05 + 0.02 * kills)
            ended = process.poll() is not None
            if not ended:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
            process.wait()
            if ended:
                break
        self.assertGreaterEqual(kills, 3)
        self.ok("search.json", "-q")
        whole = json.loads((self.tmp / "whole/found/search.json").read_text().replace("whole/found", "runs/found"))
        self.assertEqual(without_times(self.found()), without_times(whole))
        before = without_times(self.found())
        self.ok("search", "search.json", "-q")  # nothing is left to train
        self.assertEqual(without_times(self.found()), before)
        # Two processes share the runs, and each says the same.
        both = [subprocess.Popen(self.command("search.json", "-q", "-o", "shared"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in "ab"]
        self.assertEqual([process.wait() for process in both], [0, 0])
        shared = json.loads((self.tmp / "shared/found/search.json").read_text().replace("shared/found", "runs/found"))
        self.assertEqual(without_times(shared), without_times(whole))
        self.ok("search.json", "-q", "--fresh")
        self.assertEqual(without_times(self.found()), before)
        self.assertTrue((self.tmp / "runs/found.old-1/search.json").exists())

    def test_what_a_task_is_given_does_not_hold_its_sizes(self):
        search = dict(SEARCH, search=dict(SEARCH["search"], tasks=["task.json model.d_model=8"], sizes=[2, 4]))
        self.write("given.json", search)
        self.ok("validate", "given.json")

    def test_layers_of_ones_own(self):
        own = {"label": "mine", "kind": "formula", "formula": "((x @ a) * (x @ b)) @ down", "parameters": {"a": ["D", "F"], "b": ["D", "F"], "down": ["F", "D"]}}
        search = dict(SEARCH, name="own", search=dict(SEARCH["search"], unseen=[], sizes=[], space={"layers": [own, "tanh"]}))
        self.write("own.json", search)
        said = " ".join(self.ok("own.json").stdout.split())
        self.assertIn("3 layers raced on task.json in 1 generation", said)
        self.assertIn("until the space was exhausted", said)
        self.assertIn("Found: mine", said)

    def test_what_is_refused(self):
        def refused(changes, *words, code=2):
            self.write("wrong.json", dict(SEARCH, search=dict(SEARCH["search"], **changes)))
            said = " ".join(self.fails(code, "wrong.json").split())
            for word in words:
                self.assertIn(word, said)

        refused({"space": {"functions": ["rely"]}}, "\"rely\" is no function of one value; did you mean \"relu\"?")
        refused({"start": ["swiglou"]}, "no layer or activation is called swiglou; did you mean \"swiglu\"?")
        refused({"budget": "long"}, "say how long layers may race")
        refused({"tasks": []}, "name at least one config")
        refused({"tasks": ["nowhere.json"]}, "no config at nowhere.json", code=2)
        refused({"judge_seeds": 4}, "search.judge_seeds 4 allow no verdict", "at least ")
        refused({"rates": [0]}, "factors are different numbers above 0")
        refused({"speed": 1}, "unknown key", "speed")
        self.write("wrong.json", dict(SEARCH, seeds=3))
        self.assertIn("a search has \"name\", \"question\" and \"search\" alone", " ".join(self.fails(2, "wrong.json").split()))
        self.assertIn("has no \"search\" section", self.fails(2, "search", "task.json"))
        self.assertIn("takes no --budget", self.fails(2, "search.json", "--budget", "1h"))
        self.assertIn("is a search", self.fails(2, "slurm", "search.json"))
        self.assertIn("shard", self.fails(2, "search.json", "--shard", "1/2"))

    def test_a_plan_counts_what_a_search_would_do(self):
        plan = json.loads(self.ok("plan", "search.json", "--no-probe", "--json").stdout)
        self.assertEqual(plan["layers_per_generation"], 8)
        self.assertEqual(plan["generation"]["runs"], 32)
        self.ok("search.json", "-q")
        found = self.found()
        self.assertEqual(found["races"]["generations"], plan["generations"])
        self.assertEqual(found["races"]["runs"], 32 * plan["generations"])


if __name__ == "__main__":
    main()
