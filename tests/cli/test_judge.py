#!/usr/bin/env python3
"""Verdicts on tables of runs that other trainers made."""
import base64
import csv
import json
import os
import random
import struct
import subprocess
import sys
import unittest

from program import PROGRAM, ROOT, ProgramTest, main

sys.path.insert(0, str(ROOT / "scripts"))
import ffn_train

# KellerJordan/modded-nanogpt #120: two sets of ten losses.
NEW = "3.2806 3.2764 3.2787 3.2778 3.2776 3.2754 3.2779 3.2775 3.2782 3.2779".split()
OLD = "3.2784 3.2778 3.2766 3.2771 3.2764 3.2768 3.2760 3.2790 3.2747 3.2772".split()


def table(variants, head="variant,val_loss"):
    return head + "\n" + "".join(f"{name},{value}\n" for name, values in variants.items() for value in values)


def paired(n, effect=0.004, seed=1, first=0):
    draw = random.Random(seed)
    rows = ["act,seed,val_loss"]
    for k in range(first, first + n):
        base = draw.gauss(3.28, 0.01)
        rows += [f"relu,{k},{base:.5f}", f"relu2,{k},{base - effect + draw.gauss(0, 0.002):.5f}"]
    return "\n".join(rows) + "\n"


class JudgeTest(ProgramTest):
    def judged(self, *arguments):
        return json.loads(self.ok("judge", *arguments, "--json").stdout)

    def pair(self, *arguments):
        answer = self.judged(*arguments)
        self.assertEqual(len(answer["facets"]), 1)
        (pair,) = answer["facets"][0]["pairs"]
        return pair, answer


class Tables(JudgeTest):
    def test_two_sets_of_ten_losses_have_the_exact_p(self):
        self.write("runs.csv", table({"old": OLD, "new": NEW}))
        pair, answer = self.pair("runs.csv", "--scale", "difference")
        self.assertEqual((pair["verdict"], pair["test"], pair["p_exact"]), ("undecided", "permutation_of_means", True))
        self.assertAlmostEqual(pair["p"], 35522 / 184756, places=12)
        self.assertAlmostEqual(pair["difference"]["mean"], 0.0008, places=9)
        self.assertIn("Unpaired: exact permutation test of 10 and 10 runs, p = 0.19", answer["answer"])
        self.assertIn("10 and 10 runs, unpaired", pair["sentence"])
        self.assertEqual(answer["qualification"], "")

    def test_a_file_for_each_variant(self):
        self.write("old.csv", "val_loss\n" + "\n".join(OLD) + "\n")
        self.write("new.csv", "val_loss\n" + "\n".join(NEW) + "\n")
        pair, answer = self.pair("old.csv", "new.csv")
        self.assertEqual((pair["value"], pair["reference"]), ("new", "old"))
        self.assertTrue((self.tmp / "new.csv.looks.json").exists())
        self.write("new.csv", "val_loss\n" + "\n".join(NEW + ["3.27"]) + "\n")
        self.assertIn("came after the look", self.judged("new.csv", "old.csv", "--reference", "old")["qualification"])

    def test_a_failed_run_leaves_the_digits_that_tell_variants_apart(self):
        rows = "".join(f"relu,{k},{2.306 + k / 1000}\nrelu2,{k},{2.266 + k / 1000}\n" for k in range(5))
        self.write("runs.csv", "act,seed,val_loss\n" + rows + "relu,5,nan\nrelu2,5,2.275\n")
        _, answer = self.pair("runs.csv")
        self.assertIn("relu2 has the lowest median val_loss: 2.26", answer["answer"])
        self.assertTrue(any("because 1 of 12 runs has no value" in note for note in answer["notes"]), answer["notes"])

    def test_a_file_of_numbers_alone_is_told_of_its_names(self):
        self.write("runs.csv", "\n".join(OLD) + "\n")
        self.assertIn("the first line has to name the columns", self.fails(2, "judge", "runs.csv"))

    def test_a_step_at_the_target_is_said_to_be_ranked(self):
        self.write("runs.csv", "act,seed,step,val_loss\n" +
                   "".join(f"{act},{k},{t},{3 - t / 100 - k / 50}\n" for act in ("relu", "relu2") for k in range(8) for t in range(0, 60, 5)))
        _, answer = self.pair("runs.csv", "--take", "target=2.7")
        self.assertTrue(any("(scale ranks)" in note for note in answer["notes"]), answer["notes"])

    def test_the_same_seeds_are_paired(self):
        self.write("runs.csv", paired(10))
        pair, answer = self.pair("runs.csv")
        self.assertEqual((pair["verdict"], pair["test"], pair["wins"] + pair["losses"]), ("better", "sign_flip_of_mean", 10))
        self.assertIn("Paired by seed", answer["answer"])
        self.assertIn('variants from "act", seeds from "seed", the metric is "val_loss" (lower is better)', answer["notes"][0])
        self.write("some.csv", paired(10).replace("relu2,9", "relu2,99"))
        pair, answer = self.pair("some.csv")
        self.assertEqual(pair["verdict"], "undecided")
        self.assertTrue(any("share 9 seeds, but not all" in note and "% of the runs" in note for note in answer["notes"]), answer["notes"])

    def test_every_format_shows_it(self):
        self.write("runs.csv", table({"old": OLD, "new": NEW}))
        for option in ("--details", "--explain", "--markdown", "--csv", "--latex"):
            self.assertIn("new", self.ok("judge", "runs.csv", option).stdout)
        self.assertIn("Unpaired: exact permutation test of the mean log ratio", self.ok("judge", "runs.csv", "--details").stdout.replace("\n", " "))
        self.assertNotIn("same seeds", self.ok("judge", "runs.csv", "--explain").stdout.replace("\n", " "))
        self.fails(5, "judge", "runs.csv", "--fail-if", "undecided")

    def test_failed_runs_are_the_worst_and_are_named(self):
        rows = paired(8, effect=0.1).splitlines()
        rows[0] += ",state"
        rows[1:] = [row + ",finished" for row in rows[1:]]
        rows[4] = "relu2,1,2.1,crashed"
        rows[6] = "relu2,2,,finished"
        rows[8] = "relu2,3,nan,finished"
        self.write("runs.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("runs.csv")
        self.assertEqual((pair["seeds"], pair["wins"], pair["losses"], pair["test"]), (8, 5, 3, "signed_rank"))
        (note,) = [note for note in answer["notes"] if "count as worst" in note]
        self.assertIn("3 runs count as worst: runs.csv:5 (relu2, crashed), runs.csv:7 (relu2, no value), runs.csv:9 (relu2, not finite)", note)
        self.write("runs2.csv", "\n".join(rows).replace("relu2,7,", "relu2,17,") + "\n")
        self.assertEqual(self.pair("runs2.csv")[0]["test"], "rank_sum")

    def test_a_column_with_a_state_that_is_not_known_is_not_read_and_that_is_said(self):
        rows = paired(8).splitlines()
        rows = [rows[0] + ",state", *(row + ",finished" for row in rows[1:])]
        rows[3] = rows[3].replace("finished", "zombie")
        self.write("runs.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("runs.csv")
        self.assertEqual(pair["seeds"], 8)
        self.assertTrue(any('"state" is not read: "zombie" (runs.csv:4) is no state' in note for note in answer["notes"]), answer["notes"])

    def test_running_runs_make_it_suggestive(self):
        rows = paired(8).splitlines()
        rows[0] += ",State"
        rows[1:] = [row + ",finished" for row in rows[1:]]
        rows[-2:] = [row.replace("finished", "running") for row in rows[-2:]]
        self.write("runs.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("runs.csv")
        self.assertEqual(pair["seeds"], 7)
        self.assertIn("Not all runs are finished", answer["qualification"])

    def test_curves_are_taken_at_their_end_their_best_or_a_target(self):
        draw = random.Random(3)
        lines = []
        for act in ("a", "b"):
            for seed in range(6):
                for step in range(0, 50, 10):
                    value = 4 - 0.03 * step - (0.5 if act == "b" and step == 30 else 0) + draw.gauss(0, 0.01)
                    lines.append(json.dumps({"config": {"act": act, "seed": seed}, "_step": step, "val/loss": round(value, 5)}))
        self.write("runs.jsonl", "\n".join(lines) + "\n")
        self.assertEqual(self.pair("runs.jsonl")[0]["verdict"], "undecided")
        self.assertEqual(self.pair("runs.jsonl", "--take", "best", "-o", "other")[0]["verdict"], "better")
        pair, answer = self.pair("runs.jsonl", "--take", "target=2.9", "-o", "third")
        self.assertEqual((answer["metric"], answer["direction"], pair["verdict"]), ("_step at val/loss ≤ 2.9", "lower", "better"))
        self.write("nan.jsonl", "\n".join(lines).replace('"seed": 3}, "_step": 40, "val/loss": ' + json.loads(lines[19])["val/loss"].__str__(), '"seed": 3}, "_step": 40, "val/loss": NaN') + "\n")
        self.assertIn("not finite", " ".join(self.pair("nan.jsonl")[1]["notes"]))
        self.assertIn("--take", self.fails(2, "judge", "runs.jsonl", "--take", "first"))

    def test_facets_are_one_family(self):
        rows = ["size,act,seed,loss"]
        for size in (1, 2):
            rows += [f"{size},{row}" for row in paired(8, seed=size).splitlines()[1:]]
        self.write("runs.csv", "\n".join(rows) + "\n")
        answer = self.judged("runs.csv", "--facet", "size")
        self.assertEqual([facet["keys"] for facet in answer["facets"]], [{"size": "1"}, {"size": "2"}])
        self.assertEqual({pair["comparisons"] for facet in answer["facets"] for pair in facet["pairs"]}, {2})
        self.assertRegex(self.fails(3, "judge", "runs.csv"), r"runs.csv:2 and runs.csv:18 are both of act relu, seed 0\nhint: .*--facet")

    def test_mistakes_have_a_place(self):
        self.write("runs.csv", 'variant,val_loss\na,1\nb,"3,2"\n')
        self.assertIn("runs.csv:3: val_loss is \"3,2\", which is a number with commas", self.fails(3, "judge", "runs.csv"))
        self.write("words.csv", "variant,val_loss\na,one\n")
        self.assertIn("words.csv:2: val_loss is \"one\", which is no number", self.fails(3, "judge", "words.csv"))
        self.write("names.csv", "layer,result\na,1\nb,2\n")
        self.assertIn("--metric COLUMN", self.fails(2, "judge", "names.csv"))
        self.assertIn("columns here: layer, result", self.fails(2, "judge", "names.csv", "--metric", "result", "--lower"))
        self.assertIn('did you mean "result"', self.fails(2, "judge", "names.csv", "--metric", "resutl"))
        self.assertIn("--higher or --lower", self.fails(2, "judge", "names.csv", "--metric", "result", "--by", "layer"))
        self.assertIn("names.csv:2: val_loss", self.fails(3, "judge", self.write("names.csv", "act,val_loss\nrelu,x\n")).replace(str(self.tmp) + "/", ""))
        self.assertIn("no rows", self.fails(3, "judge", self.write("empty.csv", "act,val_loss\n")))
        self.assertIn("no run has a number", self.fails(3, "judge", self.write("none.csv", "act,val_loss\na,\nb,\n")))
        self.assertIn("no.csv", self.fails(3, "judge", "no.csv"))
        self.assertRegex(self.fails(3, "judge", self.write("one.csv", "act,seed,val_loss\na,1,3\na,1.0,4\n")), "one.csv:2 and .*one.csv:3 are both of act a")
        self.assertIn("and 970 more", self.fails(2, "judge", self.write("wide.csv", ",".join(f"c{k}" for k in range(1000)) + "\n" + "," * 999 + "x\n")))
        self.write("sparse.jsonl", "".join(f'{{"act":"{"ab"[k % 2]}","val_loss":{k},"k{k}":1}}\n' for k in range(9000)))
        self.assertRegex(self.fails(3, "judge", "sparse.jsonl"), r"sparse.jsonl:\d+: a table of \d+ columns has too many rows")

    def test_names_command_no_terminal(self):
        self.write("runs.csv", paired(8).replace("relu2", "\x1b[31mrelu2"))
        self.assertNotIn("\x1b", self.ok("judge", "runs.csv").stdout)
        self.assertIn("bad.jsonl:2: no JSON", self.fails(3, "judge", self.write("bad.jsonl", '{"act":"a","val_loss":1}\n{"act":\n')).replace(str(self.tmp) + "/", ""))

    def test_columns_that_do_not_vary_say_nothing(self):
        rows = ["model,optimizer,seed,val_loss"] + [f"gpt,{name},42,{value}" for name, values in (("adam", OLD), ("muon", NEW)) for value in values]
        self.write("runs.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("runs.csv")
        self.assertEqual((answer["by"], pair["test"]), ("optimizer", "permutation_of_means"))
        self.assertIn('"seed" is the same in all rows', " ".join(answer["notes"]))

    def test_values_without_a_scale_are_those_of_runs_that_diverged(self):
        self.write("runs.csv", table({"a": ["1e308", "-1e308", "1e308", "1e200"], "b": ["1e308", "2", "1.5", "2.5"]}))
        self.assertIn("5 runs count as worst: runs.csv:2 (a, not finite)", " ".join(self.pair("runs.csv")[1]["notes"]))
        self.write("runs.csv", table({"a": [2] * 4, "b": [2] * 4}))
        pair, answer = self.pair("runs.csv", "-o", "same")
        self.assertEqual(pair["verdict"], "same")
        self.assertIn("The same as a in every run: b.", answer["answer"])
        self.write("runs.csv", "act,steps_to_target\n" + "".join(f"{act},{n}\n" for act, first in (("a", 1), ("b", 9)) for n in range(first, first + 4)))
        pair, answer = self.pair("runs.csv", "-o", "steps", "--metric", "steps_to_target")
        self.assertEqual(pair["verdict"], "worse")
        self.assertTrue(answer["answer"].startswith("a has the lowest steps to target"), answer["answer"])

    def test_a_pipe_keeps_no_record(self):
        answer = self.ok("judge", "-", "--json", input=paired(8))
        self.assertIn("not recorded", " ".join(json.loads(answer.stdout)["notes"]))
        self.assertEqual(self.files(), [])
        piped = subprocess.run(["bash", "-c", f"{PROGRAM} judge <(printf 'act,val_loss\\na,1\\nb,2\\n') --json"], capture_output=True, text=True, cwd=self.tmp)
        self.assertEqual((piped.returncode, piped.stderr), (0, ""))
        self.assertIn("-o DIR", self.fails(2, "judge", "/dev/null", "--design", "settled"))


class Exports(JudgeTest):
    def test_a_table_of_runs_of_wandb(self):
        draw = random.Random(1)
        rows = ['"Name","State","Notes","User","Tags","Created","Runtime","Sweep","act","seed","val/loss","_step"']
        rows += [f'"sun-{seed}","finished","-","me","","2026-01-01","100","","{act}","{seed}","{draw.gauss(3, 0.01) - (act == "gelu"):.4f}","500"'
                 for act in ("relu", "gelu") for seed in range(7)]
        self.write("export.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("export.csv")
        self.assertEqual((answer["by"], answer["metric"], pair["verdict"], pair["seeds"]), ("act", "val/loss", "better", 7))

    def test_a_chart_of_wandb(self):
        draw = random.Random(1)
        names = [f"{act}-seed{seed} - val/loss" for act in ("relu", "gelu") for seed in range(6)]
        rows = ['"Step",' + ",".join(f'"{name}","{name}__MIN","{name}__MAX"' for name in names)]
        for step in range(3):
            cells = [f'"{4 - step + draw.gauss(0, 0.01) + ("gelu" in name):.4f}"' for name in names]
            rows.append(f'"{100 * step}",' + ",".join(f"{cell},{cell},{cell}" for cell in cells))
        self.write("chart.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("chart.csv")
        self.assertEqual((pair["value"], pair["reference"], pair["verdict"], pair["seeds"]), ("gelu", "relu", "worse", 6))
        self.assertIn("Paired by seed", answer["answer"])
        self.write("grouped.csv", rows[0].replace("relu-seed0", "act: relu") + "\n" + rows[1] + "\n")
        self.assertIn("is a mean over a group of runs", self.fails(3, "judge", "grouped.csv"))

    def test_runs_of_mlflow(self):
        rows = ["run_id,experiment_id,status,artifact_uri,start_time,end_time,metrics.val_loss,params.seed,params.act,tags.mlflow.runName"]
        rows += [f"{act}{seed}f,0,{'FAILED' if (act, seed) == ('gelu', 6) else 'FINISHED'},x,1,2,{3 + 0.01 * seed + (act == 'gelu')},{seed},{act},n"
                 for act in ("relu", "gelu") for seed in range(7)]
        self.write("runs.csv", "\n".join(rows) + "\n")
        pair, answer = self.pair("runs.csv")
        self.assertEqual((answer["by"], answer["metric"], pair["verdict"], pair["seeds"]), ("act", "metrics.val_loss", "worse", 7))
        self.assertIn("runs.csv:15 (gelu, failed)", " ".join(answer["notes"]))


class LooksTest(JudgeTest):
    def test_the_first_look_is_sure_and_so_is_the_same_again(self):
        self.write("runs.csv", paired(10))
        for _ in range(2):
            self.assertEqual(self.judged("runs.csv")["qualification"], "")
        self.assertEqual(len(json.loads((self.tmp / "runs.csv.looks.json").read_text())["looks"]), 1)

    def test_a_file_that_has_grown_or_changed_is_suggestive(self):
        self.write("runs.csv", paired(6))
        self.judged("runs.csv")
        self.write("runs.csv", paired(10))
        answer = self.judged("runs.csv")
        self.assertRegex(answer["qualification"], "^8 rows came after the look of .* at 12 rows: suggestive.$")
        self.assertIn("--design settled", answer["answer"])
        self.assertEqual(self.judged("runs.csv")["qualification"], answer["qualification"])
        self.write("runs.csv", paired(9))
        self.assertIn("Rows have changed or gone", self.judged("runs.csv")["qualification"])
        self.write("runs.csv", paired(6))  # as it was first
        self.assertEqual(self.judged("runs.csv")["qualification"], "")
        self.assertIn("Another question", self.judged("runs.csv", "--scale", "ranks")["qualification"])
        self.write("fresh.csv", paired(10, seed=2, first=10))
        self.assertEqual(self.judged("fresh.csv")["qualification"], "")

    def test_a_design_that_is_declared_first_pays_for_its_looks(self):
        said = self.ok("judge", "runs.csv", "--design", "settled", "--max", "40").stdout
        self.assertIn("8, 12, 16, 24, 32, 40 runs of each variant", " ".join(said.split()))
        verdicts = []
        for n in (6, 9, 12, 20):
            self.write("runs.csv", paired(n, effect=0.0025))
            pair, answer = self.pair("runs.csv")
            self.assertEqual(answer["qualification"], "")
            verdicts.append((pair["verdict"], pair["sequential"]["looked_at"]))
        self.assertEqual(verdicts[0], ("too few seeds", 0))
        self.assertEqual([analysed for _, analysed in verdicts[1:]], [8, 12, 16])
        self.assertEqual(verdicts[-1][0], "better")
        head, *rows = paired(20, effect=0.0025).splitlines()
        self.write("runs.csv", "\n".join([head, *reversed(rows)]) + "\n")  # as W&B exports them: the newest first
        again, answer = self.pair("runs.csv")
        self.assertEqual((again, answer["qualification"]), (pair, ""))
        self.write("runs.csv", paired(19, effect=0.0025))
        self.assertIn("Rows have changed or gone", self.judged("runs.csv")["qualification"])
        self.assertIn("at most 40", self.fails(2, "judge", "runs.csv", "--design", "settled", "--max", "80"))

    def test_a_design_declared_after_a_look_is_suggestive(self):
        self.write("runs.csv", paired(8))
        self.judged("runs.csv")
        self.write("runs.csv", paired(12))
        self.assertIn("declared after a look", self.judged("runs.csv", "--design", "settled")["qualification"])

    def test_unpaired_runs_of_a_design_are_paired_at_random(self):
        draw = random.Random(5)
        rows = [f"{name},{draw.gauss(3, 0.01) - (name == 'new') * 0.05:.5f}" for _ in range(12) for name in ("old", "new")]
        self.write("runs.csv", "variant,val_loss\n" + "\n".join(rows) + "\n")
        pair, answer = self.pair("runs.csv", "--design", "settled", "--max", "16")
        self.assertEqual((pair["verdict"], pair["seeds"]), ("better", 12))
        self.assertIn("Paired at random", answer["answer"])
        self.write("runs.csv", "variant,val_loss\n" + "\n".join(reversed(rows)) + "\n")
        again, answer = self.pair("runs.csv")
        self.assertEqual((again, answer["qualification"]), (pair, ""))

    def test_a_table_sorted_by_its_metric_makes_nothing_sure(self):
        draw = random.Random(3)
        sure = 0
        for k in range(20):  # without any difference: pairs of the best, the second best, ... were sure in 26 of 40
            rows = sorted((draw.gauss(3, 0.01), name) for name in ("old", "new") for _ in range(16))
            self.write(f"{k}.csv", "variant,val_loss\n" + "".join(f"{name},{value:.6f}\n" for value, name in rows))
            sure += self.pair(f"{k}.csv", "--design", "settled", "--max", "16")[0]["verdict"] in ("better", "worse")
        self.assertLessEqual(sure, 4)

    def test_two_looks_at_once_are_two_looks(self):
        self.write("runs.csv", paired(4000))
        asked = [subprocess.Popen([PROGRAM, "judge", "runs.csv", "--json", *more], stdout=subprocess.PIPE, cwd=self.tmp) for more in ([], ["--scale", "ranks"])]
        said = [json.loads(one.communicate()[0])["qualification"] for one in asked]
        self.assertEqual(sorted(bool(text) for text in said), [False, True], said)

    def test_a_link_to_a_table_is_the_table(self):
        self.write("runs.csv", paired(8))
        os.symlink("runs.csv", self.tmp / "link.csv")
        self.judged("runs.csv")
        self.assertIn("Another question", self.judged("link.csv", "--scale", "ranks")["qualification"])

    # nanochat #807: "p = .0006 at 7 runs a side, gone at 12, equal means at 20". Null studies in which the first seven look that good.
    def test_a_difference_that_seven_runs_show_and_twelve_do_not(self):
        draw = random.Random(807)

        def drawn(n, holds):
            while True:
                a, b = ([draw.gauss(3, 0.01) for _ in range(n)] for _ in range(2))
                if holds(a, b):
                    return a, b
        first = drawn(7, lambda a, b: max(b) < min(a))  # p = 2/3,432
        gap = sum(first[0]) - sum(first[1])
        then = drawn(5, lambda a, b: a[0] < b[0] - 0.01 and gap + sum(a) - sum(b) < 0.06)
        gap += sum(then[0]) - sum(then[1])
        last = drawn(8, lambda a, b: abs(gap + sum(a) - sum(b)) < 0.01)
        a, b = (sum(part, []) for part in zip(first, then, last))

        def rows(n):
            return "variant,val_bpb\n" + "".join(f"old,{x:.6f}\nnew,{y:.6f}\n" for x, y in zip(a[:n], b[:n]))
        self.write("looked.csv", rows(7))
        pair, answer = self.pair("looked.csv")
        self.assertEqual((pair["verdict"], answer["qualification"]), ("better", ""))
        self.assertAlmostEqual(pair["p"], 2 / 3432)
        self.write("looked.csv", rows(12))
        self.assertIn("came after the look", self.judged("looked.csv")["qualification"])
        self.write("looked.csv", rows(20))
        pair, answer = self.pair("looked.csv")
        self.assertEqual(pair["verdict"], "undecided")
        self.ok("judge", "declared.csv", "--design", "settled", "--max", "24")
        for n in (7, 8, 12, 20):
            self.write("declared.csv", rows(n))
            pair, answer = self.pair("declared.csv")
            self.assertIn(pair["verdict"], ("too few seeds", "undecided"))
            self.assertEqual(answer["qualification"], "")

    def test_a_damaged_record_is_an_error(self):
        self.write("runs.csv", paired(8))
        for content in ("", "{}", "[1]", '{"kind": "looks at a table of runs (ffn-train judge)", "looks": [3]}',
                        '{"kind": "looks at a table of runs (ffn-train judge)", "looks": [], "design": {"max": 9}}',
                        '{"kind": "looks at a table of runs (ffn-train judge)", "looks": [{"question": {"reference": 1}}]}'):
            self.write("runs.csv.looks.json", content)
            self.assertIn("no record of looks", self.fails(3, "judge", "runs.csv"))


# tensorboardX 2.6.5: train/loss 4.5 at step 0; val/loss 3.28 at 10 and NaN at 20; a text at 10.
EVENTS = base64.b64decode("""
GAAAAAAAAACjf0siCfpO+WrBwtpBGg1icmFpbi5FdmVudDoyg+QxxR4AAAAAAAAA2dwSMgkAAAAAAADwPyoTChEKCnRyYWluL2xvc3MVAACQQNaATYoeAAAAAAAAANncEjIJAAAAAAAA
AEAQCioRCg8KCHZhbC9sb3NzFYXrUUChH/tzPQAAAAAAAABgSfHsCQAAAAAAAABAEAoqMAouChFub3RlL3RleHRfc3VtbWFyeUIPCAcSBBICCAFCBWhlbGxvSggKBgoEdGV4dOtMSIMe
AAAAAAAAANncEjIJAAAAAAAACEAQFCoRCg8KCHZhbC9sb3NzFQAAwH+D514A""")
RECORDS = (0, 40, 86, 132, 209, 255)  # where they begin


class EventFilesTest(JudgeTest):
    @staticmethod
    def masked_crc(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        crc ^= 0xFFFFFFFF
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    def log(self, run, values, tensor=None, name="events.out.tfevents.1"):
        """values: (step, loss); as simple_value, or as a tensor of float_val (5), double_val (6) or tensor_content (4)."""
        def field(number, data):
            return bytes([number << 3 | 2, len(data)]) + data
        text = b""
        for step, loss in values:
            double = tensor == 6
            number = struct.pack("<d" if double else "<f", loss)
            value = b"\x15" + number if tensor is None else field(8, bytes([0x08, 2 if double else 1]) + field(tensor, number))
            event = b"\x09" + struct.pack("<d", 1.7e9) + b"\x10" + bytes([step]) + field(5, field(1, field(1, b"val/loss") + value))
            size = struct.pack("<Q", len(event))
            text += size + self.masked_crc(size) + event + self.masked_crc(event)
        path = self.tmp / run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        return path

    def runs(self, answer):
        return {(group["value"], run["seed"]): run["value"] for group in answer["facets"][0]["groups"] for run in group["each"]}

    def test_a_log_directory_has_a_run_in_each_directory(self):
        for seed in range(6):
            self.log(f"logs/relu-seed{seed}", [(1, 9), (50, 3 + seed / 8)], tensor=(None, 5, 6, 4)[seed % 4])
            self.log(f"logs/gelu-seed{seed}", [(1, 9), (50, 2 + seed / 8)])
        self.log("logs/gelu-seed0", [(50, 2.5)], name="events.out.tfevents.2")  # it went on: the newer file counts
        pair, answer = self.pair("logs/")
        self.assertEqual((answer["metric"], pair["value"], pair["reference"], pair["verdict"], pair["seeds"]), ("val/loss", "relu", "gelu", "worse", 6))
        expected = {(act, seed): base + seed / 8 for act, base in (("relu", 3), ("gelu", 2)) for seed in range(6)}
        self.assertEqual(self.runs(answer), {**expected, ("gelu", 0): 2.5})
        self.assertTrue((self.tmp / "logs.looks.json").exists())
        self.assertNotIn("different steps", " ".join(answer["notes"]))
        self.log("others/relu", [(1, 9)])
        self.assertIn("name runs like relu-seed3; columns here: val/loss, name, step", self.fails(2, "judge", "others"))
        self.log("logs/gelu-seed5", [(1, 9), (40, 2.25)])
        self.assertIn("runs end at different steps (40 to 50)", " ".join(self.judged("logs")["notes"]))

    def test_what_tensorboard_wrote(self):
        for name, end in (("a-seed0", RECORDS[4]), ("b-seed0", RECORDS[5]), ("c-seed0", RECORDS[3]), ("d-seed0", RECORDS[3] - 5), ("e-seed0", 7)):
            path = self.write(f"logs/{name}/events.out.tfevents.1.host", "")
            path.write_bytes(EVENTS[:end])
        answer = self.judged("logs")
        self.assertEqual(self.runs(answer), {("a", 0): 3.28, ("b", 0): None, ("c", 0): 3.28, ("d", 0): None, ("e", 0): None})
        notes = " ".join(answer["notes"])
        self.assertIn("logs/b-seed0 step 20 (b, not finite)", notes)
        self.assertIn("logs/d-seed0 step 0 (d, no value), logs/e-seed0 step 0 (e, no value)", notes)
        self.assertEqual(self.runs(self.judged("logs", "--metric", "train/loss", "-o", "train")), {**{(name, 0): 4.5 for name in "abcd"}, ("e", 0): None})

    def test_changed_bytes_are_found(self):
        self.assertIn("logs: no TensorBoard event file", self.fails(3, "judge", self.write("logs/a/x.txt", "").parent.parent).replace(str(self.tmp) + "/", ""))
        path = self.log("logs/a-seed0", [(1, 9)])
        path = self.write("logs/b-seed0/events.out.tfevents.1.host", "")
        for at in range(0, RECORDS[5], 3):
            path.write_bytes(EVENTS[:at] + bytes([EVENTS[at] ^ 4]) + EVENTS[at + 1:])
            begin = max(place for place in RECORDS if place <= at)
            self.assertIn(f"logs/b-seed0/{path.name}: damaged at byte {begin}\n", self.fails(3, "judge", "logs"))

    def test_whatever_a_whole_record_holds_gives_an_answer_or_an_error(self):
        draw = random.Random(5)
        self.log("logs/a-seed0", [(1, 9)])
        path = self.log("logs/b-seed0", [(1, 9)])
        event = path.read_bytes()[12:-4]
        ends = {0: 0, 2: 0, 3: 0}
        for _ in range(100):
            data = bytearray(event)
            for _ in range(draw.randint(1, 3)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            data = bytes(data[:draw.randint(9, len(data))] if draw.random() < 0.3 else data)
            size = struct.pack("<Q", len(data))
            path.write_bytes(size + self.masked_crc(size) + data + self.masked_crc(data))
            done = self.run_program("judge", "logs", errors="replace")
            self.assertIn(done.returncode, ends, done.stderr)
            ends[done.returncode] += 1
            self.assertNotIn("bug", done.stderr)
        self.assertGreater(ends[0], 20, ends)


class ClaimTest(JudgeTest):
    def claims(self, *arguments):
        return [(claim["claim"], claim["outcome"], claim["after_results"]) for claim in self.judged(*arguments)["expect"]]

    def test_claims_are_declared_before_the_rows_and_checked_with_each_look(self):
        said = self.judged("runs.csv", "--claim", "relu2 is better", "--claim", "relu2 is not worse")["declared"]
        self.assertIn("runs.csv.looks.json: 2 claims. Judge", said)
        self.write("runs.csv", paired(10))
        held = [("relu2 is better", "holds", False), ("relu2 is not worse", "holds", False)]
        self.assertEqual(self.claims("runs.csv"), held)
        late = ("relu2 is worse", "refuted", True)
        self.assertEqual(self.claims("runs.csv", "--claim", "relu2 is worse"), [*held, late])
        self.assertEqual(self.claims("runs.csv", "--claim", "relu2 is better"), [*held, late])
        self.assertIn("claim: relu2 is worse (after the results): refuted (better)", self.ok("judge", "runs.csv").stdout)
        self.assertEqual(self.judged("runs.csv")["qualification"], "")
        self.write("few.csv", paired(3))
        self.assertEqual(self.claims("few.csv", "--claim", "relu2 is not worse"), [("relu2 is not worse", "not shown", False)])
        piped = json.loads(self.ok("judge", "-", "--json", "--claim", "relu2 is better", input=paired(10)).stdout)
        self.assertEqual(piped["expect"][0]["outcome"], "holds")

    def test_a_claim_goes_with_a_design(self):
        said = self.judged("runs.csv", "--claim", "relu2 is better", "--design", "settled", "--max", "12")["declared"]
        self.assertIn("1 claim, interim analyses at 8, 12 runs", said)
        outcomes = []
        for n in (4, 8, 12):
            self.write("runs.csv", paired(n, effect=0.0025))
            outcomes.append(self.claims("runs.csv"))
        self.assertEqual(outcomes, [[("relu2 is better", outcome, False)] for outcome in ("not shown", "holds", "holds")])
        self.assertNotIn("seeds.max", self.judged("runs.csv")["answer"])

    def test_a_wrong_claim_is_not_recorded(self):
        self.write("runs.csv", paired(8))
        for claim, reason in (("relu2 is bettr", "no claim"), ("relu2", "no claim"), ("relu3 is better", "error: --claim: no variant has act = relu3"),
                              ("relu is worse", "relu is the reference")):
            self.assertIn(reason, self.fails(2, "judge", "runs.csv", "--claim", claim))
        self.assertEqual(self.files(), ["runs.csv"])
        self.write("runs.csv.looks.json", {"kind": "looks at a table of runs (ffn-train judge)", "looks": [], "claims": [{"claim": 3}]})
        self.assertIn("no record of looks", self.fails(3, "judge", "runs.csv"))

    def test_the_maximum_of_a_design_cannot_grow_and_nothing_says_so(self):
        self.write("runs.csv", paired(8, effect=0))
        answer = self.judged("runs.csv", "--design", "settled", "--max", "8")["answer"]
        self.assertIn("Not decided by the maximum of 8 seeds. ", answer)


class PlanTest(JudgeTest):
    def plan(self, *arguments):
        plan = json.loads(self.ok("judge", "--plan", *arguments, "--json").stdout)
        return {row["design"]: row["runs"] for row in plan["rows"]}, plan

    def test_runs_for_an_effect(self):
        runs, _ = self.plan("--effect", "0.5%", "--sd", "1%")
        self.assertEqual(runs["unpaired"], 64)  # Cohen 1988: d = 0.5 takes 64 a side
        self.assertEqual(runs["paired by seed, correlation 0.5"], 34)  # d_z = 0.5 takes 34 pairs
        self.assertEqual(self.plan("--effect", "5", "--sd", "0.1")[0]["unpaired"], 4)
        self.assertIn("both in percent", self.fails(2, "judge", "--plan", "--effect", "0.5%", "--sd", "0.4"))
        self.assertIn("belong to --plan", self.fails(2, "judge", "runs.csv", "--effect", "0.5%"))
        self.assertIn("--noise FILE", self.fails(2, "judge", "--plan", "--effect", "0.5%"))
        self.assertIn("0.5%", self.ok("judge", "--plan", "--effect", "0.5%", "--sd", "1%").stdout)

    def test_noise_is_measured(self):
        self.write("base.csv", "val_loss\n" + "\n".join(OLD) + "\n")
        _, plan = self.plan("--effect", "0.001", "--noise", "base.csv")
        self.assertAlmostEqual(plan["sd"], 0.00122474, places=7)
        self.assertIsNone(plan["correlation"])
        self.write("runs.csv", paired(12))
        runs, plan = self.plan("--effect", "0.1%", "--noise", "runs.csv")
        self.assertGreater(plan["correlation"], 0.9)
        self.assertLess(min(runs.values()) * 4, runs["unpaired"])


class PythonTest(JudgeTest):
    def test_a_program_that_is_not_there_is_named_with_a_remedy(self):
        with self.assertRaisesRegex(ffn_train.RunError, "cannot start no-such-program .*PATH"):
            ffn_train.judge([{"act": "relu", "val_loss": 1}], program="no-such-program")

    def test_a_data_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        frame = pandas.DataFrame({"net": ["old"] * 10 + ["new"] * 10, "bpb": [float(x) for x in OLD + NEW]})
        answer = ffn_train.judge(frame, by="net", metric="bpb", program=str(PROGRAM))
        self.assertIn("Unpaired", answer["answer"])
        self.assertEqual(answer.verdicts[0]["verdict"], "undecided")
        self.assertIn("<table", answer._repr_html_())
        self.assertIn(answer["answer"].split(".")[0], str(answer))
        with self.assertRaisesRegex(ffn_train.RunError, "did you mean"):
            ffn_train.judge(frame, by="nets", metric="bpb", program=str(PROGRAM))

    def test_files_and_rows_without_pandas(self):
        self.write("runs.csv", paired(8))
        self.assertEqual(ffn_train.judge(self.tmp / "runs.csv", program=str(PROGRAM)).verdicts[0]["value"], "relu2")
        rows = [{"act": act, "val_loss": value} for act in ("a", "b") for value in range(1, 5)]
        self.assertEqual(ffn_train.judge(rows, program=str(PROGRAM))["by"], "act")


class FuzzTest(JudgeTest):
    def test_a_thousand_mutated_tables_give_an_answer_or_an_error_with_a_reason(self):
        draw = random.Random(19)
        chart = '"Step","a-seed0 - val/loss","a-seed0 - val/loss__MIN","a-seed0 - val/loss__MAX"\n"0","1","1","1"\n'
        bases = [paired(6), table({"old": OLD, "new": NEW}), paired(5).replace(",", "\t"), chart,
                 "".join(json.dumps({"act": "ab"[k % 2], "seed": k // 2, "val_loss": k * 0.5}) + "\n" for k in range(10)),
                 "variant,seed,step,val_loss\n" + "".join(f"{v},{s},{t},{draw.random():.3f}\n" for v in "ab" for s in range(3) for t in range(3))]
        pieces = [b",", b"\n", b'"', b"nan", b"inf", b"-", b"1e400", b"\t", b"\xff", b"\0", b"{", b"}", b"[", b"seed", b"val_loss", b";", b"  ", b"\r", "é".encode(), b"9" * 30]
        ends = {0: 0, 2: 0, 3: 0}
        for _ in range(1000):
            data = bytearray(draw.choice(bases).encode())
            for _ in range(draw.randint(1, 6)):
                at, to = sorted((draw.randrange(len(data) + 1), draw.randrange(len(data) + 1)))
                change = draw.randrange(4)
                if change == 0:
                    data[at:at] = draw.choice(pieces)
                elif change == 1:
                    del data[at:min(to, at + 12)]
                elif change == 2:
                    data[at:at] = data[at:min(to, at + 40)]
                elif data:
                    at = min(at, len(data) - 1)
                    data[at] = draw.randrange(256)
            done = subprocess.run([PROGRAM, "judge", "-"], input=bytes(data), capture_output=True, cwd=self.tmp, timeout=60)
            said = done.stderr.decode(errors="replace")
            self.assertIn(done.returncode, ends, (bytes(data), said))
            ends[done.returncode] += 1
            self.assertNotIn("bug", said, bytes(data))
            if done.returncode == 3:
                self.assertRegex(said, r"stdin(:\d+| entry|: |:)|no rows|no run has|no columns", bytes(data))
            if done.returncode == 0:
                self.assertGreater(len(done.stdout), 40)
        self.assertGreater(min(ends.values()), 50, ends)


if __name__ == "__main__":
    main()
