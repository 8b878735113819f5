#!/usr/bin/env python3
"""The command line as a person or a script meets it: output, errors, exit codes, files."""
import json
import os
import re
import shutil
import signal
import subprocess

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
        bare = json.loads(self.ok("params", "--d-model", 12288, "--no-bias", "--json").stdout)
        self.assertEqual(bare["ffn"]["parameters"], 1207959552)

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
        self.assertIn("there are no pictures of tasks", self.fails(2, "list", "tasks", "--plot"))

    def test_the_schema_is_current(self):
        self.assertTrue(self.ok("schema").stdout == (ROOT / "configs/schema.json").read_text(), "configs/schema.json is out of date: run scripts/regenerate")

    def test_no_default_has_changed(self):
        done = subprocess.run([ROOT / "scripts/generate/defaults", "--check", self.command()[0]], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Plans(ProgramTest):
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
        for wrong, told in ((("xor", "--budget", "1h"), "train.steps=N sets the steps"), ((*words, "seeds=3", "--budget", "1h"), "leave one of the two out"), ((*words, "seeds=auto", "--budget", "1h"), "added until every comparison is decided"),
                            ((*words, "--budget", "1"), "write it as in 90s"), (("text", "name=long", *words[2:3], "train.steps=100000", "--budget", "0.1s"), "no seed of this study fits into 100 ms: the probe takes")):
            self.assertIn(told, " ".join(self.fails(2, *wrong).split()))

    def test_a_plan_counts_the_comparisons_that_the_study_makes(self):
        words = ("xor", "model.ffn.activation=identity,gelu", "train.optimizer.lr=1e-2,3e-2,5e-2,2e-1", "train.eval_every=10", "train.steps=40", "name=p8")
        self.assertIn("5 seeds allow no verdict at 5 % over 4 comparisons; at least 8 are needed", " ".join(self.ok("plan", *words, "seeds=5", "--no-probe").stdout.split()))
        self.assertIn("no verdict at 0.1 %", " ".join(self.ok("plan", *words, "seeds=5", "--no-probe", "compare.alpha=0.001").stdout.split()))
        self.assertIn("8 seeds detect", self.ok("plan", *words, "seeds=8", "--no-probe").stdout)
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

    def test_studies_of_novels_are_valid_with_any_text(self):
        copies = shutil.copytree(ROOT / "experiments/texts", self.tmp / "texts", ignore=shutil.ignore_patterns("data"))
        self.write("texts/data/austen.txt", "It is a truth universally acknowledged, that a single man must want a wife. " * 100)
        studies = sorted(copies.glob("*.json"))
        self.assertGreaterEqual(len(studies), 15)
        self.ok("validate", *studies)

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
    def test_keys_are_compared_by_the_name_that_heads_the_table(self):
        self.ok("xor", "name=two", "model.norm.kind=layer,none", "train.optimizer.kind=adamw,sgd", "seeds=2", "train.steps=20", "-q")
        self.assertIn("model.norm.kind, train.optimizer.kind", self.fails(2, "compare", "runs/two", "--by", "kind"))
        self.ok("xor", "name=by", "model.ffn.expansion=2,4", "seeds=2", "train.steps=20", "-q")
        self.assertEqual(self.ok("compare", "runs/by", "--by", "expansion").stdout, self.ok("compare", "runs/by", "--by", "model.ffn.expansion").stdout)

    def test_a_mixture_of_more_experts_than_the_task_has_inputs_is_warned_of_once(self):
        mixture = ("xor", "model.ffn.kind=moe", "train.steps=2", "train.eval_every=2")
        for command in (("validate", *mixture), ("plan", "--no-probe", *mixture), ("plan", "--no-probe", *mixture, "seeds=2"), mixture,
                        (*mixture, "name=two", "seeds=2", "model.ffn.top_k=1,2")):
            self.assertEqual(self.ok(*command).stderr.count("4 distinct inputs"), 1, command)
        for fewer in ("task.bits=3", "task.jitter=0.1", "model.ffn.num_experts=4"):
            self.assertNotIn("distinct inputs", self.ok("validate", *mixture, fewer).stderr)

    def test_a_missing_text_ends_with_3_before_anything_is_written(self):
        path = self.write("text.json", {"name": "t", "task": {"kind": "text", "file": "nowhere.txt"}, "model": {}, "train": {}})
        self.assertIn("nowhere.txt", self.fails(3, "--config", path))
        self.assertEqual(self.files(), ["text.json"])


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
        self.assertIn("were not kept", " ".join(self.train().stderr.split()))

    def test_a_run_trains_again_by_its_directory_to_the_same_weights(self):
        self.train()
        run = run_at(self.tmp / "runs/xor/seed-0")
        for number, named in enumerate((run, run / "run.json", self.tmp / "runs/xor/seed-0")):
            self.ok(named, "-o", f"again-{number}")
            self.assertEqual((run / "model.safetensors").read_bytes(), (run_at(self.tmp / f"again-{number}/xor/seed-0") / "model.safetensors").read_bytes())

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

    def test_a_diverged_text_run_is_not_offered_for_sampling_and_cannot_be_sampled(self):
        text = self.write("words.txt", "the cat sat on the mat. " * 40)
        result = self.run_program("text", f"task.file={text}", "task.context=8", "model.d_model=8", "train.steps=20", "train.optimizer.kind=sgd", "train.optimizer.lr=1e30")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotIn("sample", result.stdout + result.stderr)
        for form in ((), ("--temperature", 0), ("--json",)):
            result = self.run_program("sample", "runs/text/seed-0", *form)
            self.assertEqual((result.returncode, result.stdout), (3, ""), result.stderr)
            self.assertIn("not finite", result.stderr)

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
