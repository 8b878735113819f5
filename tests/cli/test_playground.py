#!/usr/bin/env python3
"""The page that trains, as it is in experiments/playground: it learns in a browser, with the bits of the program's baseline kernels."""
import json
import os
import time
import unittest

import browser
from program import ROOT, ProgramTest, main, run_at

PAGE = ROOT / "experiments/playground/playground.html"


@unittest.skipUnless(browser.PROGRAM, "no Chromium is installed (Debian: apt-get install chromium)")
class Playground(ProgramTest):
    def opened(self, chromium, **size):
        requests, said = chromium.open(PAGE, **size)
        self.wait_for(chromium, "ready")
        self.assertEqual((said, [r for r in requests if not r.startswith(("file:", "data:"))]), ([], []))

    def wait_for(self, chromium, condition):
        deadline = time.monotonic() + 60
        while not chromium.evaluate(f"Boolean({condition})"):
            self.assertLess(time.monotonic(), deadline, chromium.evaluate("$('status').textContent"))
            time.sleep(0.1)

    def test_it_learns_and_pauses(self):
        with browser.Browser() as chromium:
            for width in (1280, 400):
                self.opened(chromium, width=width)
                chromium.evaluate("$('train').click()")
                self.wait_for(chromium, "last['val/accuracy'] > 0.99")
                self.assertEqual(chromium.evaluate("$('units').children.length"), 16)
                self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), width)
                chromium.evaluate("$('train').click()")
                step = chromium.evaluate("last.step")
                chromium.evaluate("$('step').click()")
                self.assertEqual(chromium.evaluate("last.step"), step + 1)

    def test_it_computes_the_bits_of_the_program(self):
        layers = {"plain": {"activation": "max(z, 0) - 0.25e-1 * z"}, "gated": {"kind": "gated", "activation": "silu"}, "formula": {"kind": "formula"}}
        with browser.Browser() as chromium:
            self.opened(chromium)
            for name, fields in layers.items():
                for task in ("xor", "spiral"):
                    for key, value in {"task": task, **fields}.items():
                        chromium.evaluate(f"form.{key}.value = {json.dumps(value)}")
                    chromium.evaluate("reset()")
                    config = json.loads(chromium.evaluate("$('config').textContent"))
                    config["train"].update(steps=50, eval_every=1)
                    file = self.tmp / f"{name}-{task}.json"
                    file.write_text(json.dumps(config))
                    self.ok(file, "-o", self.tmp / file.stem, env={**os.environ, "FFN_ISA": "baseline"})
                    metrics = [json.loads(line) for line in (run_at(self.tmp / file.stem / "mine/seed-0") / "metrics.jsonl").read_text().splitlines()]
                    for row in metrics[1:]:
                        page = json.loads(chromium.evaluate("JSON.stringify((advance(1), last))"))
                        self.assertEqual({key: page[key] for key in ("step", "train/loss", "val/loss")},
                                         {key: row[key] for key in ("step", "train/loss", "val/loss")}, file.stem)

    def test_what_it_cannot_train_is_refused(self):
        with browser.Browser() as chromium:
            self.opened(chromium)
            for key, value, said in (("activation", "z * w", "/model/ffn/activation: "), ("d_ff", "", "Hidden units: "), ("lr", "-1", "Learning rate: ")):
                chromium.evaluate(f"before = form.{key}.value, form.{key}.value = {json.dumps(value)}, reset()")
                self.assertIn(said, chromium.evaluate("$('status').textContent"))
                chromium.evaluate("$('train').click()")
                self.assertFalse(chromium.evaluate("training"))
                chromium.evaluate(f"form.{key}.value = before, reset()")
                self.assertTrue(chromium.evaluate("ready"))


if __name__ == "__main__":
    main()
