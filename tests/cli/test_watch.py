#!/usr/bin/env python3
"""`ffn-train watch`: the report that it keeps up to date while a study grows, and how it ends."""
import os
import re
import signal
import subprocess
import time

import browser
from program import ProgramTest, main

STUDY = {
    "name": "study", "seeds": 3, "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 50, "eval_every": 10, "optimizer": {"lr": 0.01}, "target": {"metric": "val/loss", "at_most": 0.1}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 2]}},
}


class Watch(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ok(self.write("study.json", STUDY), "-q")
        self.watching = None

    def tearDown(self):
        if self.watching and self.watching.poll() is None:
            self.watching.kill()
            self.watching.wait()
        if self.watching:
            self.watching.stdout.close()
        super().tearDown()

    def watch(self, directory="runs/study"):
        with open(self.tmp / "said", "w", encoding="utf-8") as said:
            self.watching = subprocess.Popen(self.command("watch", directory), cwd=self.tmp, stdout=subprocess.PIPE, stderr=said, text=True)
        path = self.watching.stdout.readline().strip()
        self.assertEqual(path, directory + "/report.html")
        self.report = self.tmp / path

    def page(self):
        return self.report.read_text(encoding="utf-8")

    def wait_for(self, holds, what, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return
            time.sleep(0.2)
        self.fail(f"{what}: not after {seconds} s")

    def end(self, number=signal.SIGINT):
        started = time.monotonic()
        self.watching.send_signal(number)
        self.assertEqual(self.watching.wait(20), 0)
        self.assertLess(time.monotonic() - started, 2)

    def test_the_page_is_that_of_report_and_loads_itself_again_until_watch_ends(self):
        def content(text):
            return re.sub(r"written \S+", "", re.search(r"<main[^>]*>(.*)</main>", text, re.S)[1])
        self.watch()
        live = self.page()
        self.assertIn("<main data-live>", live)
        self.assertIn('<noscript><meta http-equiv="refresh" content="5"></noscript>', live.partition("</head>")[0])
        self.end()
        ended = self.page()
        self.assertEqual(content(ended), content(live))
        self.ok("report", "runs/study")
        self.assertEqual(content(self.page()), content(live))
        for page in (ended, self.page()):
            self.assertIn("<main>", page)
            self.assertNotIn('http-equiv="refresh"', page)

    def test_it_follows_a_study_that_grows_and_survives_what_becomes_of_it(self):
        self.watch()
        self.assertIn("12 runs", self.page())
        before = os.stat(self.report).st_ino
        time.sleep(3)
        self.assertEqual(os.stat(self.report).st_ino, before)  # nothing new: nothing written
        self.ok("study.json", "seeds=5", "-q")
        self.wait_for(lambda: "20 runs · written" in self.page(), "twenty runs")
        (self.tmp / "runs/study").rename(self.tmp / "runs/elsewhere")
        self.wait_for(lambda: "the page stays as it was" in (self.tmp / "said").read_text(), "a complaint")
        (self.tmp / "runs/elsewhere").rename(self.tmp / "runs/study")
        self.ok("study.json", "seeds=6", "-q")
        self.wait_for(lambda: "24 runs · written" in self.page(), "more runs")
        self.end()

    def test_a_study_that_trains_shows_how_far_it_is(self):
        steps = {**STUDY, "name": "slow", "train": {**STUDY["train"], "steps": 200000, "eval_every": 1000}}
        training = subprocess.Popen(self.command(self.write("slow.json", steps), "-q", "-j", "1"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: list(self.tmp.glob("runs/slow/*/seed-*/metrics.jsonl")), "a run")
            self.watch("runs/slow")
            self.wait_for(lambda: re.search(r"\d+ of \d+ runs have ended, \d+ % of the steps are done, about [^<]* left", self.page()), "a forecast")
        finally:
            training.send_signal(signal.SIGINT)
            training.wait(60)

    def test_a_study_whose_first_run_has_not_begun_is_waited_for(self):
        (self.tmp / "runs/study").rename(self.tmp / "whole")
        (self.tmp / "runs/study").mkdir()
        (self.tmp / "runs/study/study.json").write_text((self.tmp / "whole/study.json").read_text())
        self.watch()
        self.assertIn("No run has begun yet", self.page())
        run = next((self.tmp / "whole").glob("activation=relu+expansion=1/seed-0.*")).relative_to(self.tmp / "whole")
        (self.tmp / "runs/study" / run).parent.mkdir()
        (self.tmp / "whole" / run).rename(self.tmp / "runs/study" / run)
        self.wait_for(lambda: '<section id="table">' in self.page(), "a table")
        self.assertNotIn("No run has begun yet", self.page())
        self.end()

    def test_how_it_ends_and_what_is_wrong(self):
        self.assertIn("no directory nowhere", self.fails(3, "watch", "nowhere"))
        (self.tmp / "empty").mkdir()
        self.assertIn("no runs to compare", self.fails(3, "watch", "empty"))
        self.write("runs/study/report.html", "<p>mine</p>")
        self.assertIn("is not a report", " ".join(self.fails(2, "watch", "runs/study").split()))
        (self.tmp / "runs/study/report.html").unlink()
        for number in (signal.SIGINT, signal.SIGTERM):
            self.watch()
            self.end(number)
            self.watching.stdout.close()

    def test_the_page_takes_in_news_and_keeps_what_was_unfolded(self):
        if not browser.PROGRAM:
            self.skipTest("no Chromium")
        self.watch()
        with browser.Browser() as page:
            _, said = page.open(self.report)
            self.assertEqual(said, [])
            axis = page.evaluate("document.querySelector('figure [data-axis=x]').closest('figure').dataset.x")
            page.evaluate("document.querySelector('figure details').open = true; document.querySelector('figure [data-axis=x]').click();"
                          "document.querySelector('figure button.key').click()")
            self.ok("study.json", "seeds=5", "-q")
            self.wait_for(lambda: "20 runs" in page.evaluate("document.readyState == 'complete' ? document.querySelector('header').textContent : ''"), "twenty runs")
            self.assertTrue(page.evaluate("document.querySelector('figure details').open"))
            self.assertNotEqual(page.evaluate("document.querySelector('figure [data-axis=x]').closest('figure').dataset.x"), axis)
            self.assertEqual(page.evaluate("document.querySelectorAll('button.key[aria-pressed=false]').length"), 1)


if __name__ == "__main__":
    main()
