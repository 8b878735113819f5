#!/usr/bin/env python3
"""`ffn-train report`: the page in words and numbers, and, where Chromium is installed, as a browser shows it."""
import json
import math
import os
import re
import resource
import stat
import statistics
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
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
SVG = "{http://www.w3.org/2000/svg}"
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

    def test_the_page_of_one_finished_run_takes_no_time(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

        for i in range(1, 5):
            self.ok("xor", "name=study", "model.ffn.activation=relu,gelu", "seeds=[3,13]", "train.steps=60", "train.target=null", "compare.metric=val/loss",
                    "-q", "-o", f"part-{i}", "--shard", f"{i}/4")
            # All that is drawn is one number, and the mean of it that rounding made another.
            self.ok("report", f"part-{i}/study", "-o", f"page-{i}.html", timeout=60, preexec_fn=limited)

    def test_the_page_has_the_question_the_answer_and_every_section(self):
        self.study()
        page = Page(self.page("runs/study"))
        self.assertEqual(page.text(next(page.all("h1"))), STUDY["question"])
        answer = page.text(next(page.all("p", id="answer")))
        short = self.ok("compare", "runs/study").stdout.partition("\n\n")[0]
        conditions = json.loads(self.ok("compare", "runs/study", "--json").stdout)["conditions"]
        self.assertEqual(f"{answer} {conditions}".replace("\u00a0", " "), " ".join(short.split()).replace("\u00a0", " "))
        sections = [e[1]["id"] for e in page.all() if e[0] in ("section", "figure")]
        self.assertEqual(sections, ["table", "notes", "effect-expansion", "steps-to-target", "distribution", "learning-curves-val-loss", "heat-map", "cost", "decision-regions", "lost",
                                    "varying", "environment", "commands"] if "notes" in sections else
                         ["table", "effect-expansion", "steps-to-target", "distribution", "learning-curves-val-loss", "heat-map", "cost", "decision-regions", "lost", "varying", "environment", "commands"])
        commands = page.text(next(page.all("section", id="commands")))
        self.assertIn("ffn-train --config", commands)
        self.assertIn("ffn-train compare runs/study", commands)
        self.assertIn("model.ffn.expansion", page.text(next(page.all("section", id="varying"))))

    def test_a_variant_that_alone_gets_there_is_an_arrow_on_an_axis_without_invented_numbers(self):
        arguments = ("xor", "seeds=6", "train.steps=100", "-q", "--color=never")
        for name, kinds, arrow in (("sooner", "none,positionwise", "←─+│ +better"), ("later", "positionwise,none", "│─+→ +worse")):
            said = self.ok(*arguments, f"name={name}", f"model.ffn.kind={kinds}").stdout
            self.assertRegex(said, arrow)
            text = self.page(f"runs/{name}")
            page = Page(text)
            axis = next(page.all("svg", next(page.all("th", **{"class": "bar"}))))
            self.assertEqual([page.text(t) for t in page.all("text", axis)], ["← better", "worse →", "0"])
            bar = next(page.all("svg", next(page.all("td", **{"class": "bar"}))))
            tips = [path[1]["d"] for path in page.all("path", bar) if path[1]["d"].count("L") == 2]
            self.assertEqual(len(tips), 1, tips)
            tip = float(tips[0].split("L")[1].split()[0])
            self.assertTrue(tip < 20 if name == "sooner" else tip > 240, tips)

    def test_nothing_of_the_page_comes_from_elsewhere(self):
        self.study()
        text = self.page("runs/study")
        self.assertIn("default-src 'none'", text)
        self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""), r"https?://|src=|@import|url\((?!#)")
        for element in Page(text).all():
            self.assertFalse([a for a in element[1] if a.startswith("on")], element[:2])

    def test_every_picture_has_a_title_a_description_and_a_line_that_says_how_to_read_it(self):
        self.study()
        page = Page(self.page("runs/study"))
        pictures = list(page.all("svg", role="img"))
        self.assertGreater(len(pictures), 30)
        ids = [e[1]["id"] for e in page.all() if "id" in e[1]]
        self.assertEqual(len(ids), len(set(ids)))
        for picture in pictures:
            first, second = (child for child in picture[2][:2])
            self.assertEqual((first[0], second[0]), ("title", "desc"))
            self.assertTrue(page.text(first) and page.text(second))
            self.assertEqual(picture[1]["aria-labelledby"], first[1]["id"] + " " + second[1]["id"])
        for figure in page.all("figure"):
            self.assertGreater(len(page.text(next(page.all("p", figure, **{"class": "reading"})))), 40, figure[1]["id"])

    def test_names_from_files_stay_text(self):
        hostile = "<img src=x onerror=alert(1)>\"'&\u202e"
        self.study(question=hostile, source=hostile + "</style></script><script>alert(2)</script>")
        text = self.page("runs/study")
        self.assertNotIn("<img", text)
        self.assertNotIn("\u202e", text)
        page = Page(text)
        self.assertEqual(len(list(page.all("script"))), 1)
        self.assertEqual(page.text(next(page.all("h1"))), hostile.replace("\u202e", "?"))

    def test_failed_and_diverged_runs_are_listed_with_the_reason(self):
        self.run_program("--config", self.write("study.json", {**STUDY, "train": {**STUDY["train"], "optimizer": {"kind": "sgd", "lr": 1e6}}, "seeds": 3}), "-q")
        page = Page(self.page("runs/study"))
        lost = page.text(next(page.all("section", id="lost")))
        self.assertIn("runs/study/activation=relu+expansion=1/seed-0", lost)
        self.assertIn("diverged", lost)

    def test_diverged_runs_are_under_way_until_then_and_without_a_difference_there_are_no_bars(self):
        self.run_program("xor", "name=study", "model.ffn.activation=relu,gelu", "train.optimizer.lr=300", "train.optimizer.kind=sgd", "seeds=3", "train.steps=60",
                         "train.eval_every=5", "-q")
        steps = [record(p)["summary"]["divergence"]["step"] for p in self.tmp.glob("runs/study/*/seed-*/run.json")]
        self.assertEqual(len(steps), 6)
        self.assertLess(max(steps), 10)
        page = Page(self.page("runs/study"))
        self.assertEqual(list(page.all(**{"class": "bar"})), [])
        self.assertEqual({len(row[2]) for row in page.all("tr", next(page.all("section", id="table")))}, {6})
        for part in page.all("svg", next(page.all("figure", id="steps-to-target")), role="img"):
            texts = [page.text(t) for t in page.all("text", part)]
            under_way, lost = texts.index("still under way"), texts.index("diverged or failed")
            rows = {at: texts[at + 1:][:(lost - under_way - 1)] for at in (under_way, lost)}
            half = len(rows[lost]) // 2
            for variant in (0, half):
                self.assertEqual(set(rows[under_way][variant + 2:variant + half]), {"0"})
                self.assertEqual(set(rows[lost][variant + 2:variant + half]), {"3"})
            self.assertEqual((rows[under_way][1], rows[lost][1]), ("3", "0"))
            tips = [m[1]["data-tip"] for m in page.all(of=part) if "diverged or failed at" in m[1].get("data-tip", "")]
            self.assertEqual(sum(int(re.search(r": (\d+) diverged", tip)[1]) for tip in tips), 6)
        for part in page.all("svg", next(page.all("figure", id="distribution")), role="img"):
            never = next(t for t in page.all("text", part) if page.text(t) == "never")
            self.assertGreaterEqual(float(never[1]["x"]), 12 * 0.56 * len("never"))

    def labels(self, page, figure):
        """The texts of each wide picture of a figure."""
        for part in page.all("svg", next(page.all("figure", id=figure)), role="img"):
            if float(part[1]["width"]) > 500:
                yield [page.text(t) for t in page.all("text", part)]

    def test_a_line_that_ends_because_its_runs_are_lost_says_so_at_its_label(self):
        self.run_program("xor", "name=study", "train.optimizer.kind=sgd", "train.optimizer.lr=0.1,3000", "seeds=4", "train.steps=60", "-q")
        page = Page(self.page("runs/study"))
        wide = [texts for metric in ("val-accuracy", "val-loss") for texts in self.labels(page, "learning-curves-" + metric)]
        self.assertGreaterEqual(len(wide), 4)
        for texts in wide:
            self.assertIn("lr 3000 (diverged)", texts)
            self.assertIn("lr 0.1", texts)
        self.assertIn("✕: a run diverged or failed", page.text(next(page.all("figure", id="learning-curves-val-loss"))))
        for part in page.all("svg", next(page.all("figure", id="learning-curves-val-loss")), role="img"):
            self.assertRegex(page.text(next(page.all("desc", part))), r"^At the last step: lr 0\.1 \S+ \[.*\]; lr 3000 \(diverged\)\.")

    def test_losses_at_0_end_the_log_axis_at_what_float32_can_tell_from_it(self):
        self.run_program("--config", self.write("study.json", {**STUDY, "seeds": 4, "train": {"steps": 200, "eval_every": 10, "optimizer": {"lr": 0.3}},
                                                "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}, "compare": {"by": "model.ffn.activation", "metric": "val/loss"}}), "-q")
        page = Page(self.page("runs/study"))
        figure = next(page.all("figure", id="learning-curves-val-loss"))
        reading = page.text(next(page.all("p", figure, **{"class": "reading"})))
        self.assertIn("Line: geometric mean over all seeds", reading)
        self.assertIn("; values below 10⁻⁸ count as 10⁻⁸.", reading)
        lowest = set()
        for part in page.all("div", figure, **{"class": "form xlin ylog"}):
            powers = [page.text(t)[2:].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) for t in page.all("text", part, **{"class": "q", "text-anchor": "end"})
                      if page.text(t).startswith("10")]
            lowest.add(min(map(int, powers)))
        self.assertEqual(lowest, {-8})

    def test_a_run_is_no_longer_under_way_at_the_step_at_which_it_gets_there(self):
        self.ok("xor", "name=study", "model.ffn.activation=relu,silu", "seeds=8", "-q")
        page = Page(self.page("runs/study"))
        figure = next(page.all("figure", id="steps-to-target"))
        self.assertIn("where it ends below 1 the rest never got there", page.text(next(page.all("p", figure, **{"class": "reading"}))))
        times = {name: [record(p)["summary"]["hit"]["step"] for p in self.tmp.glob(f"runs/study/*={name}/seed-*/run.json")] for name in ("relu", "silu")}
        seen = 0
        for texts in self.labels(page, "steps-to-target"):
            at = texts.index("still under way")
            ticks = [int(t) for t in texts[:at] if t.isdigit()]
            ticks = ticks[-(len(texts) - at - 3) // 2:]  # those of the steps are the last, and each has a number
            for name, counts in (("relu", texts[at + 2:at + 2 + len(ticks)]), ("silu", texts[at + 3 + len(ticks):at + 3 + 2 * len(ticks)])):
                self.assertEqual(len(times[name]), 8)
                self.assertEqual([int(x) for x in counts], [sum(t > tick for t in times[name]) for tick in ticks], (name, texts))
                seen += sum(tick in times[name] for tick in ticks)
        self.assertGreater(seen, 0)

    def test_curves_of_a_share_are_whole_within_it_and_on_one_axis(self):
        lr = {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 4], "train.optimizer.lr": [0.003, 0.03]}
        self.study(sweep={"grid": lr}, train={"steps": 300, "eval_every": 10, "target": {"metric": "val/accuracy", "at_least": 1}})
        page = Page(self.page("runs/study"))
        figure = next(page.all("figure", id="learning-curves-val-accuracy"))
        ticks, panels = set(), 0
        for part in page.all("div", figure, **{"class": "form xlin ylin"}):
            panels += 1
            labels = [t for t in page.all("text", part, **{"class": "q", "text-anchor": "end"}) if page.text(t) != "step"]
            ticks.add(tuple((page.text(t), t[1]["y"]) for t in labels))
            self.assertNotIn("cut", page.text(next(page.all("text", part, x="0"))))
            top = next(float(t[1]["y"]) - 4 for t in labels if page.text(t) == "1")
            bottom = max(float(t[1]["y"]) - 4 for t in labels)
            self.assertLess(float(page.text(labels[0])), 0.5)
            for shape in page.all("path", part):  # in tenths of pixels
                if shape[1].get("class") not in ("band", "l"):
                    continue
                pens, y = re.findall(r"([MLHVhvlm])([^MLHVhvlmZz]*)", shape[1]["d"]), None
                for pen, numbers in pens:
                    places = [float(x) for x in re.findall(r"-?[0-9.]+", numbers)]
                    if pen in "ML" and places:
                        self.assertGreaterEqual(min(places[1::2]), 10 * top - 1, shape[1]["d"])
        self.assertEqual((len(ticks), panels), (1, 4), ticks)

    def test_a_loss_that_begins_beyond_the_frame_is_said_to(self):
        self.ok("xor", "name=study", "model.ffn.activation=relu,gelu", "seeds=3", "train.steps=2000", "train.eval_every=5",
                "train.optimizer.lr=0.1", "-q")
        page = Page(self.page("runs/study"))
        figure = next(page.all("figure", id="learning-curves-val-loss"))
        labels = [page.text(next(page.all("text", part, x="0"))) for part in page.all("div", figure) if "ylin" in part[1].get("class", "")]
        self.assertEqual(len(labels), 4)
        self.assertEqual(set(labels), {"val/loss; cut: lines begin above"})

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
        self.write("paper/table.tex", "mine")
        for place in ("runs/study/study.json", f"{run}/run.json", f"{run}/model.safetensors", "notes.html"):
            before = (self.tmp / place).read_bytes()
            self.assertIn(f"{place} exists and is not a report", " ".join(self.fails(2, "report", "runs/study", "-o", place).split()))
            self.assertEqual((self.tmp / place).read_bytes(), before)
        self.assertIn("paper/table.tex exists", " ".join(self.fails(2, "report", "runs/study", "-o", "new.html", "--figures", "paper").split()))
        self.assertEqual(((self.tmp / "paper/table.tex").read_text(), (self.tmp / "new.html").exists()), ("mine", False))
        self.assertIn("is a directory", self.fails(2, "report", "runs/study", "-o", "runs"))
        notes.unlink()
        self.write("empty.html", "")
        for _ in range(2):  # the second time over the first
            self.ok("report", "runs/study", "-o", "empty.html", "--figures", "figures")
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
        page = self.ok("report", "runs/study", "-o", "/dev/stdout").stdout
        self.assertTrue(page.startswith("<!DOCTYPE") and page.endswith("</html>\n"))
        with open(self.tmp / "redirected.html", "w") as file:
            subprocess.run(self.command("report", "runs/study", "-o", "/dev/stdout"), cwd=self.tmp, stdout=file, check=True)
        self.assertEqual(len((self.tmp / "redirected.html").read_text()), len(page))
        try:
            os.mknod(self.tmp / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))  # a node of our own: the system's is left alone
        except PermissionError:
            return
        try:
            open(self.tmp / "null", "w").close()
        except PermissionError:  # mounted without devices
            return
        self.ok("report", "runs/study", "-o", "null")
        self.assertTrue((self.tmp / "null").is_char_device())

    def test_the_same_runs_make_the_same_page(self):
        self.study(seeds=3)
        strip = lambda text: re.sub(r"written [0-9TZ:-]+", "", text)
        self.assertEqual(strip(self.page("runs/study")), strip(self.page("runs/study")))

    def test_a_curve_that_is_not_what_was_written_is_named_and_not_drawn(self):
        self.ok("--config", self.write("study.json", STUDY), "-q", "model.ffn.expansion=2")
        metrics = next((self.tmp / "runs/study").glob("*/seed-0.*/metrics.jsonl"))
        whole = metrics.read_text()
        for text, said in ((whole + "{}\n", f"{len(whole) + 3} bytes instead of {len(whole)}"), (whole[:-9], f"{len(whole) - 9} bytes instead of {len(whole)}"),
                           (whole.replace("1", "2", 1), "damaged: its checksum differs")):
            metrics.write_text(text)
            self.ok("report", "runs/study", "-o", "page.html")
            self.assertIn(f"Not drawn: {metrics.relative_to(self.tmp)}: {said}", (self.tmp / "page.html").read_text())

    def test_a_single_run_has_a_page_of_its_own(self):
        self.ok("xor", "train.steps=50", "-q")
        page = Page(self.page("runs/xor"))
        self.assertEqual([e[1]["id"] for e in page.all("figure")], ["steps-to-target", "learning-curves-val-accuracy", "learning-curves-val-loss", "decision-regions"])


class Figures(ReportTest):
    def test_every_chart_is_taken_out_as_svg_that_stands_alone_and_the_table_as_latex(self):
        self.study()
        result = json.loads(self.ok("report", "runs/study", "--figures", "paper", "--json").stdout)
        names = sorted(p.name for p in (self.tmp / "paper").iterdir())
        self.assertEqual(sorted(result["figures"]), [f"paper/{n}" for n in names])
        self.assertTrue({"intervals.svg", "heat-map.svg", "effect-expansion.svg", "table.tex", "learning-curves-val-loss-1-expansion-1.svg"} <= set(names), names)
        for name in names:
            text = (self.tmp / "paper" / name).read_text()
            if name.endswith(".svg"):
                root = ElementTree.fromstring(text)
                self.assertEqual(root.tag, SVG + "svg")
                self.assertIsNotNone(root.find(SVG + "style"))
                self.assertNotIn("var(", text)
        texts = {name: [e.text for e in ElementTree.parse(self.tmp / "paper" / name).iter(SVG + "text")] for name in names if name.endswith(".svg")}
        for name, said in (("cost-1-parameters.svg", ["parameters", "relu", "gelu", "silu", "beside the marks: expansion", "steps_to_target", "parameters (logarithmic)"]),
                           ("learning-curves-val-loss-2-expansion-2.svg", ["expansion 2", "relu", "gelu", "silu", "val/loss (logarithmic)", "step"]),
                           ("heat-map.svg", ["activation", "expansion", "relu", "gelu", "silu"]), ("steps-to-target-1-expansion-1.svg", ["expansion 1", "relu", "gelu", "silu", "steps"])):
            self.assertEqual([word for word in said if texts[name].count(word) != 1], [], f"{name}: {texts[name]}")
        self.assertEqual(len([text for text in texts["heat-map.svg"] if text.startswith("steps_to_target ")]), 1)  # its bar of shades
        table = (self.tmp / "paper/table.tex").read_text()
        self.assertEqual(table.count(r"\\" + "\n"), 1 + 9)
        self.assertEqual(table.count("{"), table.count("}"))
        self.assertNotRegex(table.split("\n", 2)[2], r"(?<!\\)[%#_]")


class Numbers(ReportTest):
    """What the page shows is what `compare --json` says."""

    def cells(self, page, figure):
        table = next(page.all("table", next(page.all("figure", id=figure))))
        headers = [page.text(e) for e in page.all("th", table)]
        for row in page.all("tr", next(page.all("tbody", table))):
            yield {h: (page.text(e), float(e[1]["data-v"]) if "data-v" in e[1] else None) for h, e in zip(headers, page.all("td", row))}

    def groups(self, comparison):
        return {(f["keys"].get("model.ffn.expansion", ""), g["value"]): g for f in comparison["facets"] for g in f["groups"]}

    def close(self, a, b):
        self.assertTrue(math.isclose(a, float(b), rel_tol=1e-12), f"{a} is not {b}")

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
            self.close(float(cells["steps"][1]["data-v"]), self.groups(comparison)[key]["mean"])
            if key not in pairs:
                self.assertEqual(key[1], "relu")
                continue
            effect, cell = pairs[key]["effect"], cells["difference"][1]
            for name, value in (("data-v", effect["value"]), ("data-low", effect["interval"]["low"]), ("data-high", effect["interval"]["high"])):
                self.close(float(cell[name]), value)
            self.assertIn(page.text(cells["verdict"]), (pairs[key]["verdict"], "tied", "no difference"))
            compared += 1
        self.assertEqual(compared, 6)

    def test_charts_of_a_time(self):
        self.study()
        page, groups = Page(self.page("runs/study")), self.groups(self.compared("runs/study"))
        for figure, rows in (("steps-to-target", 9), ("distribution", 9), ("effect-expansion", 9), ("heat-map", 9), ("cost", 9)):
            seen = 0
            for row in self.cells(page, figure):
                group = groups[row["expansion"][0], row["activation"][0]]
                if figure == "steps-to-target":
                    self.assertEqual((row["runs"][1], row["reached"][1]), (group["runs"], group["hits"]))
                    self.assertEqual(row["median"][1], group["median_steps_to_target"])
                elif figure == "cost":
                    self.assertEqual((row["parameters"][1], row["FLOPs per token"][1]), (group["parameters"], group["flops_per_token"]))
                    self.close(row["steps_to_target"][1], group["mean"])
                elif figure == "effect-expansion":
                    self.close(row["centre"][1], group["mean"])
                    self.close(row["high"][1], group["mean"] + (group["half_width"] or 0))
                else:
                    self.close(row["mean" if figure == "distribution" else "centre"][1], group["mean"])
                seen += 1
            self.assertEqual(seen, rows, figure)

    def test_a_learning_curve_ends_at_the_number_in_the_table(self):
        self.study()
        for metric, centre in (("val/accuracy", "mean"), ("val/loss", "shown")):
            page, groups = Page(self.page("runs/study", "--metric", metric)), self.groups(self.compared("runs/study", "--metric", metric))
            last = {(r["expansion"][0], r["activation"][0]): r for r in self.cells(page, "learning-curves-" + metric.replace("/", "-"))}
            self.assertEqual(len(last), 9)
            for key, row in last.items():
                self.assertEqual(row["step"][1], 200)
                expected = groups[key]["shown"]["value"] if groups[key]["shown"] else groups[key]["mean"]
                self.close(row["centre"][1], expected)

    def test_a_dot_is_there_for_every_run_with_its_value(self):
        self.study()
        text = self.page("runs/study")
        page, groups = Page(text), self.groups(self.compared("runs/study"))
        figure = next(page.all("figure", id="distribution"))
        form = [e for e in page.all("div", figure) if e[1].get("class", "").startswith("form ylin")]
        tips = [float(e[1]["data-tip"].split(": ")[1]) for f in form for e in page.all(None, f) if e[1].get("data-tip", "").startswith("seed") and "no value" not in e[1]["data-tip"]]
        values = [float(v) for g in groups.values() for v in g["values"] if v != "inf"]
        self.assertEqual(sorted(tips), sorted(values))


class Size(ReportTest):
    def test_a_study_of_240_runs_is_under_2_megabytes(self):
        self.ok("activations", "seeds=20", "-q")
        self.assertLess(len(self.page("runs/activations").encode()), 2e6)

    def test_tuned_and_growing_studies_show_their_choices_and_looks(self):
        tuned = {**STUDY, "name": "tuned", "tune": {"train.optimizer.lr": [0.002, 0.01, 0.05], "seeds": 3}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        self.ok("--config", self.write("tuned.json", tuned), "-q")
        page = Page(self.page("runs/tuned"))
        self.assertIn("tuning", [e[1]["id"] for e in page.all("figure")])
        growing = {**STUDY, "name": "growing", "seeds": {"until": "settled", "max": 24}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        self.run_program("--config", self.write("growing.json", growing), "-q")
        page = Page(self.page("runs/growing"))
        self.assertIn("interim-analyses", [e[1]["id"] for e in page.all("figure")])
        self.ok("xor", "name=settled", "model.ffn.activation=relu,gelu,silu", "compare.min_effect=5", "seeds=auto", "-q")
        page = Page(self.page("runs/settled"))
        pictures = list(page.all("svg", next(page.all("figure", id="interim-analyses")), role="img"))
        self.assertGreaterEqual(len(pictures), 2)
        for picture in pictures:  # of either width
            self.assertIn("no meaningful difference", [page.text(t) for t in page.all("text", picture)])


    def tuned(self, seeds):
        self.ok("--config", self.write("tuned.json", {**STUDY, "name": "tuned", "tune": {"train.optimizer.lr": [0.002, 0.005, 0.01], "metric": "val/loss", "seeds": seeds},
                                                      "train": {**STUDY["train"], "steps": 60}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}), "-q")
        return Page(self.page("runs/tuned"))

    def test_tuning_curves_have_the_interval_of_what_the_choice_is_made_by(self):
        # Of the losses' logarithms, by numbers that are none of the program's: t of 2 degrees of freedom is 4.30265.
        page = self.tuned(3)
        figure = next(page.all("figure", id="tuning"))
        self.assertIn("the geometric mean of the tuning runs that have it, by which the choice is made, with its 95 % interval (Student's t)", page.text(next(page.all("p", figure, **{"class": "reading"}))))
        table = next(page.all("table", figure))
        headers = [page.text(e) for e in page.all("th", table)]
        seen = 0
        for row in page.all("tr", next(page.all("tbody", table))):
            cells = dict(zip(headers, page.all("td", row)))
            directory = self.tmp / "runs/tuned/tuning" / f"{page.text(cells['variant'])}+lr={page.text(cells['lr'])}"
            losses = [record(run)["summary"]["metrics"]["val/loss"]["final"] for run in directory.iterdir() if run.is_dir()]
            logs = [math.log(x) for x in losses]
            self.assertEqual(len(logs), 3)
            error = statistics.stdev(logs) / math.sqrt(3)
            for name, value in (("centre", 0), ("low", -4.302652730), ("high", 4.302652730)):
                self.assertTrue(math.isclose(float(cells[name][1]["data-v"]), math.exp(statistics.mean(logs) + value * error), rel_tol=1e-8), name)
            seen += 1
        self.assertGreaterEqual(seen, 6)  # the grid grows where its end is best
        for form in page.all("div", figure):
            if form[1].get("class", "").startswith("form"):
                self.assertEqual(len([e for e in page.all("path", form) if e[1].get("class") == "band"]), 2)  # one per variant

    def test_one_tuning_seed_has_no_band_and_none_is_spoken_of(self):
        page = self.tuned(1)
        figure = next(page.all("figure", id="tuning"))
        self.assertNotIn("interval", page.text(next(page.all("p", figure, **{"class": "reading"}))))
        self.assertFalse([e for e in page.all("path", figure) if e[1].get("class") == "band"])


@unittest.skipUnless(browser.PROGRAM, "no Chromium is installed (Debian: apt-get install chromium)")
class InABrowser(ReportTest):
    def test_cells_and_their_numbers_can_be_read_light_and_dark(self):
        self.study()
        self.page("runs/study")
        luminance = ("const lum = c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);"
                     "return 0.2126 * r + 0.7152 * g + 0.0722 * b; };")
        cells = ("(() => {" + luminance + "return [...document.querySelectorAll('#heat-map .form.wide rect[data-tip]')].map(r => { const t = r.nextElementSibling;"
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
                            shown = chromium.evaluate("[...document.querySelectorAll('figure .panel')].map(p => [...p.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height > 50).length)")
                            self.assertEqual(shown, [1] * len(shown))
                            self.assertEqual(len(shown), 3 + 3 + 3 + 1 + 1 + 3 + 9)
                            ground = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
                            self.assertEqual(ground, "rgb(18, 20, 23)" if dark else "rgb(255, 255, 255)")
                            small = chromium.evaluate("Math.min(...[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height > 0).map("
                                                      "t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width))")
                            self.assertGreaterEqual(small, 11)

    def test_bars_keep_their_size_in_every_window_whatever_stands_beside_them(self):
        grid = {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 4], "train.optimizer.lr": [0.003, 0.03], "train.batch_size": [16, 32]}
        self.study(seeds=2, sweep={"grid": grid})
        self.page("runs/study")
        with browser.Browser() as chromium:
            for width in (400, 640, 721, 800, 901, 1000, 1100, 1300, 1500):
                with self.subTest(width=width):
                    chromium.open(self.tmp / "runs/study/report.html", width=width)
                    bars = chromium.evaluate("[...document.querySelectorAll('.bar svg')].map(s => s.getBoundingClientRect().width)")
                    self.assertEqual((len(bars), set(bars)), (9, {260}))
                    self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), width)
                    scrolls = chromium.evaluate("(s => s.scrollWidth > s.clientWidth)(document.querySelector('#table .scroll'))")
                    self.assertFalse(scrolls)

    def test_labels_stand_apart_and_a_table_that_fits_is_one(self):
        self.ok("xor", "model.ffn.activation=relu,gelu", "seeds=6", "compare.metric=val/loss", "-q", "name=study")
        self.page("runs/study")
        touching = ("[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height > 0).flatMap(s => { const t = [...s.querySelectorAll('text')].map(x => [x.getBoundingClientRect(), x.textContent]);"
                    "return t.flatMap(([a, x], i) => t.slice(i + 1).filter(([b]) => Math.abs(a.top - b.top) < 4 && a.left < b.right + 2 && b.left < a.right + 2).map(([b, y]) => x + ' | ' + y)); })")
        with browser.Browser() as chromium:
            chromium.open(self.tmp / "runs/study/report.html", width=1600)
            table = chromium.evaluate("document.querySelector('#table table').scrollWidth")
            for width in (380, 800, 840, 1200):
                with self.subTest(width=width):
                    chromium.open(self.tmp / "runs/study/report.html", width=width)
                    self.assertIn("%", chromium.evaluate("document.querySelector('th.bar').textContent"))
                    self.assertEqual(chromium.evaluate(touching), [])
            for more, display in ((32 + 36, "table"), (31, "block")):  # the page's edges
                chromium.open(self.tmp / "runs/study/report.html", width=table + more)
                self.assertEqual(chromium.evaluate("getComputedStyle(document.querySelector('#table table')).display"), display)

    def test_the_last_label_of_an_axis_of_steps_is_there_and_all_are_whole(self):
        self.study(seeds=2, train={**STUDY["train"], "steps": 1000, "eval_every": 500, "target": {"metric": "val/loss", "at_most": 10}})  # all get there at once
        self.page("runs/study")
        with browser.Browser() as chromium:
            for width in (380, 1200):
                chromium.open(self.tmp / "runs/study/report.html", width=width)
                for figure in ("learning-curves-val-loss", "steps-to-target"):
                    labels = chromium.evaluate("[...document.querySelectorAll('#" + figure + " svg')].filter(s => s.getBoundingClientRect().height > 50).map(s => {"
                                               "const ends = [...s.querySelectorAll('path.ax')].map(p => (p.getAttribute('d') || '').match(/^M(\\S+) \\S+L\\1 (\\S+)$/)).filter(m => m).map(m => Number(m[2]));"
                                               "return [...s.querySelectorAll('text')].filter(t => Math.abs(Number(t.getAttribute('y')) - Math.max(...ends) - 13) < 0.2).map(t => t.textContent); })")
                    self.assertTrue(labels)
                    for each in labels:
                        self.assertTrue(each)
                        self.assertFalse([label for label in each if "." in label], each)
                    if figure.startswith("learning"):
                        self.assertEqual({each[-1] for each in labels}, {"1000"})

    def test_axes_switch_legends_toggle_and_marks_say_what_they_are(self):
        self.study()
        self.page("runs/study")
        with browser.Browser() as chromium:
            chromium.open(self.tmp / "runs/study/report.html")
            shown = "[...document.querySelectorAll('#learning-curves-val-loss .panel:first-child .form')].filter(f => f.getBoundingClientRect().height > 0).map(f => f.className).join()"
            before = chromium.evaluate(shown)
            chromium.evaluate("document.querySelector('#learning-curves-val-loss [data-axis=y]').click()")
            after = chromium.evaluate(shown)
            self.assertEqual({before, after}, {"form xlin ylog", "form xlin ylin"})
            lines = "[...document.querySelectorAll('#steps-to-target .panel:first-child .form.xlin .s')].filter(g => g.getBoundingClientRect().height > 0).length"
            all_lines = chromium.evaluate(lines)
            chromium.evaluate("document.querySelector('#steps-to-target button.key').click()")
            self.assertLess(chromium.evaluate(lines), all_lines)
            place = chromium.evaluate("(() => { const m = document.querySelector('#distribution .form:not(.ylog) [data-tip]'); m.scrollIntoView({block: 'center'});"
                                      "const b = m.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2, m.dataset.tip]; })()")
            chromium.move_to(place[0], place[1])
            tip = chromium.evaluate("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent")
            self.assertRegex(tip, r"^seed \d+: \d+")
            place = chromium.evaluate("(() => { const m = [...document.querySelectorAll('#learning-curves-val-loss [data-cursor]')].find(r => r.getBoundingClientRect().height > 0);"
                                      "m.scrollIntoView({block: 'center'}); const b = m.getBoundingClientRect(); return [b.x + 0.7 * b.width, b.y + 3]; })()")
            chromium.move_to(*place)
            self.assertRegex(chromium.evaluate("document.querySelector('#tip').textContent"), r"(?s)^step \d+\nrelu .*\ngelu .*\nsilu ")

    def test_print_is_light_and_whole(self):
        self.study(seeds=2)
        self.page("runs/study")
        with browser.Browser() as chromium:
            chromium.open(self.tmp / "runs/study/report.html", dark=True, media="print")
            self.assertEqual(chromium.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(chromium.evaluate("[...document.querySelectorAll('.switches')].filter(s => s.getBoundingClientRect().height > 0).length"), 0)


if __name__ == "__main__":
    main()
