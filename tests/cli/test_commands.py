#!/usr/bin/env python3
"""The command line as a person or a script meets it: output, errors, exit codes, files."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from program import ROOT, ProgramTest, main, record, run_at

XOR = {"name": "xor", "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"activation": "relu"}},
       "train": {"steps": 30, "eval_every": 10, "target": {"metric": "val/accuracy", "at_least": 0.99}, "optimizer": {"lr": 0.01}}}
CONFIGS = sorted(p for p in (ROOT / "configs").glob("*.json") if p.name != "schema.json")
EXPERIMENTS = sorted((ROOT / "experiments").glob("*.json"))


class Starting(ProgramTest):
    def test_help_answers_within_50_ms(self):
        self.assertLess(self.median_seconds("--help"), 0.05)

    def test_a_wrong_config_is_refused_within_100_ms(self):
        path = self.write("wrong.json", {"tsak": 1})
        self.assertLess(self.median_seconds("--config", path), 0.1)

    def test_every_file_of_a_command_is_a_command_in_the_help(self):
        text = re.split("subcommands:", self.ok("--help").stdout, flags=re.I)[1].partition("Examples:")[0]  # CLI11 2.5 shouts
        listed = {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "}
        files = {path.stem.replace("_", "-") for path in (ROOT / "app/commands").glob("*.cpp")} - {"train"}  # the program without a subcommand
        self.assertGreaterEqual(len(files), 9)
        self.assertEqual(listed, files, "app/commands/ and add_commands() in app/commands.cpp")

    def test_an_unknown_option_ends_with_2(self):
        self.fails(2, "--nonsense")


class Catalogues(ProgramTest):
    def test_the_layer_of_a_course_has_the_right_counts(self):
        out = json.loads(self.ok("params", "--d-model", 512, "--d-ff", 2048, "--json").stdout)
        self.assertEqual(out["attention"]["parameters"], 1048576)
        self.assertEqual(out["ffn"]["parameters"], 2099712)
        text = self.ok("params", "--d-model", 512, "--d-ff", 2048).stdout
        for piece in ("1,048,576", "2,099,712", "33.3 %", "66.7 %"):
            self.assertIn(piece, text)
        out = json.loads(self.ok("params", "--d-model", 8, "--d-ff", 32, "--json").stdout)
        self.assertEqual((out["attention"]["parameters"], out["ffn"]["parameters"]), (256, 552))
        out = json.loads(self.ok("params", "--d-model", 12288, "--no-bias", "--json").stdout)
        self.assertEqual((out["attention"]["parameters"], out["ffn"]["parameters"]), (603979776, 1207959552))

    def test_every_list_prints_something(self):
        for what in ("activations", "ffns", "tasks", "metrics", "keys"):
            self.assertGreater(len(json.loads(self.ok("list", what, "--json").stdout)), 2, what)
        self.assertIn("top_k", self.ok("list", "keys", "model.ffn").stdout)

    def test_all_activations_are_drawn(self):
        names = [row["activation"] for row in json.loads(self.ok("list", "activations", "--json").stdout) if "parameter" not in row]
        environment = {**{k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE")}, "LANG": "C.UTF-8"}
        text = self.ok("list", "activations", "--plot", env=environment).stdout
        titles = " ".join(line for line in text.splitlines() if not re.search("[│┤└\u2801-\u28ff]", line))
        self.assertEqual([name for name in names if f"{name}  " not in titles], [])
        self.assertEqual(text.count("└"), len(names))
        self.assertRegex(text, r"(?m)^ +−2 +0 +2")  # a minus sign, not a hyphen
        self.assertTrue(self.ok("list", "activations", "--plot", env={**os.environ, "LC_ALL": "C"}).stdout.isascii())
        self.assertIn("there are no pictures of tasks", self.fails(2, "list", "tasks", "--plot"))

    def test_the_schema_is_current(self):
        self.assertTrue(self.ok("schema").stdout == (ROOT / "configs/schema.json").read_text(), "configs/schema.json is out of date: run scripts/regenerate")


    def test_no_default_has_changed(self):
        done = subprocess.run([ROOT / "scripts/generate/defaults", "--check", self.command()[0]], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Widths(ProgramTest):
    """Nothing for people is wider than the terminal but a single word, such as a path or a key."""

    def check_width(self, *arguments, width=80, code=0):
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": str(width)} if width != 80 else {})
        result = self.run_program(*arguments, env=environment)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertTrue(result.stdout)
        for line in map(str.rstrip, result.stdout.splitlines()):
            if len(line) > width:
                self.assertEqual(len(line.split()), 1, f"{arguments}: {len(line)} columns: {line}")
        return result.stdout

    def test_help(self):
        commands = sorted(path.stem.replace("_", "-") for path in (ROOT / "app/commands").glob("*.cpp") if path.stem != "train")
        self.assertGreater(len(commands), 10)
        for command in [[], *([name] for name in commands)]:
            for width in (60, 80, 132):
                self.check_width(*command, "--help", width=width)

    def test_lists(self):
        lists = ("activations", "ffns", "tasks", "metrics", "keys", "configs", "experiments")
        for what in lists:
            rows = json.loads(self.ok("list", what, "--json").stdout)
            for width in (60, 80, 200):
                text = self.check_width("list", what, width=width)
                squeezed = re.sub(r"\s", "", text)
                for row in rows:
                    for cell in row.values():
                        if isinstance(cell, str) and what in ("keys", "configs", "experiments"):
                            self.assertIn(re.sub(r"\s", "", cell.split(" ")[0]), squeezed)
        keys = self.check_width("list", "keys")
        for row in json.loads(self.ok("list", "keys", "--json").stdout):
            self.assertRegex(keys, rf"(?m)^{re.escape(row['key'])}$")

    def test_params_and_plans(self):
        self.check_width("params", "--d-model", 4096, "--d-ff", 16384)
        study = {**XOR, "seeds": {"until": "settled"}, "sweep": {"grid": {"model.ffn.match": ["none", "params"], "model.ffn.expansion": [4, 8], "model.ffn.activation": ["quick_gelu"]}},
                 "tune": {"train.optimizer.lr": [0.01, 0.1], "metric": "val/loss"}}
        path = self.write("study.json", study)
        names = [v["name"] for v in json.loads(self.ok("plan", path, "--no-probe", "--json").stdout)["variants"]]
        self.assertEqual(len(names), 4)
        squeezed = re.sub(r"\s", "", self.check_width("plan", path, "--no-probe"))
        self.check_width("plan", path)
        self.assertIn("FLOPs/token", squeezed)
        self.check_width("plan", path, "seeds=3")
        for name in ("swiglu", "maxout"):
            for command in ("params", ["plan", "--no-probe"]):
                self.check_width(*([command] if isinstance(command, str) else command), "xor", "model.ffn.kind=formula", f"model.ffn.name={name}")

    def test_a_study_is_counted_variant_by_variant(self):
        rows = json.loads(self.ok("params", "activations", "--json").stdout)["variants"]
        self.assertEqual(len(rows), 12)
        alone = json.loads(self.ok("params", "xor", "model.ffn.expansion=8", "--json").stdout)
        wide = [row for row in rows if row["name"].endswith("expansion=8")]
        self.assertEqual([row["total"] for row in wide], [alone["total"]] * 3)
        self.assertIn("activation=relu+expansion=8", self.ok("params", "activations").stdout)

    def test_a_budget_sets_the_number_of_seeds_before_the_first_run_and_for_good(self):
        words = ("xor", "name=two", "model.ffn.activation=relu,gelu", "train.steps=200")
        seeds = lambda: len(json.loads((self.tmp / "runs/two/study.json").read_text())["seeds"])
        said = " ".join(self.ok("plan", *words, "--budget", "5s").stdout.split())
        self.assertRegex(said, r"[\d,]+ seeds fit into 5\.0 s: about .* m?s(; a budget takes no more)?\. With 1 seed: [\d,]+ times the steps, or [\d,]+ variants instead of 2$")
        self.assertRegex(self.ok(*words, "--budget", "2s").stderr, r"seeds? fits? into 2\.0 s")
        before = seeds()
        self.assertGreater(before, 1)
        again = self.ok(*words, "--budget", "1m").stderr
        self.assertIn(f"runs/two was begun with {before} seeds and keeps them", again)
        self.assertIn(" 0 trained now", again)
        self.assertEqual(seeds(), before)
        self.assertIn("and keeps them", " ".join(self.ok("plan", *words, "--budget", "1m").stdout.split()))
        self.assertNotIn("--budget", again)  # what to do next has its own seeds
        self.assertIn(f"seeds={before} name=two-tuned", " ".join(again.split()))
        self.ok("xor", "name=single", *words[2:], "-q")
        self.assertIn("begun with 1 seed", self.ok("xor", "name=single", *words[2:], "--budget", "1m").stderr)
        for wrong, told in ((("xor", "--budget", "1h"), "train.steps=N sets the steps"), ((*words, "seeds=3", "--budget", "1h"), "leave one of the two out"), ((*words, "seeds=auto", "--budget", "1h"), "added until the study is settled"),
                            ((*words, "--budget", "1"), "write it as in 90s"), (("text", "name=long", *words[2:3], "train.steps=100000", "--budget", "0.1s"), "no seed of this study fits into 100 ms: the probe takes")):
            self.assertIn(told, " ".join(self.fails(2, *wrong).split()))

    def test_a_plan_counts_the_comparisons_that_the_study_makes(self):
        words = ("xor", "model.ffn.activation=identity,gelu", "train.optimizer.lr=1e-2,3e-2,5e-2,2e-1", "train.eval_every=10", "train.steps=40", "name=p8")
        self.assertIn("5 seeds allow no verdict at 5 % over 4 comparisons; at least 8 are needed", " ".join(self.ok("plan", *words, "seeds=5", "--no-probe").stdout.split()))
        self.assertIn("5 seeds allow no verdict at 0.1 %", " ".join(self.ok("plan", *words, "seeds=5", "--no-probe", "compare.alpha=0.001").stdout.split()))
        self.assertIn("8 seeds detect a difference", self.ok("plan", *words, "seeds=8", "--no-probe").stdout)
        self.ok(*words, "seeds=8", "-q")
        pairs = [pair for facet in json.loads((self.tmp / "runs/p8/compare.json").read_text())["facets"] for pair in facet["pairs"]]
        self.assertEqual(len(pairs), 4)

    def test_a_shipped_study_can_be_narrowed(self):
        result = self.ok("activations", "model.ffn.activation=relu,mish", "name=narrow", "seeds=2", "train.steps=40")
        self.assertEqual(result.stdout.count("not asked here"), 2)
        self.ok("plan", "expansion", "model.ffn.expansion=2,4", "name=e2", "--no-probe")

    def test_who_has_read_enough_hears_no_error(self):
        for ignored in (False, True):  # SIGPIPE, as some shells have it
            read, write = os.pipe()
            os.close(read)  # what `head` has done when it ends
            process = subprocess.Popen(self.command("schema"), stdout=write, stderr=subprocess.PIPE, restore_signals=not ignored)
            os.close(write)
            self.assertEqual(process.communicate()[1], b"")
            self.assertEqual(process.returncode, 1 if ignored else -signal.SIGPIPE)

    def test_what_runs_left(self):
        long = "a-name-that-is-long-enough-to-fill-half-of-a-line"
        study = {**XOR, "name": long, "seeds": 2, "sweep": {"grid": {"model.ffn.match": ["none", "params"], "model.ffn.activation": ["quick_gelu"]}}}
        self.ok(self.write("study.json", study), "-q")
        self.ok(self.write("xor.json", XOR), "-q")
        squeezed = re.sub(r"\s", "", self.check_width("runs"))
        self.assertIn("bestloss", squeezed)
        self.check_width("check", "runs")
        run = next((self.tmp / "runs" / long).glob("*/seed-1.*"))
        (run / "summary.json").write_text("{")
        shutil.rmtree(next((self.tmp / "runs" / long).glob("*/seed-0.*")))
        self.assertIn("listed in", self.check_width("check", "runs", code=3))
        self.check_width("runs")


class Measuring(ProgramTest):
    def test_bench_measures_products_and_steps(self):
        out = json.loads(self.ok("bench", "product", "steps", "--seconds", "0.001", "--json").stdout)
        names = {m["name"] for m in out["measurements"]}
        for product in ("64 x 8 by 32", "8 x 64 by 32, A transposed", "64 x 32 by 8, B transposed", "2048 x 2048 by 2048"):
            self.assertIn(product, names)
        self.assertIn("FFN 2-8-2, batch 4, 1000 runs", names)
        for m in out["measurements"]:
            if m["group"] == "product":
                self.assertGreater(min(m["values"]["gflops"], m["values"]["blas_gflops"]), 0.1, m)
            else:
                self.assertGreater(m["values"]["runs_times_steps_per_s"], 100, m)

    def test_bench_refuses_an_unknown_group(self):
        self.fails(2, "bench", "everything")

    def test_training_does_without_libtorch_and_what_needs_it_says_so(self):
        environment = {**os.environ, "FFN_TRAIN_ENGINE": "/nonexistent/libffn_torch.so"}
        path = self.write("xor.json", XOR)
        self.assertEqual(self.run_program("--config", path, "-o", "alone", env=environment).returncode, 0)
        result = self.run_program("bench", env=environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("LibTorch", result.stderr)


class ShippedConfigs(ProgramTest):
    def test_all_are_valid(self):
        self.assertGreaterEqual(len(CONFIGS), 5)
        self.assertGreaterEqual(len(EXPERIMENTS), 1)
        self.ok("validate", *CONFIGS, *EXPERIMENTS)

    def test_each_trains_for_some_steps_and_keeps_nothing(self):
        for config in CONFIGS + EXPERIMENTS:
            with self.subTest(config.name):
                out = self.ok("--config", config, "--fast-dev-run", 3)
                self.assertIn("3 steps ran", out.stdout)
        self.assertEqual(self.files(), [])

    def test_a_dry_run_prints_a_config_that_runs(self):
        printed = self.ok("--config", CONFIGS[0], "--dry-run").stdout
        again = self.ok("--config", self.write("again.json", printed), "--dry-run").stdout
        self.assertEqual(printed, again)


class WrongInput(ProgramTest):
    def test_all_problems_are_reported_at_once_and_nothing_is_written(self):
        path = self.write("bad.json", '{\n  "seed": 3.7,\n  "model": { "d_modle": 8,\n    "ffn": { "kind": "moe", "top_k": 4, "num_experts": 2 } },\n'
                                      '  "train": { "steps": "many" }\n}\n')
        text = self.fails(2, "--config", path)
        for piece in ("bad.json:2", "expected an integer, got 3.7", "bad.json:3", 'did you mean "d_model"', "bad.json:4", "top_k (4) exceeds num_experts (2)",
                      "bad.json:5", 'expected an integer, got "many"'):
            self.assertIn(piece, text)
        self.assertEqual(self.files(), ["bad.json"])

    def test_the_names_of_other_programs_are_understood(self):
        for typed, here in (("learning_rate", "train.optimizer.lr"), ("epochs", "train.steps"), ("hidden", "model.ffn.d_ff"), ("train.batch", "train.batch_size"),
                            ("n_head", "model.attention.heads")):
            self.assertIn("here that is " + here, self.fails(2, "xor", typed + "=1"))
        self.assertIn('"sweep": {"grid": {"model.ffn.activation": [...]}}', self.fails(2, "--config", self.write("s.json", {"seeds": 2, "sweep": {"activation": ["relu"]}})))

    def test_keys_are_compared_by_the_name_that_heads_the_table(self):
        self.ok("xor", "name=two", "model.norm.kind=layer,none", "train.optimizer.kind=adamw,sgd", "seeds=2", "train.steps=20", "-q")
        self.assertIn("model.norm.kind, train.optimizer.kind", self.fails(2, "compare", "runs/two", "--by", "kind"))
        self.ok("xor", "name=by", "model.ffn.expansion=2,4", "seeds=2", "train.steps=20", "-q")
        self.assertEqual(self.ok("compare", "runs/by", "--by", "expansion").stdout, self.ok("compare", "runs/by", "--by", "model.ffn.expansion").stdout)

    def test_a_wrong_override_names_itself(self):
        path = self.write("xor.json", XOR)
        self.assertIn("override 'train.stesp=5'", self.fails(2, "--config", path, "train.stesp=5"))

    def test_a_missing_text_ends_with_3_before_anything_is_written(self):
        path = self.write("text.json", {"name": "t", "task": {"kind": "text", "file": "nowhere.txt"}, "model": {}, "train": {}})
        self.assertIn("nowhere.txt", self.fails(3, "--config", path))
        self.assertEqual(self.files(), ["text.json"])

    def test_sampling_what_is_no_run_ends_with_2(self):
        self.assertIn("no run at", self.fails(2, "sample", self.tmp / "nothing"))


class OneRun(ProgramTest):
    def train(self, *more):
        return self.ok("--config", self.write("xor.json", XOR), *more)

    def test_leaves_its_files_and_is_not_trained_twice(self):
        self.train()
        run = run_at(self.tmp / "runs/xor/seed-0")
        self.assertEqual(sorted(p.name for p in run.iterdir()), ["metrics.jsonl", "model.safetensors", "run.json"])
        self.assertEqual([json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()], [0, 10, 20, 30])
        self.assertEqual(record(run)["state"], "done")
        before = (run / "run.json").read_text()
        self.assertIn("already trained", self.train().stderr)
        self.assertEqual((run / "run.json").read_text(), before)
        self.train("--fresh")
        self.assertTrue(run.with_name(run.name + ".old-1").is_dir())

    def test_says_where_an_earlier_run_kept_less_than_is_asked_for(self):
        self.train("keep=summary")
        self.assertNotIn("were not kept", self.train("keep=summary").stderr)
        self.assertIn("its weights and curves were not kept", " ".join(self.train().stderr.split()))

    def test_a_run_trains_again_by_its_directory_to_the_same_weights(self):
        self.train()
        run = run_at(self.tmp / "runs/xor/seed-0")
        for number, named in enumerate((run, run / "run.json", self.tmp / "runs/xor/seed-0")):
            self.ok(named, "-o", f"again-{number}")
            self.assertEqual((run / "model.safetensors").read_bytes(), (run_at(self.tmp / f"again-{number}/xor/seed-0") / "model.safetensors").read_bytes())

    def test_another_config_under_the_same_name_trains_beside_the_first(self):
        self.train()
        before = {name: (self.tmp / name).read_bytes() for name in self.files() if "seed-0" in name}
        self.train("train.steps=20", "model.ffn.activation=silu")
        self.assertEqual({name: (self.tmp / name).read_bytes() for name in before}, before)
        first, second = sorted((self.tmp / "runs/xor").glob("seed-0.*"))
        self.assertIn(f"may be any of 2 runs, of different configs: runs/xor/{first.name}, runs/xor/{second.name}", self.fails(2, "inspect", "runs/xor/seed-0"))

    def test_the_weights_load_in_python(self):
        self.train()
        reader = ROOT / "tests/store/read_safetensors.py"
        out = subprocess.run([sys.executable, str(reader), str((run_at(self.tmp / "runs/xor/seed-0") / "model.safetensors"))], capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        for name in ("projection.weight", "block0.ffn.up.weight", "head.bias"):
            self.assertIn(name, out.stdout)

    def test_json_is_one_document_on_stdout(self):
        out = json.loads(self.train("--json").stdout)
        self.assertEqual(out["steps"], 30)

    def test_a_diverging_run_is_a_result_and_ends_with_1(self):
        self.fails(1, "--config", self.write("xor.json", XOR), "train.optimizer.kind=sgd", "train.optimizer.lr=1e30", "model.ffn.activation=relu2")
        status = record(run_at(self.tmp / "runs/xor/seed-0"))
        self.assertEqual(status["state"], "diverged")
        self.assertIn("learning rate", status["reason"])


class Text(ProgramTest):
    def test_a_text_without_lines_is_sampled_by_the_command_that_its_training_ends_with(self):
        text = self.write("one-line.txt", "abc " * 200)
        done = self.ok("text", f"task.file={text}", "train.steps=3", "model.d_model=8", "task.context=8", "-q").stdout
        self.assertIn("next: ffn-train sample runs/text/seed-0", done)
        self.assertGreater(len(self.ok("sample", "runs/text/seed-0", "--length", 20).stdout), 20)

    def test_trains_on_a_users_text_and_samples_from_it(self):
        text = self.write("poem.txt", "the rain in spain — stays mainly in the plain\n" * 40)
        config = self.write("text.json", {"name": "poem", "task": {"kind": "text", "file": text.name, "context": 16},
                                          "model": {"d_model": 16, "attention": {"heads": 2}, "residual": True}, "train": {"steps": 40, "eval_every": 20}})
        self.ok("--config", config)
        run = run_at(self.tmp / "runs/poem/seed-0")
        arguments = ("sample", run, "--prompt", "the ", "--length", 30, "--temperature", 0.5, "--top-k", 5)
        first, second = self.ok(*arguments).stdout, self.ok(*arguments).stdout
        self.assertEqual(first, second)
        self.assertTrue(first.startswith("the "))
        self.assertEqual(len(first.rstrip("\n")) >= 20, True)
        self.assertIn("does not occur", self.fails(2, "sample", run, "--prompt", "Q"))

        weights = run / "model.safetensors"
        good = weights.read_bytes()
        weights.write_bytes(good[:-4])
        self.assertIn("safetensors", self.fails(3, "sample", run))
        weights.write_bytes(good)
        text = (run / "run.json").read_text()
        (run / "run.json").write_text(text.replace('"d_model": 16', '"d_model": 8'))
        self.assertIn("run.json: damaged", self.fails(3, "sample", run))


if __name__ == "__main__":
    main()
