#!/usr/bin/env python3
"""`ffn-train report`: the page in words, the numbers that its charts are drawn from, and, where Chromium is installed, what a browser shows."""
import json
import math
import os
import re
import statistics
import subprocess
import unittest
from html.parser import HTMLParser

import browser
from program import ProgramTest, main, record, run_at

STUDY = {
    "name": "study", "seeds": 6, "question": "Which one learns <first> & why?", "source": "\"nobody\"",
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 200, "eval_every": 10, "optimizer": {"lr": 0.005}, "target": {"metric": "val/loss", "at_most": 0.1}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "silu"], "model.ffn.expansion": [1, 2, 8]}},
    "compare": {"by": "model.ffn.activation", "metric": "steps_to_target"},
}
VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """A page as a tree: every element is (tag, attributes, children and texts)."""

    def __init__(self, text):
        super().__init__()
        self.root = ("root", {}, [])
        self.open = [self.root]
        self.feed(text)
        assert len(self.open) == 1, f"unclosed: {[e[0] for e in self.open]}"

    def handle_starttag(self, tag, attributes):
        element = (tag, dict(attributes), [])
        self.open[-1][2].append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.open[-1][2].append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, text):
        self.open[-1][2].append(text)

    def all(self, tag=None, of=None, **wanted):
        for child in (of or self.root)[2]:
            if isinstance(child, str):
                continue
            if (tag is None or child[0] == tag) and all(child[1].get(k) == v for k, v in wanted.items()):
                yield child
            yield from self.all(tag, child, **wanted)

    def text(self, element):
        return "".join(c if isinstance(c, str) else self.text(c) for c in element[2] if isinstance(c, str) or c[0] not in ("svg", "script", "style"))


class ReportTest(ProgramTest):
    def study(self, **changes):
        self.ok("--config", self.write("study.json", {**STUDY, **changes}), "-q")

    def page(self, *arguments):
        result = json.loads(self.ok("report", *arguments, "--json").stdout)
        path = self.tmp / result["report"]
        text = path.read_text(encoding="utf-8")
        self.assertEqual(result["bytes"], len(text.encode()))
        return text

    def data(self, page):
        """What the page's script draws."""
        return json.loads(next(page.all("script", id="data"))[2][0])

    def tuned(self, seeds):
        self.ok("--config", self.write("tuned.json", {**STUDY, "name": "tuned", "tune": {"train.optimizer.lr": [0.002, 0.005, 0.01], "metric": "val/loss", "seeds": seeds},
                                                      "train": {**STUDY["train"], "steps": 60}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}), "-q")

    def compared(self, *arguments):
        return json.loads(self.ok("compare", *arguments, "--json").stdout)


class Words(ReportTest):
    def test_a_report_of_four_times_as_many_variants_takes_no_eight_times_as_long(self):
        """A third power of their number would be 64 times."""
        seconds = {}
        for variants in (300, 1200):
            self.write("many.json", {
                "name": f"many-{variants}", "task": {"kind": "xor"}, "model": {"d_model": 4, "ffn": {"activation": "relu", "d_ff": 4}},
                "train": {"steps": 1, "eval_every": 1}, "sweep": {"grid": {"train.optimizer.lr": {"logspace": [0.0001, 0.1, variants]}}}})
            self.ok("--config", "many.json", "-q")
            for command in ("report", "compare"):
                seconds[command, variants] = self.processor_seconds(command, f"runs/many-{variants}", runs=2)
        for command in ("report", "compare"):
            self.assertLess(seconds[command, 1200] / seconds[command, 300], 8, command)

    def test_the_page_has_the_question_the_answer_and_every_section(self):
        self.study()
        page = Page(self.page("runs/study"))
        self.assertEqual(page.text(next(page.all("h1"))), STUDY["question"])
        answer = page.text(next(page.all("p", id="answer")))
        short = self.ok("compare", "runs/study").stdout.partition("\n\n")[0]
        conditions = json.loads(self.ok("compare", "runs/study", "--json").stdout)["conditions"]
        self.assertEqual(f"{answer} {conditions}".replace("\u00a0", " "), " ".join(short.split()).replace("\u00a0", " "))
        sections = [e[1]["id"] for e in page.all("section") if e[1]["id"] != "notes"]
        self.assertEqual(sections, ["table", "lost", "varying", "environment", "commands"])
        self.assertIn("by this page's script", page.text(next(page.all("noscript"))))
        commands = page.text(next(page.all("section", id="commands")))
        self.assertIn("ffn-train --config", commands)
        self.assertIn("ffn-train compare runs/study", commands)
        self.assertIn("model.ffn.expansion", page.text(next(page.all("section", id="varying"))))

    def test_nothing_of_the_page_comes_from_elsewhere(self):
        self.study()
        text = self.page("runs/study")
        self.assertIn("default-src 'none'", text)
        self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""), r"https?://|src=|@import|url\((?!#)")
        for element in Page(text).all():
            self.assertFalse([a for a in element[1] if a.startswith("on")], element[:2])

    def test_names_from_files_stay_text(self):
        hostile = "<img src=x onerror=alert(1)>\"'&\u202e"
        label = "</script><script>alert(3)</script>"
        self.study(sweep={"zip": [{"model.ffn.activation": ["relu", "gelu"], "label": [label, "b"]}]}, compare={"metric": "val/loss"}, question=hostile, source=hostile + "</style></script><script>alert(2)</script>")
        text = self.page("runs/study")
        self.assertNotIn("<img", text)
        self.assertNotIn("\u202e", text)
        page = Page(text)
        self.assertEqual([g["label"] for g in self.data(page)["facets"][0]["groups"]], [label, "b"])
        self.assertEqual([e[1].get("type") for e in page.all("script")], ["application/json", None])
        self.assertEqual(page.text(next(page.all("h1"))), hostile.replace("\u202e", "?"))

    def test_failed_and_diverged_runs_are_listed_with_the_reason(self):
        self.run_program("--config", self.write("study.json", {**STUDY, "train": {**STUDY["train"], "optimizer": {"kind": "sgd", "lr": 1e6}}, "seeds": 3}), "-q")
        page = Page(self.page("runs/study"))
        lost = page.text(next(page.all("section", id="lost")))
        self.assertIn("runs/study/activation=relu+expansion=1/seed-0", lost)
        self.assertIn("diverged", lost)

    def test_without_a_difference_none_is_drawn_and_lost_runs_have_their_times(self):
        self.run_program("xor", "name=study", "model.ffn.activation=relu,gelu", "train.optimizer.lr=300", "train.optimizer.kind=sgd", "seeds=3", "train.steps=60",
                         "train.eval_every=5", "-q")
        steps = {name: sorted(record(p)["summary"]["divergence"]["step"] for p in self.tmp.glob(f"runs/study/*={name}/seed-*/run.json")) for name in ("relu", "gelu")}
        self.assertEqual([len(of) for of in steps.values()], [3, 3])
        data = self.data(Page(self.page("runs/study")))
        self.assertEqual([pair["effect"] for pair in data["facets"][0]["pairs"]], [None])
        for group in data["facets"][0]["groups"]:
            self.assertEqual((sorted(run["lost_at"] for run in group["each"]), [run["hit"] for run in group["each"]]), (steps[group["value"]], [None] * 3))

    def test_losses_at_0_count_as_what_float32_can_tell_from_it(self):
        self.run_program("--config", self.write("study.json", {**STUDY, "seeds": 4, "train": {"steps": 200, "eval_every": 10, "optimizer": {"lr": 0.3}},
                                                "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}, "compare": {"by": "model.ffn.activation", "metric": "val/loss"}}), "-q")
        curves, = self.data(Page(self.page("runs/study")))["curves"]
        self.assertEqual((curves["centre"], curves["floor"], curves["range"][0], curves["log_y"]), ("geometric mean", "values below 10⁻⁸ count as 10⁻⁸", 1e-8, True))
        self.assertEqual(min(x for group in curves["groups"] for run in group["runs"] for x in run["values"]), 1e-8)

    def test_the_table_in_latex(self):
        self.study()
        table = self.ok("compare", "runs/study", "--latex").stdout
        self.assertEqual(table.count(r"\\" + "\n"), 1 + 9)
        self.assertEqual(table.count("{"), table.count("}"))
        self.assertNotRegex(table.split("\n", 2)[2], r"(?<!\\)[%#_]")

    def test_where_it_goes_and_what_is_wrong(self):
        self.study(seeds=2)
        self.assertIn("runs/study/report.html (", self.ok("report", "runs/study").stdout)
        self.ok("report", "runs/study", "-o", "here.html")
        self.assertTrue((self.tmp / "here.html").exists())
        self.assertIn("no directory nowhere", self.fails(3, "report", "nowhere"))
        self.assertIn("missing/here.html", self.fails(1, "report", "runs/study", "-o", "missing/here.html"))
        (self.tmp / "bin").mkdir()
        self.assertIn("the report is written", subprocess.run(self.command("report", "runs/study", "--open"), cwd=self.tmp, capture_output=True, text=True,
                                                             env={**os.environ, "PATH": str(self.tmp / "bin")}).stderr)
        self.ok("check", "runs/study")
        self.assertEqual(self.ok("report", "runs/study").returncode, 0)

    def test_what_is_there_and_is_no_report_of_ours_is_not_overwritten(self):
        self.study(seeds=2)
        run = run_at(self.tmp / "runs/study/activation=relu+expansion=1/seed-0").relative_to(self.tmp)
        notes = self.write("notes.html", "<p>mine</p>")
        for place in ("runs/study/study.json", f"{run}/run.json", f"{run}/model.safetensors", "notes.html"):
            before = (self.tmp / place).read_bytes()
            self.assertIn(f"{place} exists and is not", " ".join(self.fails(2, "report", "runs/study", "-o", place).split()))
            self.assertEqual((self.tmp / place).read_bytes(), before)
        self.assertIn("is a directory", self.fails(2, "report", "runs/study", "-o", "runs"))
        notes.unlink()
        self.write("empty.html", "")
        for _ in range(2):  # the second time over the first
            self.ok("report", "runs/study", "-o", "empty.html")
        (self.tmp / "link.html").symlink_to("sub/page.html")
        (self.tmp / "sub").mkdir()
        for _ in range(2):
            self.ok("report", "runs/study", "-o", "link.html")
            self.assertTrue((self.tmp / "link.html").is_symlink())
            self.assertIn("<!DOCTYPE", (self.tmp / "sub/page.html").read_text())
        (self.tmp / "dangling.json").symlink_to("nowhere.json")
        self.fails(2, "cp", "xor", "dangling.json")

    def test_pipes_and_devices_are_written_to_and_stay(self):
        self.study(seeds=2)
        pipe = self.tmp / "pipe"
        os.mkfifo(pipe)
        with open(self.tmp / "read", "w") as read:
            reader = subprocess.Popen(["cat", pipe], stdout=read)
        self.ok("report", "runs/study", "-o", "pipe", timeout=30)
        reader.wait(timeout=30)
        self.assertIn("</html>", (self.tmp / "read").read_text())
        self.assertTrue(pipe.is_fifo())
        with open(self.tmp / "redirected.html", "w") as file:
            subprocess.run(self.command("report", "runs/study", "-o", "/dev/stdout"), cwd=self.tmp, stdout=file, check=True)
        page = self.ok("report", "runs/study", "-o", "/dev/stdout").stdout
        self.assertTrue(page.startswith("<!DOCTYPE") and page.endswith("</html>\n"))
        self.assertEqual(len((self.tmp / "redirected.html").read_text()), len(page))

    def test_the_same_runs_make_the_same_page(self):
        self.study(seeds=3)
        strip = lambda text: re.sub(r"written [0-9TZ:-]+", "", text)
        self.assertEqual(strip(self.page("runs/study")), strip(self.page("runs/study")))


class Numbers(ReportTest):
    """What the page shows is what `compare --json` says: the table in full, the charts to four digits."""

    def groups(self, comparison):
        return {(f["keys"].get("model.ffn.expansion", ""), g["value"]): g for f in comparison["facets"] for g in f["groups"]}

    def close(self, a, b, rel=1e-12):
        self.assertTrue(math.isclose(a, float(b), rel_tol=rel), f"{a} is not {b}")

    def test_the_table(self):
        self.study()
        page, comparison = Page(self.page("runs/study")), self.compared("runs/study")
        rows = list(page.all("tr", next(page.all("tbody", next(page.all("section", id="table"))))))
        self.assertEqual(len(rows), 9)
        pairs = {(f["keys"]["model.ffn.expansion"], p["value"]): p for f in comparison["facets"] for p in f["pairs"]}
        compared = 0
        for row in rows:
            cells = {e[1].get("data-h"): e for e in page.all("td", row)}
            key = page.text(cells["expansion"]), page.text(cells["activation"])
            self.assertEqual(page.text(cells["steps"]), self.groups(comparison)[key]["text"])
            if key not in pairs:
                self.assertEqual(key[1], "relu")
                continue
            self.assertEqual(page.text(cells["difference"]), pairs[key]["text"])
            self.assertIn(page.text(cells["verdict"]), (pairs[key]["verdict"], "tied", "no difference"))
            compared += 1
        self.assertEqual(compared, 6)

    def test_what_charts_are_drawn_from(self):
        self.study()
        drawn, groups = self.groups(self.data(Page(self.page("runs/study")))), self.groups(self.compared("runs/study"))
        self.assertEqual((len(groups), drawn.keys()), (9, groups.keys()))
        places = sorted(groups.values(), key=lambda g: g["place"])
        self.assertEqual([g["mean"] for g in places], sorted(g["mean"] for g in places))
        for key, group in drawn.items():
            whole = groups[key]
            self.close(group["estimate"]["centre"], whole["mean"], 5e-4)
            self.close(group["estimate"]["high"], whole["mean"] + (whole["half_width"] or 0), 5e-4)
            self.assertEqual((group["parameters"], group["flops_per_token"]), (whole["parameters"], whole["flops_per_token"]))
            self.assertEqual([run["value"] for run in group["each"] if run["value"] is not None], whole["values"])
            steps = [record(p)["summary"]["hit"]["step"] for p in self.tmp.glob(f"runs/study/activation={key[1]}+expansion={key[0]}/seed-*/run.json")]
            self.assertEqual(sorted(run["hit"] for run in group["each"]), sorted(steps))
            reached = group["reached"]
            self.assertEqual((len(group["each"]), reached["median"]), (6, whole["median_steps_to_target"]))
            for step in reached["steps"]:  # nothing is censored here
                self.close(step["share"], sum(s <= step["time"] for s in steps) / 6, 5e-4)

    def test_a_learning_curve_ends_at_the_number_in_the_table(self):
        self.study()
        for metric in ("val/accuracy", "val/loss"):
            data, groups = self.data(Page(self.page("runs/study", "--metric", metric))), list(self.groups(self.compared("runs/study", "--metric", metric)).values())
            curves = next(c for c in data["curves"] if c["metric"] == metric)
            self.assertEqual((len(curves["groups"]), curves["steps"][-1]), (9, 200))
            for curve, group in zip(curves["groups"], groups):
                self.close(curve["centre"][-1], group["shown"]["value"] if group["shown"] else group["mean"], 5e-4)
                self.assertEqual(len(curve["runs"]), 6)
                for run in curve["runs"]:
                    written = [json.loads(line) for line in next(self.tmp.glob(f"runs/study/activation={group['value']}+expansion=*/seed-{run['seed']}.*/metrics.jsonl")).read_text().splitlines()]
                    self.assertEqual([curves["steps"][i] for i in curves["run_steps"]], [row["step"] for row in written])


class Size(ReportTest):
    def test_a_page_is_small(self):
        for seeds, most in ((5, 400e3), (20, 900e3)):
            self.run_program("activations", f"seeds={seeds}", f"name=a{seeds}", "-q")  # its claims need more seeds
            self.assertLess(len(self.page(f"runs/a{seeds}").encode()), most)

    def test_tuning_curves_have_the_interval_of_what_the_choice_is_made_by(self):
        # Of the losses' logarithms, by numbers that are none of the program's: t of 2 degrees of freedom is 4.30265.
        self.tuned(3)
        tuning = self.compared("runs/tuned")["tuning"]
        self.assertEqual(tuning["short_keys"], ["lr"])
        seen = 0
        for variant in tuning["variants"]:
            for point in variant["curve"]:
                directory = self.tmp / "runs/tuned/tuning" / f"{variant['name']}+lr={point['values'][0]}"
                losses = [record(run)["summary"]["metrics"]["val/loss"]["final"] for run in directory.iterdir() if run.is_dir()]
                logs = [math.log(x) for x in losses]
                self.assertEqual(len(logs), 3)
                error = statistics.stdev(logs) / math.sqrt(3)
                for name, value in (("centre", 0), ("low", -4.302652730), ("high", 4.302652730)):
                    self.assertTrue(math.isclose(point["estimate"][name], math.exp(statistics.mean(logs) + value * error), rel_tol=1e-8), name)
                seen += 1
        self.assertGreaterEqual(seen, 6)  # the grid grows where its end is best


TOUCHING = ("[...document.querySelectorAll('svg[role=img]')].flatMap(s => { const t = [...s.querySelectorAll('text:not(.in)')].map(x => [x.getBoundingClientRect(), x.textContent]);"
            "return t.flatMap(([a, x], i) => t.slice(i + 1).filter(([b]) => Math.abs(a.top - b.top) < 4 && a.left < b.right && b.left < a.right).map(([b, y]) => x + ' | ' + y)); })")


@unittest.skipUnless(browser.PROGRAM, "no Chromium is installed (Debian: apt-get install chromium)")
class InABrowser(ReportTest):
    def open(self, chromium, *arguments, name="study", **options):
        if not (self.tmp / f"runs/{name}/report.html").exists() or arguments:
            self.page(f"runs/{name}", *arguments)
        requests, said = chromium.open(self.tmp / f"runs/{name}/report.html", **options)
        self.assertEqual(said, [])
        return requests

    def figures(self, chromium):
        return chromium.evaluate("[...document.querySelectorAll('figure')].map(f => f.id)")

    def texts(self, chromium, figure):
        """Those of each picture."""
        return chromium.evaluate(f"[...document.querySelectorAll('#{figure} svg[role=img]')].map(s => [...s.querySelectorAll('text')].map(t => t.textContent))")

    def tips(self, chromium, figure):
        return chromium.evaluate(f"[...document.querySelectorAll('#{figure} [data-tip]')].map(m => m.dataset.tip)")

    def test_every_chart_is_there_named_and_says_how_to_read_it(self):
        self.study()
        with browser.Browser() as chromium:
            self.open(chromium)
            self.assertEqual(self.figures(chromium), ["effects", "steps-to-target", "effect-expansion", "distribution", "learning-curves-val-loss", "heat-map", "cost", "decision-regions"])
            pictures = chromium.evaluate("[...document.querySelectorAll('figure svg[role=img]')].map(s => s.getAttribute('aria-label'))")
            self.assertEqual((len(pictures), all(pictures)), (1 + 3 + 1 + 3 + 3 + 1 + 3 + 9, True))
            self.assertGreater(chromium.evaluate("Math.min(...[...document.querySelectorAll('p.reading')].map(p => p.textContent.length))"), 40)
            ids = chromium.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
            self.assertEqual(len(ids), len(set(ids)))
            values = [float(v) for f in self.compared("runs/study")["facets"] for g in f["groups"] for v in g["values"]]
            self.assertEqual(sorted(float(tip.split(": ")[1]) for tip in self.tips(chromium, "distribution") if "no value" not in tip), sorted(values))
            # The effects' marks lie in the order of the effects, and what is written beside them is the table's.
            pairs = [p for f in self.compared("runs/study")["facets"] for p in f["pairs"]]
            self.assertEqual([tip.split(": ", 1)[1].split("\n")[0] for tip in self.tips(chromium, "effects")], [p["text"] for p in pairs])
            at = chromium.evaluate("[...document.querySelectorAll('#effects [data-tip]')].map(m => { const b = m.getBoundingClientRect(); return b.x + b.width / 2; })")
            effects = [p["effect"]["value"] for p in pairs]
            pixels = (max(at) - min(at)) / (max(effects) - min(effects))
            for x, effect in zip(at, effects):
                self.assertAlmostEqual((x - min(at)) / pixels, effect - min(effects), delta=1.5 / pixels)

    def test_the_first_screen_has_the_answer_the_differences_and_beside_them_the_picture(self):
        self.study(sweep={"grid": {"model.ffn.activation": ["relu", "gelu", "silu"]}})
        with browser.Browser() as chromium:
            self.open(chromium, width=1280, height=900)
            place = "(s => { const b = document.querySelector(s).getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"
            answer, effects, picture, table = (chromium.evaluate(f"{place}('{s}')") for s in ("#answer", "#effects", "#steps-to-target", "#table"))
            self.assertTrue(answer[3] < effects[1] and effects[2] <= picture[0] and effects[1] == picture[1])
            self.assertTrue(picture[2] > 1200 and picture[3] <= 900 and table[2] <= picture[0] and table[3] <= 900, (picture, table))
            self.open(chromium, "--metric", "val/loss", width=1280)
            self.assertEqual(self.figures(chromium)[:2], ["effects", "learning-curves-val-loss"])

    def test_a_variant_that_alone_gets_there_is_an_arrow_on_an_axis_without_invented_numbers(self):
        with browser.Browser() as chromium:
            for name, kinds, arrow, end in (("sooner", "none,positionwise", "←─+│ +better", "M0"), ("later", "positionwise,none", "│─+→ +worse", "M1")):
                said = self.ok("xor", "seeds=6", "train.steps=100", "-q", "--color=never", f"name={name}", f"model.ffn.kind={kinds}").stdout
                self.assertRegex(said, arrow)
                self.open(chromium, name=name)
                texts, = self.texts(chromium, "effects")
                self.assertEqual([t for t in texts if t in ("← better", "worse →") or t.strip("+−").isdigit()], ["0", "← better", "worse →"])
                heads = chromium.evaluate("[...document.querySelectorAll('#effects path.t')].map(p => p.getAttribute('d')).filter(d => (d.match(/L/g) ?? []).length == 2).map(d => Number(d.match(/L([0-9.]+)/)[1]) / p0())"
                                          .replace("p0()", "document.querySelector('#effects svg').viewBox.baseVal.width"))
                self.assertEqual(len(heads), 1)
                self.assertTrue(heads[0] < 0.3 if name == "sooner" else heads[0] > 0.6, heads)

    def test_lost_runs_are_under_way_until_then(self):
        self.run_program("xor", "name=study", "model.ffn.activation=relu,gelu", "train.optimizer.lr=300", "train.optimizer.kind=sgd", "seeds=3", "train.steps=60",
                         "train.eval_every=5", "-q")
        with browser.Browser() as chromium:
            self.open(chromium)
            self.assertNotIn("effects", self.figures(chromium))
            texts, = self.texts(chromium, "steps-to-target")
            under_way, lost = texts.index("still under way"), texts.index("diverged or failed")
            for row in (texts[under_way + 1:lost], texts[lost + 1:]):
                half = len(row) // 2
                for variant in (row[:half], row[half:]):
                    self.assertEqual(variant[1:], (["3"] + ["0"] * (half - 2)) if row == texts[under_way + 1:lost] else (["0"] + ["3"] * (half - 2)))
            lost_tips = [tip for tip in self.tips(chromium, "steps-to-target") if "diverged or failed at" in tip]
            self.assertEqual(sum(int(re.search(r": (\d+) diverged", tip)[1]) for tip in lost_tips), 6)
            self.assertIn("never", self.texts(chromium, "distribution")[0])

    def test_a_line_that_ends_because_its_runs_are_lost_says_so_at_its_label(self):
        self.run_program("xor", "name=study", "train.optimizer.kind=sgd", "train.optimizer.lr=0.1,3000", "seeds=4", "train.steps=60", "-q")
        with browser.Browser() as chromium:
            self.open(chromium)
            for metric in ("val-accuracy", "val-loss"):
                texts, = self.texts(chromium, "learning-curves-" + metric)
                self.assertIn("lr 3000 (diverged)", texts)
                self.assertIn("lr 0.1", texts)
            self.assertIn("diverged or failed", chromium.evaluate("document.querySelector('#learning-curves-val-loss').textContent"))

    def test_a_run_is_no_longer_under_way_at_the_step_at_which_it_gets_there(self):
        self.ok("xor", "name=study", "model.ffn.activation=relu,silu", "seeds=8", "-q")
        times = {name: [record(p)["summary"]["hit"]["step"] for p in self.tmp.glob(f"runs/study/*={name}/seed-*/run.json")] for name in ("relu", "silu")}
        with browser.Browser() as chromium:
            self.open(chromium)
            self.assertTrue(chromium.evaluate("document.querySelector('#learning-curves-val-loss [data-axis=x]').checked"))  # all of it happens in the first tenth
            texts, = self.texts(chromium, "steps-to-target")
            ticks = [int(t) for t in chromium.evaluate("[...document.querySelectorAll('#steps-to-target .tx')].map(t => t.textContent)")]
            rows = texts[texts.index("still under way") + 1:]
            seen = 0
            for name in ("relu", "silu"):
                counts = rows[rows.index(name) + 1:][:len(ticks)]
                self.assertEqual(len(times[name]), 8)
                self.assertEqual([int(x) for x in counts], [sum(t > tick for t in times[name]) for tick in ticks], (name, texts))
                seen += sum(tick in times[name] for tick in ticks)
            self.assertGreater(seen, 0)

    def test_curves_of_a_share_are_whole_within_it_and_on_one_axis(self):
        lr = {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 4], "train.optimizer.lr": [0.003, 0.03]}
        self.study(sweep={"grid": lr}, train={"steps": 300, "eval_every": 10, "target": {"metric": "val/accuracy", "at_least": 1}})
        with browser.Browser() as chromium:
            self.open(chromium)
            axes = chromium.evaluate("[...document.querySelectorAll('#learning-curves-val-accuracy svg[role=img]')].map(s => [...s.querySelectorAll('.ty')].map(t => [Number(t.textContent), Number(t.getAttribute('y')) - 4]))")
            self.assertEqual((len(axes), len({str(axis) for axis in axes})), (4, 1))
            ticks = dict(axes[0])
            self.assertTrue(1 in ticks and min(ticks) < 0.5)
            highest = chromium.evaluate("Math.min(...[...document.querySelectorAll('#learning-curves-val-accuracy svg[role=img] path')].filter(p => /^(band|l)$/.test(p.getAttribute('class'))).flatMap(p =>"
                                        "[...p.getAttribute('d').matchAll(/[ML][-0-9.]+ ([-0-9.]+)/g)].map(m => Number(m[1]))))")
            self.assertGreaterEqual(highest, ticks[1] - 0.2)
            self.assertFalse([text for texts in self.texts(chromium, "learning-curves-val-accuracy") for text in texts if "cut" in text])

    def test_a_loss_that_begins_beyond_the_frame_is_said_to(self):
        self.ok("xor", "name=study", "model.ffn.activation=relu,gelu", "seeds=3", "train.steps=2000", "train.eval_every=5", "train.optimizer.lr=0.1", "-q")
        with browser.Browser() as chromium:
            self.open(chromium)
            chromium.evaluate("(b => b.checked && b.click())(document.querySelector('#learning-curves-val-loss [data-axis=y]'))")
            self.assertIn("val/loss; cut: lines begin above", self.texts(chromium, "learning-curves-val-loss")[0])

    def test_a_single_run_has_a_page_of_its_own(self):
        self.ok("xor", "train.steps=50", "-q")
        with browser.Browser() as chromium:
            self.open(chromium, name="xor")
            self.assertEqual(self.figures(chromium), ["steps-to-target", "learning-curves-val-accuracy", "learning-curves-val-loss", "decision-regions"])

    def test_tuned_studies_and_sequential_designs_show_their_choices_and_analyses(self):
        tuned = {**STUDY, "name": "tuned", "tune": {"train.optimizer.lr": [0.002, 0.01, 0.05], "seeds": 3}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        self.ok("--config", self.write("tuned.json", tuned), "-q")
        sequential = {**STUDY, "name": "sequential", "seeds": {"until": "settled", "max": 24}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        self.run_program("--config", self.write("sequential.json", sequential), "-q")
        self.ok("xor", "name=settled", "model.ffn.activation=relu,gelu,silu", "compare.min_effect=5", "seeds=auto", "-q")
        with browser.Browser() as chromium:
            self.open(chromium, name="tuned")
            self.assertEqual(len([tip for tip in self.tips(chromium, "tuning") if "chosen" in tip]), chromium.evaluate("document.querySelectorAll('#tuning circle.ring').length"))
            self.open(chromium, name="sequential")
            self.assertIn("interim-analyses", self.figures(chromium))
            for width in (1280, 400):
                self.open(chromium, name="settled", width=width)
                self.assertIn("no meaningful difference", self.texts(chromium, "interim-analyses")[0])

    def test_a_ladder_shows_every_size_and_the_held_out_one_hollow(self):
        self.ok("ladder-spiral", "name=climb", "seeds=8", "train.steps=50", "tune={}", "expect=[]", 'ladder={"values":[2,4,8],"hold_out":[16]}', "-q")
        with browser.Browser() as chromium:
            self.open(chromium, name="climb")
            differences = [pair["text"] for facet in self.compared("runs/climb")["facets"] for pair in facet["pairs"]]
            self.assertEqual([tip.split(": ", 1)[1].rsplit(", ", 1)[0] for tip in self.tips(chromium, "ladder-differences")], differences)
            law = self.tips(chromium, "ladder-law")
            self.assertEqual((len(law), [tip.split(" at ")[1].split(":")[0] for tip in law if "held out" in tip]), (8, 2 * ["d_model 16"]))

    def test_a_tuning_band_is_there_where_there_are_several_seeds(self):
        with browser.Browser() as chromium:
            for seeds, bands in ((3, 2), (1, 0)):
                self.tuned(seeds)
                self.open(chromium, name="tuned")
                self.assertEqual(chromium.evaluate("document.querySelectorAll('#tuning path.band').length"), bands)
                reading = chromium.evaluate("document.querySelector('#tuning .reading').textContent")
                self.assertEqual("the geometric mean of the tuning runs that have it, by which the choice is made, with its 95 % interval (Student's t)" in reading, bands > 0)
                self.assertEqual("interval" in reading, bands > 0)
                self.tmp.joinpath("runs").rename(self.tmp / f"runs-{seeds}")

    def test_names_from_files_stay_text_in_charts(self):
        label = "<img src=x onerror=alert(1)></script>"
        self.study(sweep={"zip": [{"model.ffn.activation": ["relu", "gelu"], "label": [label, "b"]}]})
        with browser.Browser() as chromium:
            self.open(chromium)
            self.assertEqual(chromium.evaluate("document.querySelectorAll('img').length"), 0)
            self.assertEqual(chromium.evaluate("document.querySelector('#steps-to-target .key').textContent"), label)

    def test_cells_and_their_numbers_can_be_read_light_and_dark(self):
        self.study()
        self.page("runs/study")
        luminance = ("const lum = c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);"
                     "return 0.2126 * r + 0.7152 * g + 0.0722 * b; };")
        cells = ("(() => {" + luminance + "return [...document.querySelectorAll('#heat-map rect[data-tip]')].map(r => { const t = r.nextElementSibling;"
                 "const room = r.getBoundingClientRect(), word = t.getBoundingClientRect();"
                 "return [lum(getComputedStyle(r).fill), lum(getComputedStyle(t).fill), Number(t.textContent), word.left >= room.left && word.right <= room.right]; }); })()")
        contrast = lambda a, b: (max(a, b) + 0.05) / (min(a, b) + 0.05)
        with browser.Browser() as chromium:
            for dark in (False, True):
                chromium.open(self.tmp / "runs/study/report.html", dark=dark)
                found = chromium.evaluate(cells)
                self.assertEqual(len(found), 9)
                for shade, number, _, fits in found:
                    self.assertGreaterEqual(contrast(shade, number), 4.5)
                    self.assertTrue(fits)
                ground = chromium.evaluate("(() => {" + luminance + "return lum(getComputedStyle(document.body).backgroundColor); })()")
                best, worst = min(found, key=lambda cell: cell[2]), max(found, key=lambda cell: cell[2])
                self.assertGreater(contrast(best[0], ground), 7)  # the best stands out, in the dark as well
                self.assertLess(contrast(worst[0], ground), 1.3)
            chromium.open(self.tmp / "runs/study/report.html", dark=True, media="print")
            self.assertLess(min(cell[0] for cell in chromium.evaluate(cells)), 0.1)  # on paper the best is dark again

    def test_it_asks_for_nothing_says_nothing_and_fits_at_every_width_light_and_dark(self):
        self.study()
        self.page("runs/study")
        path = self.tmp / "runs/study/report.html"
        with browser.Browser() as chromium:
            for width in (400, 800, 1000, 1600):
                for dark in (False, True):
                    for script in (True, False):
                        with self.subTest(width=width, dark=dark, script=script):
                            requests, said = chromium.open(path, width=width, dark=dark, script=script)
                            self.assertEqual([r for r in requests if not r.startswith("data:")], [path.resolve().as_uri()])
                            self.assertEqual(said, [])
                            self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), width)
                            self.assertEqual(chromium.evaluate("document.querySelectorAll('figure svg[role=img]').length > 20"), script)
                            ground = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
                            self.assertEqual(ground, "rgb(18, 20, 23)" if dark else "rgb(255, 255, 255)")
                            small = chromium.evaluate("Math.min(16, ...[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height > 0).map("
                                                      "t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width))")
                            self.assertGreaterEqual(small, 11)

    def test_labels_stand_apart_and_a_table_that_fits_is_one(self):
        self.ok("xor", "model.ffn.activation=relu,gelu", "seeds=6", "compare.metric=val/loss", "-q", "name=study")
        with browser.Browser() as chromium:
            self.open(chromium, width=900)
            table = chromium.evaluate("document.querySelector('#table table').scrollWidth")
            for width in (380, 800, 840, 1280):
                with self.subTest(width=width):
                    self.open(chromium, width=width)
                    self.assertTrue(any("%" in text for text in self.texts(chromium, "effects")[0]))
                    self.assertEqual(chromium.evaluate(TOUCHING), [])
            for more, display in ((32 + 36, "table"), (31, "block")):  # the page's edges
                self.open(chromium, width=table + more)
                self.assertEqual(chromium.evaluate("getComputedStyle(document.querySelector('#table table')).display"), display)

    def test_the_last_label_of_an_axis_of_steps_is_there_and_all_are_whole(self):
        self.study(seeds=2, train={**STUDY["train"], "steps": 1000, "eval_every": 500, "target": {"metric": "val/loss", "at_most": 10}})  # all get there at once
        with browser.Browser() as chromium:
            for width in (380, 1200):
                self.open(chromium, width=width)
                for figure in ("learning-curves-val-loss", "steps-to-target"):
                    labels = chromium.evaluate(f"[...document.querySelectorAll('#{figure} svg[role=img]')].map(s => [...s.querySelectorAll('.tx')].map(t => t.textContent))")
                    self.assertTrue(labels)
                    for each in labels:
                        self.assertTrue(each)
                        self.assertFalse([label for label in each if "." in label], each)
                    if figure.startswith("learning"):
                        self.assertEqual({each[-1] for each in labels}, {"1000"})

    def test_axes_switch_legends_toggle_marks_say_what_they_are_and_a_frame_enlarges(self):
        self.study()
        with browser.Browser() as chromium:
            self.open(chromium)
            label = lambda: self.texts(chromium, "learning-curves-val-loss")[0]
            before = label()
            chromium.evaluate("document.querySelector('#learning-curves-val-loss [data-axis=y]').click()")
            self.assertEqual({"val/loss (logarithmic)" in before, "val/loss (logarithmic)" in label()}, {True, False})
            lines = "document.querySelectorAll('#steps-to-target path.l').length"
            all_lines = chromium.evaluate(lines)
            chromium.evaluate("document.querySelector('#steps-to-target button.key').click()")
            self.assertEqual(all_lines - chromium.evaluate(lines), 3)  # a panel each
            place = chromium.evaluate("(() => { const m = document.querySelector('#distribution [data-tip]'); m.scrollIntoView({block: 'center'});"
                                      "const b = m.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
            chromium.move_to(*place)
            self.assertRegex(chromium.evaluate("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent"), r"^seed \d+: \d+")
            box = chromium.evaluate("(() => { const m = document.querySelector('#learning-curves-val-loss svg[role=img]');"
                                    "m.scrollIntoView({block: 'center'}); const b = m.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")
            chromium.move_to(box[0] + 0.7 * box[2], box[1] + 26)
            self.assertRegex(chromium.evaluate("document.querySelector('#tip').textContent"), r"(?s)^step \d+\nrelu .*\ngelu .*\nsilu ")
            last = "Number([...document.querySelector('#learning-curves-val-loss svg[role=img]').querySelectorAll('.tx')].at(-1).textContent)"
            whole = chromium.evaluate(last)
            for kind, x, y in (("mousePressed", 0.3, 40), ("mouseMoved", 0.6, 100), ("mouseReleased", 0.6, 140)):
                chromium.call("Input.dispatchMouseEvent", {"type": kind, "x": box[0] + x * box[2], "y": box[1] + y, "button": "left", "clickCount": 1, "buttons": 1})
            self.assertLess(chromium.evaluate(last), whole)
            chromium.evaluate("[...document.querySelectorAll('#learning-curves-val-loss button')].find(b => b.textContent == 'whole picture').click()")
            self.assertEqual(chromium.evaluate(last), whole)

    def test_print_is_light_and_whole(self):
        self.study(seeds=2)
        self.page("runs/study")
        with browser.Browser() as chromium:
            chromium.open(self.tmp / "runs/study/report.html", dark=True, media="print")
            self.assertEqual(chromium.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(chromium.evaluate("[...document.querySelectorAll('.switches')].filter(s => s.getBoundingClientRect().height > 0).length"), 0)


if __name__ == "__main__":
    main()
