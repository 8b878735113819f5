#!/usr/bin/env python3
"""Predictions of a trained run for rows of a file and for those that it held out."""
import csv
import io
import json
import struct

from program import ProgramTest, main, record

COLORS = ("red", "blue", "green")


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


class Predict(ProgramTest):
    def train(self, name, task, *more):
        config = self.write(f"{name}.json", {"name": name, "task": task, "model": {"d_model": 8}, "train": {"steps": 150, "optimizer": {"lr": 0.01}}})
        self.ok(config, "-q", *more)
        return f"runs/{name}/seed-0", {key: value["final"] for key, value in record(self.tmp / f"runs/{name}/seed-0")["summary"]["metrics"].items()}

    def rows(self, count=80):
        return [{"x": i % 10, "color": COLORS[i * i % 3], "kind": "ab"[(i % 10 > 4) ^ (i * i % 3 == 0)], "y": 1000 + 50 * (i % 10) + i / 7} for i in range(count)]

    def put(self, name, rows, columns=None):
        out = io.StringIO()
        writer = csv.DictWriter(out, columns or list(rows[0]), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        return self.write(name, out.getvalue())

    def test_held_out_rows_have_the_accuracy_that_the_run_measured_and_a_confusion_matrix(self):
        rows = self.rows()
        self.put("t.csv", rows)
        run, measured = self.train("classes", {"kind": "table", "file": "t.csv", "label": "kind", "ignore": ["y"]})
        said = self.ok("predict", run, "-o", "held-out.csv").stdout
        predicted = table((self.tmp / "held-out.csv").read_text())
        self.assertEqual(len(predicted), 16)
        for row in predicted:
            self.assertEqual(row["actual"], rows[int(row["row"]) - 1]["kind"])
            self.assertAlmostEqual(float(row["p(a)"]) + float(row["p(b)"]), 1, places=5)
            self.assertEqual(row["predicted"], "ab"[float(row["p(b)"]) > float(row["p(a)"])])
        right = sum(row["predicted"] == row["actual"] for row in predicted)
        self.assertAlmostEqual(right / 16, measured["val/accuracy"], places=6)
        answer = json.loads(self.ok("predict", run, "-o", "again.csv", "--json").stdout)
        self.assertEqual((self.tmp / "again.csv").read_text(), (self.tmp / "held-out.csv").read_text())
        self.assertEqual(answer["accuracy"], right / 16)
        self.assertEqual([sum(counts) for counts in answer["confusion"]], [sum(row["actual"] == kind for row in predicted) for kind in "ab"])
        self.assertEqual(answer["confusion"][0][0] + answer["confusion"][1][1], right)
        self.assertRegex(said, r"accuracy [\d.]+ on 16 held-out rows\nactual \\ predicted +a +b\na +\d+ +\d+\nb +\d+ +\d+\n")

    def test_new_rows_are_read_by_name_as_training_read_them(self):
        rows = self.rows()
        self.put("t.csv", rows)
        run, measured = self.train("numbers", {"kind": "table", "file": "t.csv", "target": "y", "ignore": ["kind"]})
        self.put("all.csv", rows, ["color", "y", "x"])  # another order, without a column that was left out
        result = self.ok("predict", run, "all.csv")
        of_all = {int(row["row"]): float(row["predicted"]) for row in table(result.stdout)}
        self.assertEqual(list(of_all), list(range(1, 81)))
        self.assertIn("RMSE", result.stderr)
        held_out = json.loads(self.ok("predict", run, "--json").stdout)
        self.assertAlmostEqual(held_out["rmse"] / measured["val/rmse"], 1, places=5)
        for row in held_out["rows"]:
            self.assertAlmostEqual(row["predicted"], of_all[row["row"]], places=2)
        self.put("new.csv", rows[:3], ["x", "color"])  # nobody knows the answer yet
        result = self.ok("predict", run, "new.csv", "-o", "out.csv")
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        self.assertEqual(list(table((self.tmp / "out.csv").read_text())[0]), ["row", "predicted"])
        self.put("some.csv", [{**row, "y": row["y"] if i < 7 else ""} for i, row in enumerate(rows)])
        result = self.ok("predict", run, "some.csv")
        self.assertEqual([int(row["row"]) for row in table(result.stdout) if row["actual"]], list(range(1, 8)))
        self.assertIn(" on 7 labelled rows\n", result.stderr)
        (self.tmp / "t.csv").unlink()  # new rows need no data of training
        self.ok("predict", run, "new.csv")
        self.assertRegex(self.fails(3, "predict", run), "no .*file at|no table at")

    def test_missing_cells_are_read_as_training_read_them(self):
        rows = [{**row, **[{"x": "NA"}, {"color": ""}, {}, {}][i % 4]} for i, row in enumerate(self.rows())]
        self.put("t.csv", rows)
        run, measured = self.train("gaps", {"kind": "table", "file": "t.csv", "label": "kind", "ignore": ["y"], "missing": "mean"})
        held_out = json.loads(self.ok("predict", run, "--json").stdout)
        self.assertAlmostEqual(held_out["accuracy"], measured["val/accuracy"], places=6)
        of_all = json.loads(self.ok("predict", run, "t.csv", "--json").stdout)["rows"]
        for row in held_out["rows"]:
            self.assertEqual((row["probabilities"], row["actual"]), (of_all[row["row"] - 1]["probabilities"], of_all[row["row"] - 1]["actual"]))
        self.put("some.csv", [{**row, "kind": row["kind"] if i < 7 else ["", "NA"][i % 2]} for i, row in enumerate(rows)])
        some = json.loads(self.ok("predict", run, "some.csv", "--json").stdout)
        self.assertEqual([row.get("actual") for row in some["rows"]], [row["kind"] for row in rows[:7]] + [None] * (len(rows) - 7))
        self.assertEqual(some["accuracy"], sum(row["actual"] == row["predicted"] for row in some["rows"][:7]) / 7)
        self.assertEqual(sum(map(sum, some["confusion"])), 7)
        self.write("new.csv", "x,color,kind\nNA,,\n")
        self.assertEqual(len(table(self.ok("predict", run, "new.csv").stdout)), 1)

    def test_rows_that_do_not_fit_are_named_with_a_remedy(self):
        rows = self.rows()
        self.put("t.csv", rows)
        run, _ = self.train("classes", {"kind": "table", "file": "t.csv", "label": "kind", "ignore": ["y"]})
        for text, what in (("x,color\n1,red\n2,pink\n", 'new.csv:3, column color: "pink" is none of the values that were trained'),
                           ("x,color\n1,red\n1.5x,red\n", 'new.csv:3, column x: "1.5x" is not a number'),
                           ("x,color\n,red\n", "new.csv:2, column x: the cell is empty"),
                           ("x,colour\n1,red\n", 'there is no column "color"; did you mean "colour"?'),
                           ("x,x,color\n1,2,red\n", 'two columns are called "x"'),
                           ("x,color,kind\n1,red,c\n", 'new.csv:2, column kind: "c" is none of the values'),
                           ("x,color\n", "the table has no rows")):
            self.write("new.csv", text)
            self.assertIn(what, " ".join(self.fails(3, "predict", run, "new.csv").split()))
        self.assertIn("no file at nowhere.csv", self.fails(3, "predict", run, "nowhere.csv"))
        self.put("t.csv", rows[:-1])
        self.assertIn("not what it was trained on", " ".join(self.fails(3, "predict", run).split()))
        self.write("thesis.tex", "my words")
        self.assertEqual(self.run_program("predict", run, "-o", "thesis.tex").returncode, 2)
        self.assertEqual((self.tmp / "thesis.tex").read_text(), "my words")

    def test_functions_images_and_bits_are_predicted_and_tokens_refused(self):
        run, measured = self.train("sum", {"kind": "function", "inputs": {"x": {"uniform": [-1, 1], "size": 2}, "n": {"integer": 3}}, "target": "x[0] + n"})
        self.write("new.csv", "n,x[1],x[0]\n2,0.5,0.25\n0,0,-1\n")
        predicted = table(self.ok("predict", run, "new.csv").stdout)
        self.assertEqual([float(row["actual"]) for row in predicted], [2.25, -1])
        for row in predicted:
            self.assertLess(abs(float(row["predicted"]) - float(row["actual"])), 1)
        self.write("new.csv", "n,x[1],x[0]\n3,0.5,0.25\n")
        self.assertIn("3 is no whole number", " ".join(self.fails(3, "predict", run, "new.csv").split()))
        self.assertAlmostEqual(json.loads(self.ok("predict", run, "--json").stdout)["rmse"] ** 2, measured["val/loss"], delta=1e-4)

        idx = lambda sizes, data: struct.pack(">BBBB" + "I" * len(sizes), 0, 0, 8, len(sizes), *sizes) + bytes(data)
        images = [200 * (i % 4 == pixel) + i % 7 for i in range(40) for pixel in range(4)]
        (self.tmp / "idx").mkdir()
        for part in ("train", "t10k"):
            (self.tmp / f"idx/{part}-images-idx3-ubyte").write_bytes(idx((40, 2, 2), images))
            (self.tmp / f"idx/{part}-labels-idx1-ubyte").write_bytes(idx((40,), [i % 4 for i in range(40)]))
        run, measured = self.train("pixels", {"kind": "images", "directory": "idx"})
        new = table(self.ok("predict", run, "idx/t10k-images-idx3-ubyte").stdout)
        self.assertAlmostEqual(sum(int(row["predicted"]) == i % 4 for i, row in enumerate(new)) / 40, measured["val/accuracy"], places=6)
        self.assertEqual(json.loads(self.ok("predict", run, "--json").stdout)["accuracy"], measured["val/accuracy"])

        self.ok("xor", "-q")
        self.assertEqual(json.loads(self.ok("predict", "runs/xor/seed-0", "--json").stdout)["accuracy"], 1)
        self.assertIn("reads no rows of a file", self.fails(2, "predict", "runs/xor/seed-0", "new.csv"))
        self.write("words.txt", "the cat sat on the mat. " * 40)
        self.ok("text", "task.file=words.txt", "train.steps=2", "-q")
        self.assertIn("ffn-train sample", self.fails(2, "predict", "runs/text/seed-0", "new.csv"))


if __name__ == "__main__":
    main()
