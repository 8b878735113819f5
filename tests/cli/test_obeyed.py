#!/usr/bin/env python3
"""What is typed is obeyed or refused with the remedy, and the first minutes with the program."""
import json
import re
import shlex
import signal
import subprocess
import time

from program import PROGRAM, ROOT, ProgramTest, main, run_at

XOR = {"name": "xor", "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"activation": "relu"}},
       "train": {"steps": 20, "eval_every": 10, "target": {"metric": "val/accuracy", "at_least": 0.99}}}
TEXT = {"name": "t", "task": {"kind": "text", "file": "t.txt", "context": 8}, "model": {"d_model": 8}, "train": {"steps": 4, "eval_every": 2, "batch_size": 4}}


class Keys(ProgramTest):
    def test_params_obeys_what_is_typed_or_refuses_it(self):
        for words, says, remedy in ((("--d-model", 512, "--d-ff", 2048, "model.ffn.kind=gated"), "model.ffn.kind=gated would have no effect", "--gated"),
                                    (("--d-model", 8, "nonsense=3"), "nonsense=3 would have no effect", "--gated"),
                                    (("xor", "--d-ff", 99), "would not change xor", "model.ffn.d_ff"), (("xor", "--gated"), "would not change xor", "model.ffn.kind=gated"),
                                    (("--d-model", 8, "--top-k", 1), "--experts is not given", "--experts 8 --top-k 2"), (("--gated",), "params needs a config or --d-model", "--d-model")):
            with self.subTest(words=words):
                error = self.fails(2, "params", *words)
                self.assertIn(says, error)
                self.assertIn(remedy, error)
        plain, gated = (json.loads(self.ok("params", "--d-model", 8, *more, "--json").stdout)["ffn"]["parameters"] for more in ((), ("--gated",)))
        self.assertGreater(gated, plain)

    def test_formulas_and_files_whose_names_become_equal_are_two_variants(self):
        study = ("xor", "name=two", "seeds=2", "train.steps=5", "model.ffn.kind=formula", "model.ffn.parameters={\"a\":[\"D\",\"F\"],\"b\":[\"D\",\"F\"],\"c\":[\"F\",\"D\"]}",
                 "model.ffn.formula=(relu(x @ a) * (x @ b)) @ c,(relu(x @ a) + (x @ b)) @ c", "-q")
        self.ok(*study)
        variants = {path.parent.parent.name for path in (self.tmp / "runs/two").glob("*/*/run.json")}
        self.assertEqual(len(variants), 2, variants)
        rows = json.loads(self.ok("compare", "runs/two", "--json").stdout)["facets"][0]["groups"]
        self.assertEqual(len({row["value"] for row in rows}), 2)
        self.assertIn("0 trained now, 4 found", self.ok(*study[:-1]).stderr)
        for name in ("foo/bar.txt", "foo_bar.txt"):
            self.write(name, f"a text, {name}\n" * 40)
        self.write("t.json", TEXT)
        self.ok("t.json", "task.file=foo/bar.txt,foo_bar.txt", "seeds=2", "-q")
        self.assertEqual(len(list((self.tmp / "runs/t").glob("*/seed-0.*/run.json"))), 2)

    def test_a_number_may_be_a_name_and_a_reference(self):
        self.ok("xor", "name=20240101", "model.ffn.expansion=1,2", "compare.reference=2", "seeds=2", "train.steps=5", "-q")
        self.assertEqual(json.loads(self.ok("compare", "runs/20240101", "--json").stdout)["reference"], "2")

    def test_what_a_study_sets_itself_is_refused(self):
        self.assertIn("write seeds=[7]", self.fails(2, "activations", "seed=7"))
        self.assertIn("the study tunes", self.fails(2, "activations-tuned", "train.optimizer.lr=0.1"))

    def test_a_list_names_what_it_does_not_take(self):
        self.assertIn("would have no effect", self.fails(2, "list", "activations", "relu"))

    def test_a_list_without_quotes_is_told_how_values_are_compared(self):
        self.assertIn("model.ffn.activation=relu,gelu", self.fails(2, "xor", "model.ffn.activation=[relu,gelu]"))

    def test_dropout_that_a_formula_does_not_have_names_the_remedy(self):
        self.assertIn("set model.ffn.dropout=0", self.fails(2, "text", "model.ffn.kind=formula", "model.ffn.name=swiglu"))


class Words(ProgramTest):
    def refused(self, *words, says=(), code=2):
        error = self.fails(code, *words)
        for part in says:
            self.assertIn(part, error)
        return error

    def test_help_helps(self):
        self.assertEqual(self.ok("help").stdout, self.ok("--help").stdout)
        self.assertEqual(self.ok("help", "plan").stdout, self.ok("plan", "--help").stdout)

    def test_commands_that_are_none_name_what_does_it(self):
        self.refused("delete", "runs/xor", says=["no command 'delete'", "ffn-train rm DIR", "ffn-train clean"])
        self.refused("resume", "runs/xor", says=["no command 'resume'", "type it again"])

    def test_yaml_is_told_how_to_become_json(self):
        self.write("my.yaml", "name: xor\ntask:\n  kind: xor\n")
        error = self.refused("my.yaml", says=["configs are JSON", "yaml.safe_load"])
        self.assertIn("< my.yaml > my.json", error)


class Signals(ProgramTest):
    def test_a_signal_ends_a_long_evaluation_and_the_run_goes_on_to_the_same_bits(self):
        config = {"task": {"kind": "sequence_xor", "length": 64}, "model": {"d_model": 64, "attention": {"heads": 4}, "residual": True},
                  "train": {"steps": 4, "eval_every": 2, "eval_examples": 6000, "batch_size": 4}}
        path = self.write("long.json", config)
        began = time.monotonic()
        self.ok(path, "name=whole", "-q")
        one = (time.monotonic() - began) / 3
        self.assertGreater(one, 0.1, "the evaluation is too short to be interrupted")
        for name, evaluation in (("first", 0.3), ("second", 1.2), ("last", 2.0)):
            for share in (1, 0.7, 0.5, 0.3):  # of a time that was measured when the machine was busier
                process = subprocess.Popen(self.command(path, "name=" + name, "--fresh"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                time.sleep(share * evaluation * one)
                process.send_signal(signal.SIGINT)
                began = time.monotonic()
                _, said = process.communicate(timeout=60)
                if process.returncode != 0:
                    break
            self.assertEqual(process.returncode, 75, said)
            self.assertLess(time.monotonic() - began, max(2.0, 0.6 * one))
            self.ok(path, "name=" + name, "-q")
            whole, resumed = (run_at(self.tmp / "runs" / n / "seed-0") for n in ("whole", name))
            rows = [[{k: v for k, v in json.loads(line).items() if k != "time_s"} for line in (d / "metrics.jsonl").read_text().splitlines()] for d in (whole, resumed)]
            self.assertEqual(*rows)
            tensors = [(d / "model.safetensors").read_bytes() for d in (whole, resumed)]
            self.assertEqual(*[bytes_of[8 + int.from_bytes(bytes_of[:8], "little"):] for bytes_of in tensors])

    def test_progress_shows_a_long_evaluation(self):
        config = {"name": "long", "task": {"kind": "sequence_xor", "length": 64}, "model": {"d_model": 64, "attention": {"heads": 4}, "residual": True},
                  "train": {"steps": 1, "eval_examples": 400000, "batch_size": 4}}
        process = subprocess.Popen(self.command(self.write("long.json", config)), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                if re.search(r"step 0 of 1, evaluating \d+ %", line):
                    break
            else:
                self.fail("no line about the evaluation")
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


class Printed(ProgramTest):
    def commands_of(self, text):
        """Commands that the program says to type."""
        return [shlex.split(line.strip().replace("\\\n", " ")) for line in re.findall(r"(?:next[^\n]*?:|pictures:|numbers:|curves:)\s+((?:\S*ffn-train)[^\n]*)", text)]

    def test_every_printed_command_works(self):
        names = ("a" * 121, "a" * 128, "plain")
        for name in names:
            with self.subTest(name=name):
                result = self.ok("xor", "name=" + name, "train.optimizer.lr=0.01,0.0101", "train.steps=5", "seeds=6", "compare.metric=val/loss", "-o", "a b/it's")
                commands = self.commands_of(result.stderr)
                self.assertGreaterEqual(len(commands), 1, result.stderr)
                for words in commands:
                    dry = ["--dry-run"] if "settled" in " ".join(words) else []
                    again = subprocess.run([str(PROGRAM), *words[1:], *dry], cwd=self.tmp, capture_output=True, text=True, timeout=60)
                    self.assertEqual(again.returncode, 0, again.stderr + " ".join(words))

    def test_a_directory_may_begin_with_a_dash(self):
        result = self.ok("xor", "name=dash", "train.optimizer.lr=0.01,0.0101", "train.steps=5", "seeds=6", "--out=-out")
        for words in self.commands_of(result.stderr):
            if words[1] in ("report", "compare"):
                self.ok(*words[1:])


class FirstMinutes(ProgramTest):
    def test_plan_prints_its_table_before_it_probes_and_says_what_evaluation_costs(self):
        config = {"name": "slow", "task": {"kind": "sequence_xor", "length": 64}, "model": {"d_model": 64, "attention": {"heads": 4}, "residual": True},
                  "train": {"steps": 20, "eval_every": 5, "eval_examples": 20000, "batch_size": 4}}
        began = time.monotonic()
        process = subprocess.Popen(self.command("plan", self.write("slow.json", config)), cwd=self.tmp, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        table = time.monotonic() - began
        rest, errors = process.communicate(timeout=120)
        whole = time.monotonic() - began
        self.assertIn("variant", first)
        self.assertLess(table, 0.5 * whole, "the table waits for the probe")
        said = re.search(r"about (.*), ([\d.]+) % of it for evaluations", " ".join(rest.split()))
        self.assertTrue(said, rest + errors)
        self.assertGreater(float(said[2]), 80)

    def test_a_probe_takes_no_longer_than_the_study(self):
        began = time.monotonic()
        self.ok("activations", "-q", "seeds=4", "expect=[]")
        trained = time.monotonic() - began
        began = time.monotonic()
        self.ok("plan", "activations", "seeds=4", "-o", "elsewhere")
        self.assertLess(time.monotonic() - began, 1.3 * trained + 1)

    def test_the_shipped_xor_looks_at_every_step_and_its_experiments_as_often_as_they_did(self):
        def every(name):
            return json.loads(self.ok(name, "--dry-run").stdout)["train"]["eval_every"]
        self.assertEqual(every("xor"), 1)
        declared = {path.stem: json.loads(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)) for path in (ROOT / "experiments").glob("*.json")}
        of_xor = {name for name, config in declared.items() if config.get("extends", "").endswith("/xor.json")}
        self.assertEqual(len(of_xor), 5)
        for name in of_xor:
            self.assertIn("eval_every", declared[name]["train"], name)
        self.assertEqual(every("dead-units"), 10)

    def test_the_markdown_files_show_outputs_links_and_commands_of_today(self):
        result = subprocess.run([ROOT / "scripts/check/readme", "--program", PROGRAM], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    main()
