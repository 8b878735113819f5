#!/usr/bin/env python3
"""What variants, values and keys are called."""
import csv
import io
import json

from program import ProgramTest, main

STUDY = {"name": "study", "seeds": 6, "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
         "train": {"steps": 100, "eval_every": 20, "optimizer": {"lr": 0.02}}}
NAMED = [{"model.ffn.activation": "relu", "label": "ReLU 4×"}, {"model.ffn.kind": "gated", "model.ffn.activation": "silu", "label": "SwiGLU"}]


class Labels(ProgramTest):
    def study(self, sweep, **more):
        return self.write("study.json", {**STUDY, "sweep": sweep, **more})

    def test_a_variant_is_called_by_its_label_everywhere(self):
        said = " ".join(self.ok("--config", self.study({"include": NAMED}), "-q").stdout.split())
        page = self.ok("report", "runs/study", "-o", "/dev/stdout").stdout
        for text in (said, self.ok("compare", "runs/study", "--details").stdout, self.ok("compare", "runs/study", "--markdown").stdout, page):
            self.assertIn("ReLU 4×", text)
            self.assertIn("SwiGLU", text)
        for text in (said, self.ok("plan", "--no-probe", "study.json").stdout):
            self.assertNotIn("activation=", text)
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/study", "--csv").stdout)))
        groups = json.loads(self.ok("compare", "runs/study", "--json").stdout)["facets"][0]["groups"]
        for labels in ([row["label"] for row in rows], [group["label"] for group in groups]):
            self.assertEqual(labels, ["ReLU 4×", "SwiGLU"])
        self.assertEqual(groups[1]["value"], "kind=gated+activation=silu")

    def test_the_reference_is_what_the_table_shows_or_the_value_itself(self):
        self.ok("--config", self.study({"include": NAMED}, compare={"reference": "SwiGLU"}), "-q")
        for options in ((), ("--reference", "SwiGLU"), ("--reference", "kind=gated+activation=silu")):
            self.assertIn("; ratio to SwiGLU", " ".join(self.ok("compare", "runs/study", *options).stdout.split()))
        self.assertIn("ReLU 4×, SwiGLU", self.fails(2, "compare", "runs/study", "--reference", "GeLU").replace("SwiGLU, ReLU 4×", "ReLU 4×, SwiGLU"))
        sweep = {"include": [{"model.ffn.kind": kind, "model.ffn.activation": activation} for kind, activation in (("positionwise", "relu"), ("gated", "silu"))]}
        self.ok("--config", self.study(sweep, name="plain"), "-q")  # shown by its values
        reference = json.loads(self.ok("compare", "runs/plain", "--reference", "gated silu", "--json").stdout)["reference"]
        self.assertEqual(reference, "kind=gated+activation=silu")

    def test_labels_stand_beside_the_keys_of_zip_and_other_keys_make_groups(self):
        zipped = {"model.ffn.kind": ["positionwise", "gated"], "model.ffn.activation": ["relu", "silu"], "label": ["ReLU", "SwiGLU"]}
        self.ok("--config", self.study({"zip": [zipped], "grid": {"model.ffn.expansion": [1, 4]}}, compare={"by": "model.ffn.kind"}), "-q")
        comparison = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual([[g["label"] for g in facet["groups"]] for facet in comparison["facets"]], [["ReLU", "SwiGLU"]] * 2)
        self.assertEqual({path.name for path in (self.tmp / "runs/study").iterdir() if "=" in path.name and "label" in path.name}, set())

    def test_another_label_trains_nothing_again_and_is_shown(self):
        self.ok("--config", self.study({"include": NAMED}), "-q")
        again = [{**NAMED[0], "label": "plain"}, NAMED[1]]
        result = self.ok("--config", self.study({"include": again}))
        self.assertIn("0 trained now, 12 found", result.stderr)
        for text in (result.stdout, self.ok("compare", "runs/study").stdout):
            self.assertIn("plain", text)
            self.assertNotIn("ReLU 4×", text)
        self.ok("xor", "name=one", "train.steps=20", "label=first", "-q")
        self.assertIn("already trained", self.ok("xor", "name=one", "train.steps=20", "label=second").stderr)

    def test_a_tuned_study_calls_its_variants_by_their_labels(self):
        said = self.ok("--config", self.study({"include": NAMED}, tune={"train.optimizer.lr": [0.01, 0.03], "seeds": 2}), "-q").stdout
        page = self.ok("report", "runs/study", "-o", "/dev/stdout").stdout
        for text in (said, self.ok("compare", "runs/study", "--details").stdout, page):
            self.assertNotIn("kind=gated", text.split("Commands that reproduce it")[0])
        self.assertRegex(said, r"(?m)^SwiGLU +0\.0")
        self.assertEqual({path.parent.name for path in self.tmp.glob("runs/study/*/seed-0.*")}, {"activation=relu", "kind=gated+activation=silu"})

    def test_a_label_that_would_name_several_variants_is_refused(self):
        twice = [NAMED[0], {**NAMED[1], "label": "ReLU 4×"}]
        for sweep, more, said in (({"include": twice}, {}, 'the label "ReLU 4×" names two variants'),
                                  ({"zip": [{"model.ffn.activation": ["relu", "gelu"], "label": ["a", "a"]}]}, {}, 'the label "a" names two variants'),
                                  ({"grid": {"label": ["a", "b"]}}, {}, "a label cannot be swept"),
                                  ({"grid": {"model.ffn.activation": ["relu", "gelu"]}}, {"label": "a"}, '"a" would name every variant of the sweep')):
            self.assertIn(said, " ".join(self.fails(2, "validate", self.study(sweep, **more)).split()))


class Names(ProgramTest):
    def test_a_formula_that_has_a_name_is_called_by_it(self):
        include = [{"model.ffn": {"kind": "positionwise", "activation": "relu"}},
                   {"model.ffn": {"kind": "formula", "formula": "relu(x @ a) @ b", "name": "two-maps", "parameters": {"a": ["D", "F"], "b": ["F", "D"]}}}]
        study = {**STUDY, "name": "named", "sweep": {"include": include}, "compare": {"by": "model.ffn.kind"}}
        self.ok("--config", self.write("named.json", study), "-q")
        said = self.ok("compare", "runs/named").stdout
        self.assertRegex(said, r"(?m)^two-maps ")
        self.assertNotRegex(said, r"(?m)^formula ")
        self.assertEqual(json.loads(self.ok("compare", "runs/named", "--reference", "two-maps", "--json").stdout)["reference"], "formula")


if __name__ == "__main__":
    main()
