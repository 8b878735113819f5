#!/usr/bin/env python3
"""What the program prints where the terminal is narrow."""
import json
import os
import re

from program import ProgramTest, main


class Narrow(ProgramTest):
    """At 40 columns and more nothing is wider than the terminal: not in a pipe by COLUMNS, nor on a terminal."""

    def widest(self, columns, *arguments):
        text = self.run_program(*arguments, env={**os.environ, "COLUMNS": str(columns)}).stdout
        self.assertLessEqual(max(map(len, text.splitlines()), default=0), columns, f"{arguments}\n{text}")
        return text

    def test_nothing_is_wider_than_the_terminal(self):
        self.ok("xor", "-q")
        self.ok("xor", "model.ffn.activation=relu,gelu", "seeds=6", "name=study", "-q")
        self.ok("xor", "model.ffn.activation=relu,gelu", "seeds=6", "name=tuned", "tune.train.optimizer.lr=0.003,0.01,0.03", "-q")
        commands = [["xor"], ["xor", "--fast-dev-run", "5"], ["runs"], ["check", "runs"], ["validate", "xor"], ["params", "xor"], ["params", "own-layer"],
                    ["list", "activations", "--plot"], ["clean", "runs"], ["curves", "runs/xor"], ["curves", "runs/study"], ["inspect", "runs/xor/seed-0"],
                    ["export", "runs/study", "--csv"], ["report", "runs/study"], ["merge", "runs/study", "-o", "merged"], ["cp", "xor", "my.json"]]
        commands += [["plan", name, "--no-probe"] for name in ("xor", "activations", "own-layer")]
        commands += [["list", what] for what in ("activations", "ffns", "configs", "experiments", "keys", "metrics")]
        commands += [["compare", "runs/" + name, *form] for name in ("xor", "study", "tuned") for form in ([], ["--details"], ["--explain"])]
        for columns in (40, 41, 47, 60):
            for command in commands:
                if command[0] == "cp":
                    (self.tmp / "my.json").unlink(missing_ok=True)
                self.widest(columns, *command)

    def test_help_fits_but_for_single_words(self):
        names = re.findall(r"(?m)^  ([a-z-]+) ", re.split("(?i)subcommands:", self.ok("--help").stdout)[-1])
        self.assertGreater(len(names), 20)
        for command in ([], *([name] for name in names)):
            for columns in (60, 132):
                text = self.ok(*command, "--help", env={**os.environ, "COLUMNS": str(columns)}).stdout
                self.assertEqual([line for line in text.splitlines() if len(line) > columns and len(line.split()) > 1], [], command)

    def test_a_trace_is_no_wider_either(self):
        self.write("a.txt", "hello world, said the old mill by the river. " * 40)
        self.ok("text", "task.file=a.txt", "train.steps=20", "name=txt", "--fresh", "-q")
        for columns in (40, 47, 60):
            text = self.widest(columns, "inspect", "runs/txt/seed-0", "--trace", "hello")
            self.assertIn("What the network says", text)

    def test_no_number_and_no_name_of_a_column_is_broken(self):
        self.write("a.txt", "hello world, said the old mill by the river. " * 40)
        self.ok("text", "task.file=a.txt", "train.steps=20", "name=txt", "--fresh", "-q")
        self.ok("xor", "model.ffn.activation=relu,gelu", "model.ffn.expansion=1,2", "seeds=6", "name=study", "-q")
        for command in (["inspect", "runs/txt/seed-0"], ["compare", "runs/study"], ["compare", "runs/study", "--details"], ["plan", "activations", "--no-probe"]):
            wide = set(re.split(r"[\s:]+", self.run_program(*command, env={**os.environ, "COLUMNS": "1000"}).stdout))
            for columns in (40, 47, 60):
                text = self.widest(columns, *command)
                numbers = {word for word in re.split(r"[\s:]+", text) if re.search(r"[0-9−]", word) and "=" not in word and "/" not in word}
                self.assertLessEqual(numbers, wide, f"{command} at {columns}\n{text}")
                for name in ("strongest", "agrees", "towards") if command[0] == "inspect" else ("activation", "verdict") if command[0] == "compare" else ("parameters", "FLOPs/token"):
                    self.assertIn(name, text)

    def test_a_table_without_room_names_each_cell_and_each_row_of_a_group(self):
        self.ok("xor", "model.ffn.activation=relu,gelu", "model.ffn.expansion=1,2", "seeds=6", "name=study", "-q")
        text = self.widest(30, "compare", "runs/study")
        for expansion in (1, 2):
            for activation in ("relu", "gelu"):
                self.assertRegex(text, rf"(?m)^expansion: {expansion}\s+activation: {activation}\s+steps: \S")

    def test_the_title_of_a_curve_goes_on_in_a_second_line(self):
        self.ok("xor", "model.ffn.activation=relu,gelu", "model.ffn.expansion=1,2", "compare.metric=val/loss", "seeds=2", "name=study", "-q")
        text = self.widest(40, "curves", "runs/study")
        self.assertNotIn("...", text)
        self.assertIn("(logarithmic)", " ".join(text.split()))

    def test_a_measurement_s_titles_fit(self):
        self.assertIn("whole", self.widest(60, "bench", "steps", "--seconds", "0.001"))

    def test_a_single_run_keeps_its_numbers_whole_and_says_where_its_curves_are(self):
        self.ok("xor", "-q")
        for columns, curves in ((40, False), (46, False), (54, True), (80, True)):
            text = self.widest(columns, "xor")
            for metric in json.loads(self.ok("xor", "--json").stdout)["metrics"].values():
                self.assertIn(f"{metric['final']:.4g}"[:4], text)
            self.assertEqual(bool(re.search("[▁-█]{6}", text.partition("parameters")[0])), curves, text)
            self.assertEqual("curves: ffn-train curves" in " ".join(text.split()), not curves, text)


if __name__ == "__main__":
    main()
