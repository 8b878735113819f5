#!/usr/bin/env python3
"""`ffn-train inspect`: numbers against what can be computed from the weights, text that fits, pages, errors."""
import json
import os
import re
import shutil
import struct
import unittest

import browser
from program import ProgramTest, main
from test_report import Page

XOR = {"name": "xor", "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"activation": "relu", "expansion": 4}},
       "train": {"steps": 60, "eval_every": 30, "optimizer": {"lr": 0.01}}}
TEXT = {"name": "text", "task": {"kind": "text", "file": "t.txt", "context": 8}, "model": {"d_model": 8, "residual": True, "attention": {"heads": 2}, "norm": {"kind": "layer"}},
        "train": {"steps": 30, "eval_every": 30, "batch_size": 8}}


def tensors(path):
    """{name: (shape, values row by row)} of a safetensors file of floats."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            out[name] = (entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
    return out


class InspectTest(ProgramTest):
    def trained(self, config, *overrides):
        self.write("t.txt", "the rain in spain stays mainly in the plain\n" * 40)
        self.ok(self.write("config.json", config), *overrides, "-q", "--fresh")
        return str(max((self.tmp / f"runs/{config['name']}").glob("seed-0.????????"), key=lambda run: (run / "run.json").stat().st_mtime_ns).relative_to(self.tmp))

    def inspected(self, run, *arguments):
        return json.loads(self.ok("inspect", run, *arguments, "--json").stdout)


class Numbers(InspectTest):
    def test_a_small_layer_is_what_its_weights_say(self):
        run = self.trained(XOR)
        found = self.inspected(run)["blocks"][0]["hidden"][0]
        weights = tensors(self.tmp / run / "model.safetensors")
        (d_model, bits), into = weights["projection.weight"]
        into_bias, (shape, up), up_bias = weights["projection.bias"][1], weights["block0.ffn.up.weight"], weights["block0.ffn.up.bias"][1]
        down = weights["block0.ffn.down.weight"][1]
        self.assertEqual((shape, d_model, bits), ([32, 8], 8, 2))
        inputs = [(a, b) for a in (-1, 1) for b in (-1, 1)]
        x = [[into[d * 2] * a + into[d * 2 + 1] * b + into_bias[d] for d in range(8)] for a, b in inputs]
        h = [[max(0, sum(x[n][d] * up[i * 8 + d] for d in range(8)) + up_bias[i]) for i in range(32)] for n in range(4)]
        self.assertEqual(found["tokens"], 4)
        zeros = sum(v == 0 for row in h for v in row)
        self.assertAlmostEqual(found["zeros"], zeros / 128, places=12)
        for i, neuron in enumerate(found["each"]):
            column = [row[i] for row in h]
            self.assertAlmostEqual(neuron["fires"], sum(v > 0 for v in column) / 4)
            self.assertAlmostEqual(neuron["mean_size"], sum(column) / 4, places=5)
            key, value = up[i * 8:i * 8 + 8], [down[d * 32 + i] for d in range(8)]
            norm = [sum(v * v for v in vector) ** 0.5 for vector in (key, value)]
            self.assertAlmostEqual(neuron["key_norm"], norm[0], places=5)
            self.assertAlmostEqual(neuron["value_norm"], norm[1], places=5)
            self.assertAlmostEqual(neuron["cosine"], sum(a * b for a, b in zip(key, value)) / norm[0] / norm[1], places=5)
            best = max(range(4), key=lambda n: column[n])
            self.assertAlmostEqual(neuron["examples"]["top"][0]["activation"], column[best], places=5)
        self.assertEqual(sum(found["rates"]), 32)
        self.assertLessEqual(1, found["effective_rank"])
        self.assertLessEqual(found["effective_rank"], 4.0001)

    def test_a_text_is_shown_all_of_what_it_was_trained_on_with_prefixes(self):
        run = self.trained(TEXT)
        out = self.inspected(run)
        self.assertEqual(out["tokens"], 1584)  # nine tenths of 1,760 characters
        neurons = out["blocks"][0]["hidden"][0]["each"]
        self.assertEqual(len(neurons), 32)
        text = (self.tmp / "t.txt").read_text()
        for neuron in neurons:
            for example in neuron["examples"]["top"]:
                self.assertIn(example["text"], text)
                self.assertEqual(len(example["text"]), len(example["along"]))
                self.assertAlmostEqual(example["along"][-1], example["activation"], places=6)
        for head in out["blocks"][0]["attention"]:
            rows = [sum(head["mean_map"][i * 8:i * 8 + 8]) for i in range(8)]
            for row in rows:
                self.assertAlmostEqual(row, 1, places=5)

    def test_a_text_of_ones_own(self):
        run = self.trained(TEXT)
        self.write("mine.txt", "the plain rain")
        self.assertEqual(self.inspected(run, "--data", "mine.txt")["tokens"], 8)
        self.write("other.txt", "Quite other")
        self.assertIn("does not occur", self.fails(2, "inspect", run, "--data", "other.txt"))
        (self.tmp / "t.txt").unlink()
        self.assertIn("--data FILE", self.fails(3, "inspect", run))


class Text(InspectTest):
    def check_width(self, *arguments):
        for width in (60, 80, 200):
            result = self.run_program(*arguments, env={**os.environ, "COLUMNS": str(width)})
            self.assertEqual(result.returncode, 0, result.stderr)
            for line in result.stdout.splitlines():
                if len(line) > width:
                    self.assertEqual(len(line.split()), 1, f"{arguments}: {len(line)} columns: {line}")
        return result.stdout

    def test_everything_fits_the_terminal(self):
        for config, *overrides in ((XOR,), (TEXT,), ({**TEXT, "name": "moe"}, "model.ffn.kind=moe"), ({**XOR, "name": "g"}, "model.ffn.kind=gated")):
            run = self.trained(config, *overrides)
            self.assertIn("Hidden layers", self.check_width("inspect", run))
            self.check_width("inspect", run, "--neuron", "0.0.0" if "moe" in run else "0.0")
            self.check_width("inspect", run, "--trace", "the" if "t" in config["name"] or "moe" in run else "00 11")

    def test_one_neuron_with_what_it_fires_on(self):
        run = self.trained(TEXT)
        text = self.ok("inspect", run, "--neuron", "0.3").stdout
        self.assertIn("Neuron 0.3: fires on", text)
        self.assertIn("Strongest", text)
        self.assertIn("Drawn at random", text)
        self.assertIn("named block.neuron", self.fails(2, "inspect", run, "--neuron", "0.99"))

    def test_layers_that_show_no_hidden_layer_say_so(self):
        run = self.trained({**XOR, "name": "open"}, "model.ffn.kind=formula", "model.ffn.name=rwkv_channel_mix")
        self.assertIn("no hidden layer", " ".join(self.ok("inspect", run).stdout.split()))
        steps = self.inspected(run, "--trace", "10")["blocks"][0]["steps"]
        self.assertEqual([s["name"] for s in steps], ["x", "y"])
        run = self.trained({**XOR, "name": "formula"}, "model.ffn.kind=formula", "model.ffn.name=swiglu")
        self.assertIn("Neuron 0.3: fires on", self.ok("inspect", run, "--neuron", "0.3").stdout)
        steps = self.inspected(run, "--trace", "10")["blocks"][0]["steps"]
        self.assertEqual([s["name"] for s in steps], ["x", "x @ gate", "silu(x @ gate)", "(x @ up)", "(silu(x @ gate) * (x @ up))", "y"])
        self.assertNotIn("gelu", self.ok("inspect", run).stdout)  # swiglu has its own activation
        run = self.trained({**XOR, "name": "swish"}, "model.ffn.activation=z * sigmoid(beta * z)", "model.ffn.activation_parameters.beta=1")
        self.assertRegex(self.ok("inspect", run).stdout, r"^1 block: formula \d+ → \d+ → \d+, z \* sigmoid\(beta \* z\)\n")
        run = self.trained({**XOR, "name": "none"}, "model.ffn.kind=none")
        self.assertIn("no feed-forward layer", self.ok("inspect", run).stdout)

    def test_a_dead_layer_says_so(self):
        run = self.trained(XOR, "train.optimizer.lr=1", "train.steps=1000")
        text = self.ok("inspect", run).stdout
        self.assertIn("are dead", text)
        self.assertNotIn("Input × neuron", text)
        self.assertEqual(self.inspected(run)["blocks"][0]["hidden"][0]["dead"], 32)

    def test_of_a_directory_that_has_one_run_it_is_taken_and_of_several_the_first_is_named(self):
        run = self.trained(XOR)
        whole = self.ok("inspect", run).stdout
        for above in ("runs/xor", "runs"):
            self.assertEqual(self.ok("inspect", above).stdout, whole)
        for no_result in ("seed-0.01234567.tmp-4711", "seed-0.01234567.old-1"):  # a copy that was killed, and what was moved aside
            shutil.copytree(self.tmp / run, self.tmp / "runs/xor" / no_result)
            self.assertEqual(self.ok("inspect", "runs/xor").stdout, whole)
        self.trained({**XOR, "name": "another"})
        self.ok(self.write("study.json", {**XOR, "name": "study", "seeds": 2}), "-q")
        for above, first in (("runs", "runs/another/seed-0."), ("runs/study", "runs/study/base/seed-0.")):
            for command in ("inspect", "sample"):
                error = self.fails(2, command, above)
                self.assertIn(f"several runs in {above}", error)
                self.assertIn(f"for example {first}", error)

    def test_what_is_no_trained_run_is_refused(self):
        self.assertIn("no run at nowhere", self.fails(2, "inspect", "nowhere"))
        run = self.trained(XOR)
        data = bytearray((self.tmp / run / "model.safetensors").read_bytes())
        data[-3] ^= 1
        (self.tmp / run / "model.safetensors").write_bytes(data)
        self.assertIn("checksum", self.fails(3, "inspect", run))

    def test_config_and_weights_are_those_that_were_trained(self):
        run = self.trained(XOR)
        other = self.trained({**XOR, "name": "other", "model": {**XOR["model"], "d_model": 9}})
        config, weights = self.tmp / run / "run.json", self.tmp / run / "model.safetensors"
        kept = config.read_text(), weights.read_bytes()
        config.write_text(kept[0].replace('"relu"', '"silu"'))
        self.assertNotEqual(config.read_text(), kept[0])
        self.assertIn("its checksum differs", self.fails(3, "inspect", run))
        config.write_text(kept[0])
        weights.write_bytes((self.tmp / other / "model.safetensors").read_bytes())
        self.assertIn("model.safetensors: ", self.fails(3, "inspect", run))
        weights.write_bytes(kept[1])
        self.ok("inspect", run)

    def test_a_run_that_diverged_says_so_and_makes_no_numbers_up(self):
        self.run_program("xor", "name=div", "model.ffn.activation=relu2", "train.optimizer.lr=1e30", "-q")
        run = "runs/div/seed-0"
        text = self.check_width("inspect", run)
        row = next(line for line in text.splitlines() if line.startswith("0 "))
        self.assertEqual(row.split(), ["0", "32"] + ["-"] * 7)
        for arguments in ((), ("--neuron", "0.3"), ("--trace", "10")):
            shown = self.check_width("inspect", run, *arguments)
            self.assertIn("note: the run diverged", shown)
            self.assertNotRegex(shown, r"\b(inf|nan)\b|[0-9]{12}")
            self.assertIn("diverged", self.inspected(run, *arguments)["notes"][0])
        hidden = self.inspected(run)["blocks"][0]["hidden"][0]
        self.assertEqual({hidden[key] for key in ("rms", "zeros", "near_zeros", "fires", "dead", "always_on", "rates", "effective_rank", "rank_tokens")}, {None})
        for neuron in hidden["each"]:
            self.assertEqual({neuron[key] for key in ("fires", "mean_size", "peak", "dead", "always_on", "writes", "examples")}, {None})
            self.assertGreater(neuron["key_norm"], 0)  # weights are what they are
        for arguments in ((), ("--trace", "10")):
            self.ok("inspect", run, "-o", "page.html", *arguments)
            page = Page((self.tmp / "page.html").read_text(encoding="utf-8"))
            self.assertIn("diverged at step 1", page.text(next(page.all("p", **{"class": "note"}))))
            for cell in page.all("td"):
                self.assertNotRegex(page.text(cell), r"\b(inf|nan|never)\b")

    def test_neurons_that_write_most_stand_in_the_order_of_what_they_write(self):
        run = self.trained({**TEXT, "name": "moe"}, "model.ffn.kind=moe")
        text = self.ok("inspect", run).stdout
        rows = text[text.index("that write most"):].splitlines()[2:10]
        writes = [float(re.match(r"\S+ +(?:< )?[\d.]+(?: %)? +(\S+)", row)[1]) for row in rows]
        self.assertEqual(writes, sorted(writes, reverse=True))
        self.assertIn("on those of other", " ".join(text.split()))
        block = self.inspected(run)["blocks"][0]
        each = {n["name"]: (n, part["tokens"]) for part in block["hidden"] for n in part["each"]}
        for neuron, tokens in each.values():
            self.assertAlmostEqual(neuron["writes"], neuron["mean_size"] * neuron["value_norm"] * tokens / 1584, places=6)
        most = sorted(each, key=lambda name: -each[name][0]["writes"])[:8]
        self.assertEqual([row.split()[0] for row in rows], most)

    def test_where_there_are_no_neurons_none_can_be_named(self):
        for kind, why in ((["model.ffn.kind=none"], "the model has no feed-forward layer"), (["model.ffn.kind=formula", "model.ffn.name=rwkv_channel_mix"], "does not end in a product")):
            error = self.fails(2, "inspect", self.trained({**XOR, "name": "bare"}, *kind), "--neuron", "0.0")
            self.assertIn("there are none", error)
            self.assertIn(why, error)
            self.assertNotIn("from 0.0 on", error)

    def test_a_trace_of_what_has_no_layer_or_is_a_sequence(self):
        run = self.trained({**XOR, "name": "none"}, "model.ffn.kind=none")
        text = self.ok("inspect", run, "--trace", "10").stdout
        self.assertIn("without a feed-forward", text)
        self.assertNotIn("Row by row", text)
        self.ok("sequence-xor", "train.steps=2", "train.eval_every=2", "-q")
        self.assertIn("for example 0110", self.fails(2, "inspect", "runs/sequence-xor/seed-0", "--trace", " "))
        self.ok("inspect", "runs/sequence-xor/seed-0", "--trace", "0110")

    def test_the_rank_stands_beside_the_number_of_tokens_that_it_is_of(self):
        run = self.trained(XOR)
        self.assertIn("singular values on 4", " ".join(self.ok("inspect", run).stdout.split()))
        self.ok("inspect", run, "-o", "page.html")
        page = Page((self.tmp / "page.html").read_text(encoding="utf-8"))
        table = next(page.all("table", next(page.all("section", id="layers"))))
        headers = [page.text(e) for e in page.all("th", table)]
        cells = [page.text(e) for e in page.all("td", table)]
        self.assertEqual(dict(zip(headers, cells))["of tokens"], "4")
        self.assertEqual(headers.index("of tokens"), headers.index("effective rank") + 1)

    def test_experts_that_got_few_tokens_are_named(self):
        run = self.trained({**XOR, "name": "mix"}, "model.ffn.kind=moe", "model.ffn.top_k=1")
        notes = self.inspected(run)["notes"]
        parts = self.inspected(run)["blocks"][0]["hidden"]
        few = [f"0.{e} ({part['tokens']} token{'s' * (part['tokens'] != 1)})" for e, part in enumerate(parts) if 0 < part["tokens"] < part["neurons"]]
        self.assertGreater(len(few), 0)
        note = next(note for note in notes if "effective rank" in note)
        for name in few[:4]:
            self.assertIn(name, note)
        self.assertNotIn("1 tokens", note)


class Pages(InspectTest):
    def page(self, run, *arguments):
        self.ok("inspect", run, "-o", "page.html", *arguments)
        text = (self.tmp / "page.html").read_text(encoding="utf-8")
        self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""), r"https?://|src=|@import|url\((?!#)")
        page = Page(text)
        ids = [e[1]["id"] for e in page.all() if "id" in e[1]]
        self.assertEqual(len(ids), len(set(ids)))
        return page, [e[1]["id"] for e in page.all("section")]

    def data(self, page):
        return json.loads(next(page.all("script", id="data"))[2][0])

    def test_the_page_of_a_text_shades_its_prefixes(self):
        page, parts = self.page(self.trained(TEXT))
        self.assertEqual(parts, ["layers", "examples", "neurons"])
        found = sorted(self.inspected("runs/text/seed-0")["blocks"][0]["hidden"][0]["each"], key=lambda n: -n["writes"])
        shown = sum(len(examples) for n in found[:12] for examples in self.inspected("runs/text/seed-0", "--neuron", n["name"])["examples"].values())
        shaded = [e for e in page.all("b") if re.fullmatch(r"[pn]\d+", e[1].get("class", ""))]
        self.assertGreater(len(shaded), 100)
        self.assertEqual(len(list(page.all("td", **{"class": "on"}))), shown)

    def test_numbers_of_a_page_stand_at_the_right_of_their_columns(self):
        page, _ = self.page(self.trained({**TEXT, "name": "plain"}))
        table = next(page.all("table", next(page.all("section", id="layers"))))
        heads = [head[1].get("class") for head in page.all("th", table)]
        self.assertEqual((heads[0], set(heads[1:])), (None, {"n"}))
        for cell in list(page.all("td", table))[1:]:
            self.assertTrue("data-v" in cell[1] or cell[1].get("class") == "n", cell)

    def test_the_page_of_a_mixture_has_its_experts(self):
        _, parts = self.page(self.trained({**TEXT, "name": "moe"}, "model.ffn.kind=moe"))
        self.assertEqual(parts, ["experts", "layers", "examples", "neurons"])

    def test_the_page_of_the_shipped_mixture_is_small_and_says_what_it_leaves_out(self):
        self.ok("moe", "train.steps=20", "train.eval_every=20", "-q")
        page, _ = self.page("runs/moe/seed-0")
        self.assertLess((self.tmp / "page.html").stat().st_size, 900_000)
        report = self.inspected("runs/moe/seed-0")
        all_neurons = [n for block in report["blocks"] for part in block["hidden"] for n in part["each"]]
        section = next(page.all("section", id="neurons"))
        self.assertIn(f"These are the 512 of {len(all_neurons):,} neurons that write most; ffn-train inspect --json has all.", page.text(section))
        shown = {page.text(next(page.all("td", row))) for row in page.all("tr", next(page.all("tbody", section)))}
        self.assertEqual(len(shown), 512)
        self.assertEqual(shown, {n["name"] for n in sorted(all_neurons, key=lambda n: -n["writes"])[:512]})
        for drawn, whole in zip(self.data(page)["blocks"], report["blocks"]):
            self.assertEqual(len(drawn["hidden"]), len(whole["hidden"]))
            for part in drawn["hidden"]:
                self.assertTrue("each" not in part and len(part["patterns"]["inputs"]) <= 24 and len(part["patterns"]["mean"]) == len(part["patterns"]["inputs"]) * 64)

    def test_the_page_of_a_trace_has_a_panel_per_step(self):
        page, parts = self.page(self.trained(XOR), "--trace", "00 01 10 11")
        self.assertEqual(parts, ["outcome"])
        outcome = r"class [01]: \d+ %, class [01]: \d+ %"
        self.assertEqual(len(re.findall(outcome, page.text(next(page.all("section", id="outcome"))))), 4)
        self.assertEqual(len(re.findall(outcome, self.ok("inspect", self.trained(XOR), "--trace", "00 01 10 11").stdout)), 4)
        self.assertEqual(len(self.data(page)["blocks"][0]["steps"]), 4)

    def test_the_page_of_a_text_s_trace_has_its_attention(self):
        run = self.trained(TEXT)
        page, _ = self.page(run, "--trace", "rain")
        self.assertEqual(len(self.data(page)["blocks"][0]["attention"]), 2)
        for head in self.inspected(run, "--trace", "rain")["blocks"][0]["attention"]:
            for row in range(4):
                weights = head["values"][4 * row:4 * row + 4]
                self.assertAlmostEqual(sum(weights), 1, places=5)
                self.assertEqual(weights[row + 1:], [0] * (3 - row))

    def test_characters_of_a_text_stay_text(self):
        self.write("t.txt", "<script>alert('&')</script>\x07\u202e\n" * 60)
        self.ok(self.write("config.json", TEXT), "-q")
        page, _ = self.page("runs/text/seed-0")
        self.assertEqual(len(list(page.all("script"))), 2)
        self.assertNotIn("\u202e", (self.tmp / "page.html").read_text())
        self.assertNotIn("\x07", self.ok("inspect", "runs/text/seed-0").stdout)


class Speed(InspectTest):
    def test_the_shipped_text_model_is_inspected_within_two_seconds(self):
        self.ok("text", "train.steps=1", "train.eval_every=1", "-q")
        def spent():
            times = os.times()
            return times.children_user + times.children_system
        before = spent()  # of the processor: others may be at work
        self.ok("inspect", "runs/text/seed-0")
        self.assertLess(spent() - before, 2)


@unittest.skipUnless(browser.PROGRAM, "no Chromium is installed (Debian: apt-get install chromium)")
class InABrowser(InspectTest):
    def pages(self):
        for name, run, *arguments in (("text", self.trained(TEXT)), ("moe", self.trained({**TEXT, "name": "moe"}, "model.ffn.kind=moe")), ("trace", self.trained(XOR), "--trace", "00 01 10 11")):
            self.ok("inspect", run, "-o", f"{name}.html", *arguments)
            yield self.tmp / f"{name}.html"

    def test_it_asks_for_nothing_says_nothing_and_fits_at_every_width_light_and_dark(self):
        with browser.Browser() as chromium:
            for path in self.pages():
                for width, dark in ((400, False), (400, True), (1600, False), (1600, True)):
                    with self.subTest(path.name, width=width, dark=dark):
                        requests, said = chromium.open(path, width=width, dark=dark)
                        self.assertEqual([r for r in requests if not r.startswith("data:")], [path.resolve().as_uri()])
                        self.assertEqual(said, [])
                        self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), width)
                        rows = chromium.evaluate("[...document.querySelectorAll('.numbers tbody tr')].map(r => r.getBoundingClientRect().height)")
                        self.assertLess(max(rows, default=0), 80)  # no cell is a tower of single words
                        small = chromium.evaluate("Math.min(16, ...[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height > 0).map("
                                                  "t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width))")
                        self.assertGreaterEqual(small, 11)

    def test_every_chart_is_there_named_and_with_the_numbers_of_json(self):
        expected = {"text": ["rates", "patterns", "attention"], "moe": ["loads", "positions", "together", "rates", "patterns", "attention"], "trace": ["steps-0"]}
        with browser.Browser() as chromium:
            for path in self.pages():
                chromium.open(path)
                self.assertEqual(chromium.evaluate("[...document.querySelectorAll('figure')].map(f => f.id)"), expected[path.stem])
                self.assertTrue(chromium.evaluate("[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label'))"))
            step = self.inspected(self.trained(XOR), "--trace", "00 01 10 11")["blocks"][0]["steps"][0]
            tips = chromium.evaluate("[...document.querySelector('svg[role=img]').querySelectorAll('[data-tip]')].map(m => [m.dataset.tip, m.getAttribute('class')])")
            self.assertEqual(len(tips), len(step["values"]))
            for (tip, shade), value in zip(tips, step["values"]):
                self.assertAlmostEqual(float(tip.split(": ")[1].replace("−", "-")), value, delta=0.006 * abs(value))
                self.assertEqual(shade, ("n" if value < 0 else "p") + str(int(20 * abs(value) / max(map(abs, step["values"])) + 0.5)))

    def test_the_table_of_neurons_sorts(self):
        path = next(self.pages())
        with browser.Browser() as chromium:
            chromium.open(path)
            column = "[...document.querySelectorAll('#neurons tbody tr')].map(r => Number(r.children[7].dataset.v))"
            before = chromium.evaluate(column)
            chromium.evaluate("document.querySelectorAll('#neurons th button')[7].click()")
            self.assertEqual(chromium.evaluate(column), sorted(before, reverse=True))
            chromium.evaluate("document.querySelectorAll('#neurons th button')[7].click()")
            self.assertEqual(chromium.evaluate(column), sorted(before))


if __name__ == "__main__":
    main()
