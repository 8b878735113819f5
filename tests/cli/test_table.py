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

    def test_a_study_names_the_answer_without_a_model_beside_the_linear_one(self):
        text = self.ok(self.config, "seeds=6", "model.ffn.kind=none,positionwise", "compare.metric=val/accuracy", "-q").stdout
        self.assertRegex(" ".join(text.split()), r"note: without a model, the most frequent class of the training rows gives val/accuracy 0\.\d+ \(val/majority_accuracy, mean over the runs\)")
        self.assertIn("seeds draw other splits of the rows of mine.csv, which are no replicates: the test adds 0.25, the held-out rows per training row, to 1/seeds", " ".join(text.split()))

    def test_a_loss_above_that_of_the_class_frequencies_is_said(self):
        study = (self.config, "seeds=6", "model.ffn.activation=relu,gelu", "compare.metric=val/loss", "-q")
        guess = r"note: without a model, the class frequencies of the training rows give val/loss 0\.\d+ \(val/frequency_loss, mean over the runs\)"
        self.assertRegex(" ".join(self.ok(*study).stdout.split()), guess + "(?!; worse)")
        text = " ".join(self.ok(*study, "name=wild", "train.optimizer.lr=3", "train.optimizer.kind=sgd", "train.steps=3").stdout.split())
        self.assertRegex(text, guess + "; worse: (gelu|relu)")

    def test_labels_by_coin_make_nothing_sure_and_seeds_end_at_thirty(self):
        # "Sure of these data" in two of five such tables before, when splits of the same rows counted as replicates.
        rows = [[(i * k * 37 % 101) / 25 - 2 for k in (1, 7, 11)] for i in range(60)]
        coins = bin(0x5D3A9C61F207B48E)[2:].zfill(60)
        self.write("coins.csv", "x,y,z,coin\n" + "".join(f"{x},{y},{z},{'no yes'.split()[int(c)]}\n" for (x, y, z), c in zip(rows, coins)))
        table = ["task={\"kind\": \"table\", \"file\": \"coins.csv\", \"label\": \"coin\"}", "model.ffn.kind=none,positionwise", "compare.metric=val/accuracy"]
        few = self.ok(self.config, *table, "seeds=10", "name=few")
        self.assertIn("Not sure: positionwise", " ".join(few.stdout.split()))
        self.assertNotIn("settled", few.stderr)
        self.assertIn("beyond about 30 seeds more rows help", self.fails(2, self.config, *table, "seeds=auto"))
        self.assertIn("beyond about 30 seeds more rows help", " ".join(self.ok("plan", self.config, *table, "seeds=40", "--no-probe").stdout.split()))
        many = self.ok(self.config, *table, "seeds=40", "name=many", "train.steps=50")
        self.assertIn("more rows would tell, more seeds hardly", " ".join(many.stdout.split()))
        self.assertNotIn("seeds=", many.stderr.split("results:")[1])

    def test_a_sure_answer_is_sure_of_rows_like_these(self):
        rows = [((i * 7 % 40 - 19.5) / 10, (i * 11 % 37 - 18) / 10) for i in range(120)]
        (self.tmp / "signs.csv").write_text("x,y,same\n" + "".join(f"{x},{y},{'yes' if x * y > 0 else 'no'}\n" for x, y in rows))
        answer = self.ok(self.config, "task={\"kind\": \"table\", \"file\": \"signs.csv\", \"label\": \"same\"}", "model.ffn.kind=none,positionwise",
                         "compare.metric=val/accuracy", "seeds=10", "name=signs", "-q").stdout
        self.assertIn("Sure of rows like these: positionwise is better than no FFN", " ".join(answer.split()))
        self.assertNotIn("Sure:", answer)

    def test_r2_is_undefined_where_all_targets_held_out_are_equal(self):
        rows = "".join(f"{x},{x * 0.37},train\n" for x in range(30)) + "".join(f"{x},0.1,validation\n" for x in range(23))
        self.write("equal.csv", "x,y,part\n" + rows)
        self.ok(self.config, "task.file=equal.csv", "task.label=", "task.target=y", "task.ignore=[]", "task.split=part", "name=equal", "train.steps=20", "-q")
        measured = record(self.tmp / "runs/equal/seed-0")["summary"]["metrics"]
        self.assertIn("val/rmse", measured)
        self.assertNotIn("val/r2", measured)

    def test_a_study_does_not_fail_for_the_seed_whose_first_draw_leaves_a_class_out(self):
        self.write("rare.csv", "x,c\n" + "".join(f"{x},{'rare' if x == 0 else 'ab'[x % 2]}\n" for x in range(20)))
        error = self.ok(self.config, "task.file=rare.csv", "task.label=c", "task.ignore=[]", 'task.types={"x": "number"}', "seeds=20", "name=rare", "train.steps=5").stderr
        self.assertNotIn("has no training row", error)

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
        error = self.fails(3, self.config)
        self.assertIn("mine.csv:62: 3 cells in a table of 4 columns", error)
        self.assertFalse((self.tmp / "runs").exists())
        self.assertIn("mine.csv:62", self.fails(3, "validate", self.config))
        self.assertIn("set label or target, not both", self.fails(2, self.config, "task.target=spent"))
        self.assertIn('types: x: expected "number" or "category", got "text"', self.fails(2, self.config, 'task.types={"x": "text"}'))
        self.assertIn("split (fold) is a column", self.fails(2, self.config, "task.split=fold", "task.validation_fraction=0.3"))
        with open(self.tmp / "large.csv", "w") as large:
            large.truncate(1100 << 20)
        self.assertIn("the table has 1100 MiB; at most 1024 are read", self.fails(3, self.config, "task.file=large.csv"))
        self.assertIn('column color: "red" is not a number', self.fails(3, self.config, "task.file=" + str(self.write("good.csv", "x,color,bought\n" + "1,red,yes\n2,blue,no\n" * 9)), "task.label=", "task.target=color", "task.ignore=[]"))
        self.assertIn("no table at", self.fails(3, self.config, "task.file=other.csv"))

    def test_a_run_is_inspected_with_its_table_and_not_with_another(self):
        self.ok(self.config, "-q")
        self.assertIn("yes", self.ok("inspect", "runs/mine").stdout)
        self.assertIn("only text runs can be sampled", self.fails(2, "sample", "runs/mine"))
        (self.tmp / "mine.csv").write_text("x,color,bought,spent\n" + ROWS.replace("blue", "green"))
        self.assertIn("is not the table that the run was trained on", self.fails(3, "inspect", "runs/mine"))

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
        self.assertIn("numbers: it's [x]; target: size, cm", self.ok(*words).stderr)

    def test_a_study_whose_table_is_missing_names_a_table(self):
        self.assertIn("no table at", self.fails(3, self.config, "task.file=other.csv", "seeds=2"))

    def test_the_shipped_table_is_copied_with_its_config(self):
        self.ok("cp", "table", "iris.json")
        self.assertEqual(len((self.tmp / "data/iris.csv").read_text().splitlines()), 151)
        self.assertIn("150 rows", self.ok("iris.json", "train.steps=5").stderr)
        self.assertIn("exists and is not overwritten", self.fails(2, "cp", "table", "again.json"))
        self.assertFalse((self.tmp / "again.json").exists())


if __name__ == "__main__":
    main()
