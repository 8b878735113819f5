#!/usr/bin/env python3
"""A table of one's own through the whole program."""
import re
import shlex

from program import ProgramTest, main, record

ROWS = "".join(f"{x / 4},{'red' if x % 3 else 'blue'},{'yes' if x % 3 and x > 20 else 'no'},{100 + 5 * x}\n" for x in range(60))


class Table(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.tmp / "mine.csv").write_text("x,color,bought,spent\n" + ROWS)
        self.config = self.write("mine.json", {"name": "mine", "task": {"kind": "table", "file": "mine.csv", "label": "bought", "ignore": ["spent"]},
                                               "model": {"d_model": 8}, "train": {"steps": 200, "optimizer": {"lr": 0.01}}})

    def test_a_run_says_what_it_found_and_what_one_answer_gives(self):
        result = self.ok(self.config)
        self.assertIn("60 rows; numbers: x; categories: color (2); label: bought (no, yes)", result.stderr)
        self.assertIn("val/majority_accuracy", result.stdout)
        measured = record(self.tmp / "runs/mine/seed-0")["summary"]["metrics"]
        self.assertGreater(measured["val/accuracy"]["final"], measured["val/majority_accuracy"]["final"])
        self.assertIn("60 rows; numbers: x", self.ok("plan", self.config, "--no-probe").stderr)

    def test_a_number_is_predicted_in_its_own_unit(self):
        self.ok(self.config, "task.label=", "task.target=spent", "task.ignore=[]", "name=number", "train.steps=400", "-q")
        measured = record(self.tmp / "runs/number/seed-0")["summary"]["metrics"]
        self.assertGreater(measured["val/mean_rmse"]["final"], 50)  # spent runs from 100 to 395: its deviation is 87
        self.assertLess(measured["val/rmse"]["final"], 20)
        self.assertGreater(measured["val/r2"]["final"], 0.9)

    def test_a_loss_above_that_of_the_class_frequencies_is_said(self):
        study = (self.config, "seeds=6", "model.ffn.activation=relu,gelu", "compare.metric=val/loss", "-q")
        guess = r"note: without a model, the class frequencies of the training rows give val/loss 0\.\d+ \(val/frequency_loss, mean over the runs\)"
        self.assertRegex(" ".join(self.ok(*study).stdout.split()), guess + "(?!; worse)")
        text = " ".join(self.ok(*study, "name=wild", "train.optimizer.lr=3", "train.optimizer.kind=sgd", "train.steps=3").stdout.split())
        self.assertRegex(text, guess + "; worse: (gelu|relu)")

    def test_seeds_end_at_thirty(self):
        few = self.ok(self.config, "seeds=2", "model.ffn.kind=none,positionwise", "compare.metric=val/accuracy", "train.steps=20")
        self.assertNotIn("settled", few.stderr)
        for command in ((self.config, "seeds=auto"), ("plan", self.config, "seeds=40", "--no-probe")):
            said = self.run_program(*command, "model.ffn.kind=none,positionwise", "compare.metric=val/accuracy")
            self.assertIn("more rows help", " ".join((said.stdout + said.stderr).split()))

    def test_r2_is_undefined_where_all_targets_held_out_are_equal(self):
        rows = "".join(f"{x},{x * 0.37},train\n" for x in range(30)) + "".join(f"{x},0.1,validation\n" for x in range(23))
        self.write("equal.csv", "x,y,part\n" + rows)
        self.ok(self.config, "task.file=equal.csv", "task.label=", "task.target=y", "task.ignore=[]", "task.split=part", "name=equal", "train.steps=20", "-q")
        measured = record(self.tmp / "runs/equal/seed-0")["summary"]["metrics"]
        self.assertIn("val/rmse", measured)
        self.assertNotIn("val/r2", measured)

    def test_both_engines_agree_and_a_cohort_writes_what_a_run_alone_does(self):
        self.assertIn("the engines agree", self.ok("verify", self.config).stdout)
        self.ok(self.config, "seeds=3", "name=together", "-q", "-j", "1")
        self.ok(self.config, "seed=2", "name=alone", "-q")
        files = [next((self.tmp / "runs" / name).rglob("seed-2.*/model.safetensors")).read_bytes() for name in ("alone", "together")]
        alone, together = (file[8 + int.from_bytes(file[:8], "little"):] for file in files)  # without the header, which has the name
        self.assertEqual(alone, together)
        self.assertGreater(len(alone), 1000)

    def test_what_is_wrong_with_a_table_is_said_before_anything_is_written(self):
        (self.tmp / "mine.csv").write_text("x,color,bought,spent\n" + ROWS + "1,red,yes\n")
        for command in ((self.config,), ("validate", self.config)):
            self.assertIn("3 cells in a table of 4", self.fails(3, *command))
        self.assertFalse((self.tmp / "runs").exists())
        for code, said, words in ((2, "label or target, not both", ["task.target=spent"]), (2, 'got "text"', ['task.types={"x": "text"}']),
                                  (2, "split (fold) is a column", ["task.split=fold", "task.validation_fraction=0.3"]), (3, "no table at", ["task.file=other.csv"])):
            self.assertIn(said, self.fails(code, self.config, *words))
        with open(self.tmp / "large.csv", "w") as large:
            large.truncate(1100 << 20)
        self.assertIn("at most 1024 are read", self.fails(3, self.config, "task.file=large.csv"))

    def test_a_run_is_inspected_with_its_table_and_not_with_another(self):
        self.ok(self.config, "-q")
        self.assertIn("yes", self.ok("inspect", "runs/mine").stdout)
        self.assertIn("only text runs", self.fails(2, "sample", "runs/mine"))
        (self.tmp / "mine.csv").write_text("x,color,bought,spent\n" + ROWS.replace("blue", "green"))
        self.assertIn("not the table", self.fails(3, "inspect", "runs/mine"))

    def test_a_table_of_row_names_a_date_an_id_gaps_and_percents_is_learned_by_what_the_messages_say(self):
        lines = [f'"{i + 1}",2024-01-{i % 28 + 1:02},{5000 + i},{"NA" if i % 9 == 4 else i % 10},{i * 7 % 50}%,{["red", "blue"][i % 2]},{"yes" if i % 10 > 4 else "no"}'
                 for i in range(120)]
        self.write("people.csv", '"",day,customer,visits,discount,color,bought\n' + "\n".join(lines) + "\n")
        words = [self.config, "task.file=people.csv", "task.ignore=[]", "name=people", "train.steps=300", "train.optimizer.lr=0.03", "-q"]
        for what in ("column customer numbers the rows (5000 to 5119)", "column visits: \"NA\" stands for a missing value; missing in 13 of 120 rows: visits (13)",
                     'column day: "2024-01-01" is a date', 'column discount: "0%" is a percentage'):
            error = " ".join(self.fails(3, *words).split())
            self.assertIn(what, error)
            advice = re.search(r"task\.missing=mean|task\.ignore='(.*?)'", error)[0].replace("'", "")
            words = [word for word in words if not str(word).startswith(advice.split("=")[0] + "=")] + [advice]
        said = self.ok(*words).stderr + self.ok("plan", *[word for word in words if word != "-q"], "--no-probe").stderr
        self.assertIn("120 rows; numbers: visits (13 missing); categories: color (2); label: bought (no, yes); left out, without a name: column 1", said)
        self.assertGreater(record(self.tmp / "runs/people/seed-0")["summary"]["metrics"]["val/accuracy"]["final"], 0.85)

    def test_remedies_can_be_pasted_whatever_the_columns_are_called(self):
        self.write("names.csv", '"the id","size, cm","it\'s [x]"\n' + "".join(f"{i},{i * 1.5},{i * 7 % 13}\n" for i in range(40)))
        words = ["names.csv", "name=names", "train.steps=5", 'task.label="size, cm"']
        command = shlex.split(self.fails(2, *words).partition("train on it: ")[2])
        self.assertEqual(command, ["ffn-train", "table", "task.file=names.csv", *words[1:]])
        self.assertIn("task.file=mine.csv task.label=COLUMN seeds=2", self.fails(2, "mine.csv", "seeds=2"))
        words = command[1:]
        for form in (r"leave it out: (\S+'.*?')(?:;|$)", r"say (task\.label= task\.target=.*)"):
            error = " ".join(self.fails(3, *words).split())
            self.assertRegex(error, form)
            advice = shlex.split(re.search(form, error)[1])
            words = [word for word in words if word.partition("=")[0] not in {new.partition("=")[0] for new in advice}] + advice
        self.assertIn("target: size, cm", self.ok(*words).stderr)

    def test_the_shipped_table_is_copied_with_its_config(self):
        self.ok("cp", "table", "iris.json")
        self.assertEqual(len((self.tmp / "data/iris.csv").read_text().splitlines()), 151)
        self.assertIn("150 rows", self.ok("iris.json", "train.steps=5").stderr)
        self.assertIn("is not overwritten", self.fails(2, "cp", "table", "again.json"))
        self.assertFalse((self.tmp / "again.json").exists())


if __name__ == "__main__":
    main()
