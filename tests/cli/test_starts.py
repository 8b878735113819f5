#!/usr/bin/env python3
"""model.init_from: what runs start from, and what an answer about them may say."""
import json
import pathlib

from program import ProgramTest, main, run_at

STILL = "train.optimizer.lr=1e-12"
ROWS = "".join(f"{x % 10},{x * x % 7},{'yes' if x % 10 > 4 else 'no'}\n" for x in range(60))


class Starts(ProgramTest):
    def setUp(self):
        super().setUp()
        self.source = self.write("source.json", {"name": "source", "task": {"kind": "xor"}, "model": {"d_model": 4}, "train": {"steps": 30}})

    def weights(self, run):
        data = (run_at(self.tmp / run) / "model.safetensors").read_bytes()
        return data[8 + int.from_bytes(data[:8], "little"):]

    def test_seeds_start_from_those_of_a_study_and_share_no_start(self):
        self.ok(self.source, "seeds=3", "-q")
        study = (self.source, "model.ffn.dropout=0,0.2", "seeds=3", STILL, "-q")
        self.ok(*study, "name=on", "model.init_from=runs/source")
        before = [self.weights(f"runs/source/base/seed-{seed}") for seed in range(3)]
        for seed in range(3):
            after = self.weights(f"runs/on/dropout=0/seed-{seed}")
            self.assertEqual(len(after), len(before[seed]))
            changed = [sum(a != b for a, b in zip(after, start)) for start in before]
            self.assertEqual(changed.index(min(changed)), seed)
        self.assertEqual(json.loads(self.ok("compare", "runs/on", "--json").stdout)["scope"], "")
        run = run_at(self.tmp / "runs/on/dropout=0/seed-2")
        self.ok(run, "name=again", "-q")
        self.assertEqual(run_at(self.tmp / "runs/again/seed-2").name, run.name)
        error = self.fails(3, self.source, "name=more", "seeds=4", "model.init_from=runs/source/base")
        self.assertIn("no run of seed 3", error)
        self.ok(*study, "name=one", "model.init_from=runs/source/base/seed-1")
        answer = json.loads(self.ok("compare", "runs/one", "--json").stdout)
        self.assertEqual(answer["scope"], "from this start")
        self.assertIn("the same weights", "|".join(answer["notes"]))
        self.ok(self.source, "name=single", "seed=2", STILL, "model.init_from=runs/source", "-q")
        self.assertIn("seed-*", (run_at(self.tmp / "runs/single/seed-2") / "run.json").read_text())

    def test_a_study_of_several_variants_is_refused_with_the_choices(self):
        self.ok(self.source, "model.ffn.activation=relu,gelu", "seeds=2", "-q")
        error = " ".join(self.fails(2, self.source, "name=on", "seeds=2", "model.init_from=runs/source").split())
        self.assertIn("several variants", error)
        self.assertIn("runs/source/activation=gelu", error)
        self.ok(self.source, "name=on", "seeds=2", "model.init_from=runs/source/activation=gelu", "-q")

    def test_a_start_that_was_trained_on_what_is_held_out_now_is_refused(self):
        self.write("t.csv", "a,b,c\n" + ROWS)
        table = self.write("table.json", {"name": "table", "task": {"kind": "table", "file": "t.csv", "label": "c"}, "model": {"d_model": 4}, "train": {"steps": 20}})
        self.ok(table, "seeds=2", "-q")
        start = pathlib.Path("runs/table/base/seed-0")
        error = " ".join(self.fails(3, table, "name=on", "seed=1", f"model.init_from={start}").split())
        self.assertIn("this run holds out", error)
        self.assertIn("drawn by seed 0", error)
        self.ok(table, "name=on", "seed=0", f"model.init_from={start}", "-q")
        self.ok(table, "name=each", "seeds=2", "model.init_from=runs/table", "-q")
        self.fails(3, table, "name=other", "seeds=2", "task.validation_fraction=0.3", "model.init_from=runs/table")
        (self.tmp / "other").mkdir()
        self.write("other/t.csv", "a,b,c\n" + ROWS + "9,9,yes\n")  # other data
        self.ok(table, "name=other", "seed=1", "task.file=other/t.csv", f"model.init_from={start}", "-q")

    def test_a_start_of_another_function_knows_nothing_of_what_is_held_out(self):
        task = {"kind": "function", "inputs": {"a": {"bit": 5}}, "label": "parity(a)", "held_out": 0.3}
        config = self.write("parity.json", {"name": "parity", "task": task, "model": {"d_model": 4}, "train": {"steps": 5}})
        self.ok(config, "-q")
        start = "model.init_from=runs/parity/seed-0"
        self.assertIn("this run holds out", " ".join(self.fails(3, config, "name=same", "seed=1", "task.jitter=0.1", start).split()))
        self.ok(config, "name=other", "seed=1", "task.label=a[0] ^ a[1]", start, "-q")
        (self.tmp / "empty/base").mkdir(parents=True)
        self.assertIn("no trained run in ", self.fails(2, config, "name=none", "model.init_from=empty"))

    def test_columns_and_classes_are_those_of_the_start(self):
        self.write("t.csv", "a,b,c\n" + ROWS)
        self.write("exchanged.csv", "b,a,c\n" + ROWS)
        self.write("classes.csv", "a,b,c\n" + ROWS.replace("yes", "maybe"))
        table = self.write("table.json", {"name": "table", "task": {"kind": "table", "file": "t.csv", "label": "c"}, "model": {"d_model": 4}, "train": {"steps": 20}})
        self.ok(table, "-q")
        for name, what in (("exchanged", "it reads a, b, to no, yes; this run reads b, a, to no, yes"), ("classes", "it reads a, b, to no, yes; this run reads a, b, to maybe, no")):
            error = " ".join(self.fails(3, table, f"name={name}", f"task.file={name}.csv", "model.init_from=runs/table/seed-0").split())
            self.assertIn(what, error)
        self.write("one.txt", "abcabcabc " * 40)
        self.write("two.txt", "abdabdabd " * 40)
        text = ("text", "train.steps=2", "task.context=8", "-q")
        self.ok(*text, "task.file=one.txt", "name=one")
        self.assertIn("of other data", self.fails(3, *text, "task.file=two.txt", "name=two", "model.init_from=runs/one/seed-0"))


if __name__ == "__main__":
    main()
