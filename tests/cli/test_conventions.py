#!/usr/bin/env python3
"""What people expect of a command line: configs by name, answers to slips, what is there and how to tidy up."""
import json
import os
import re
import shutil
import subprocess

from program import PROGRAM, ROOT, ProgramTest, main, record, run_at

XOR = {"name": "xor", "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"activation": "relu", "expansion": 4}},
       "train": {"steps": 20, "eval_every": 10, "optimizer": {"lr": 0.01}, "target": {"metric": "val/accuracy", "at_least": 0.99}}}
STUDY = {**XOR, "name": "study", "seeds": 2, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
SHIPPED = sorted(p for folder in ("configs", "experiments") for p in (ROOT / folder).glob("*.json") if p.name != "schema.json")


class Configs(ProgramTest):
    def test_every_command_takes_its_config_as_a_word_or_with_the_option(self):
        file = self.write("mine.json", STUDY)
        for command in (("--dry-run",), ("plan", "--no-probe"), ("validate",), ("slurm",)):
            for name in (file, "activations"):
                outputs = {self.ok(*command, *words).stdout for words in ((name,), ("--config", name))}
                self.assertEqual(len(outputs), 1, (command, outputs))
        self.write("one.json", XOR)
        for name in ("one.json", "xor"):
            self.assertEqual(self.ok("params", name).stdout, self.ok("params", "--config", name).stdout)
        self.assertEqual(json.loads(self.ok("one.json", "train.steps=7", "--dry-run").stdout)["train"]["steps"], 7)
        self.assertEqual(json.loads(self.ok("train.steps=7", "one.json", "--dry-run").stdout)["train"]["steps"], 7)
        self.ok("validate", "one.json", "xor", "train.steps=7")
        self.fails(2, "validate", "one.json", "xor", "train.steps=0")
        self.assertIn("is a second config", self.fails(2, "one.json", "mine.json"))
        self.assertIn("no config to change", self.fails(2, "train.steps=7"))
        for command in ("plan", "validate", "slurm"):
            self.assertIn("no config is named", self.fails(2, command))

    def test_a_file_whose_name_has_an_equals_sign_is_a_config(self):
        self.ok(self.write("study.json", STUDY), "-q")
        self.ok("runs/study/activation=relu/seed-0", "-o", "again")
        self.assertTrue(((run_at(self.tmp / "again/study/seed-0") / "run.json")).exists())

    @staticmethod
    def without_place(text):
        """A shipped table lies beside its config."""
        return re.sub(r'"/[^"]*/data/', '"data/', text)

    def test_a_copied_program_has_all_shipped_configs(self):
        self.assertGreaterEqual(len(SHIPPED), 10)
        copy = self.tmp / "alone" / "ffn-train"
        copy.parent.mkdir()
        shutil.copy(PROGRAM, copy)

        def run(*arguments):
            done = subprocess.run([copy, *map(str, arguments)], cwd=copy.parent, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        listed = [row["name"] for what in ("configs", "experiments") for row in json.loads(run("list", what, "--json"))]
        self.assertEqual(len(listed), len(SHIPPED))
        for name, file in zip(listed, SHIPPED):
            with self.subTest(name):
                self.assertEqual(self.without_place(run(name, "--dry-run")), self.without_place(run("--config", file, "--dry-run")))
                self.assertEqual(run(f"{file.parent.name}/{file.name}", "--dry-run"), run(name, "--dry-run"))

    def test_a_file_on_disk_comes_before_the_shipped_one(self):
        self.write("configs/xor.json", {**XOR, "name": "mine"})
        for name in ("xor", "configs/xor.json", "./configs/xor.json"):
            self.assertEqual(json.loads(self.ok(name, "--dry-run").stdout)["name"], "mine")

    def test_a_file_may_extend_a_shipped_one(self):
        self.write("sub/mine.json", {"extends": "configs/xor.json", "name": "mine"})
        self.assertEqual(json.loads(self.ok("sub/mine.json", "--dry-run").stdout)["task"], {"kind": "xor", "bits": 2, "label_noise": 0.0, "jitter": 0.0})

    def test_a_mistake_in_an_override_of_a_shipped_config_names_both(self):
        error = self.fails(2, "xor", "train.stesp=5")
        self.assertIn("override 'train.stesp=5'", error)
        self.assertIn('did you mean "xor"', self.fails(2, "xro"))

    def test_cp_writes_what_trains_the_same_with_its_comments(self):
        for row in (row for what in ("configs", "experiments") for row in json.loads(self.ok("list", what, "--json").stdout)):
            name = row["name"]
            with self.subTest(name):
                mine = self.tmp / "mine" / (name.replace("/", "-") + ".json")
                self.ok("cp", name, mine)
                text = mine.read_text()
                source = next(p for p in SHIPPED if str(p).endswith(f"/{name}.json"))
                for comment in re.findall(r"^ *(//.*)$", source.read_text(), re.M):
                    self.assertIn(comment, text)
                self.assertEqual((mine.parent / re.search('"[$]schema": "(.*)"', text)[1]).read_text(), (ROOT / "configs/schema.json").read_text())
                self.assertEqual(re.findall(r'"extends": "(?!configs/|experiments/)', text), [])  # by a name that every directory knows
                ours, theirs = (json.loads(self.without_place(self.ok(config, "--dry-run").stdout)) for config in (mine, name))
                for document in (ours, theirs):
                    document.pop("$schema", None)
                self.assertEqual(ours, theirs)
        before = mine.read_text()
        self.assertIn("is not overwritten", self.fails(2, "cp", "xor", mine))
        self.assertEqual(mine.read_text(), before)
        self.assertIn('did you mean "xor"', self.fails(2, "cp", "xr", "x.json"))
        self.ok("cp", "xor", self.tmp)
        self.assertTrue((self.tmp / "xor.json").exists())


class Slips(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("xor.json", XOR)

    def refused(self, *arguments):
        error = self.fails(2, *arguments)
        self.assertTrue(error.startswith("error: "), error)
        self.assertEqual([p for p in self.files() if not p.endswith(".json")], [])
        return error

    def test_an_unknown_option_names_the_key(self):
        self.assertIn("train.optimizer.lr=0.1?", self.refused("xor.json", "--lr=0.1"))
        self.assertIn("train.optimizer.lr=0.1?", self.refused("xor.json", "--lr", "0.1"))
        self.assertIn("train.batch_size=8?", self.refused("plan", "xor.json", "--batch-size=8"))
        self.assertIn("activation=VALUE?", self.refused("xor.json", "--activation"))
        self.assertIn('did you mean "--fresh"?', self.refused("xor.json", "--frehs"))
        self.assertIn("ffn-train compare --help", self.refused("compare", "runs", "--nonsense"))

    def test_a_mistyped_subcommand_is_corrected(self):
        self.assertIn('did you mean "compare"?', self.refused("compar", "runs"))
        self.assertIn('did you mean "compare"?', self.refused("compar", "runs", "--metric", "val/loss"))
        self.assertIn('did you mean "validate"?', self.refused("valdate", "xor.json"))
        self.assertIn("`ffn-train xor`", self.refused("train", "xor.json"))
        self.assertEqual(self.ok("help", "compare").stdout, self.ok("compare", "--help").stdout)

    def test_a_shipped_base_that_is_misnamed(self):
        for base in ("activations", "activations.json"):
            self.assertIn("the shipped one is", self.refused("validate", self.write("mine.json", {"extends": base})))

    def test_a_time_that_slurm_does_not_take(self):
        for time in ("2h", "abc", "1-2-3", "1:2:3:4"):
            self.assertIn(f"'{time}' is no time of Slurm's", self.refused("slurm", "xor.json", "seeds=2", "--time", time))
        for time in ("90", "2:00:00", "1-12", "1-12:30", "UNLIMITED"):
            self.assertIn(f"--time={time}\n", self.ok("slurm", "xor.json", "seeds=2", "--time", time).stdout)

    def test_a_bound_of_a_target_replaces_the_other_one(self):
        for more in ((), ("seeds=2", "model.ffn.activation=relu,gelu")):
            target = json.loads(self.ok("xor.json", "train.target.metric=val/loss", "train.target.at_most=0.01", *more, "--dry-run").stdout)["train"]["target"]
            self.assertEqual((target["metric"], target.get("at_least"), target["at_most"]), ("val/loss", None, 0.01))

    def test_an_option_whose_value_is_empty_is_refused(self):
        self.ok("xor", "train.steps=20", "-q")
        run = "runs/xor/seed-0"
        for command, name in (((), "--out"), (("plan",), "--out"), (("slurm",), "--out"), (("inspect", run), "--out"), (("inspect", run), "--neuron"),
                              (("report", "runs/xor"), "--out"), (("compare", run), "--target"), (("compare", run), "--metric"), (("compare", run), "--by"),
                              (("compare", run), "--reference"), (("curves", run), "--metric"), ((), "--config"), ((), "--engine"), ((), "--init-from")):
            self.assertIn(f"{name} is empty", self.fails(2, *command, name, ""))
        self.assertIn("DIR is empty", self.fails(2, "clean", ""))
        self.assertIn("no directory", self.fails(3, "compare", ""))

    def test_a_tilde_is_the_home_directory(self):
        home = self.tmp / "home"
        self.write("home/mine.json", {**XOR, "name": "mine"})
        environment = {**os.environ, "HOME": str(home)}
        for number, words in enumerate((("~/mine.json", "-o", "~/a"), ("--config=~/mine.json", "-o=~/a"), ("--config", "~/mine.json", "--out=~/a"))):
            done = self.run_program(*words, f"seed={number}", env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((run_at(home / f"a/mine/seed-{number}") / "run.json").exists(), words)

    def test_dev_runs_that_cannot_be(self):
        for steps in ("=0", "=-3", " 0"):
            self.fails(2, "xor.json", *f"--fast-dev-run{steps}".split())
        self.assertFalse((self.tmp / "runs").exists())
        self.assertIn("10 steps ran", self.ok("xor.json", "--fast-dev-run").stdout)
        path = self.write("study.json", {**STUDY, "compare": {"metric": "val/perplexity"}})
        for command in (("validate", path), ("plan", "--no-probe", path), (path,)):
            self.assertIn("val/perplexity", self.refused(*command))

    def test_more_memory_than_there_is_is_refused_before_anything_is_moved(self):
        self.ok("xor.json", "-q")
        before = self.files()
        huge = ("model.d_model=65536", "model.ffn.d_ff=1048576", "model.blocks=256")
        for words in (("xor.json",), ("xor.json", "seeds=2"), ("xor.json", "--fast-dev-run")):
            for fresh in ((), ("--fresh",)):
                error = self.fails(2, *words, *huge, "name=other", *fresh)
                self.assertRegex(error, r"takes \d+ TB of memory at least, and there are [\d.]+ [kMGT]?B here")
        self.fails(2, "xor.json", *huge, "--fresh")
        self.assertEqual(self.files(), before)


class Telling(ProgramTest):
    def test_verbose_says_more_and_the_log_says_what_happened(self):
        self.write("xor.json", XOR)
        plain = self.ok("xor.json", "-o", "plain").stderr
        self.assertNotIn("debug", plain)
        more = self.ok("xor.json", "-o", "more", "-v").stderr
        self.assertRegex(more, "debug: config: xor.json")

    def test_the_log_of_a_study_says_how_each_run_began_and_ended(self):
        self.ok(self.write("study.json", STUDY), "-q")
        text = (self.tmp / "runs/study/log.txt").read_text()
        self.assertIn("4 of 4 runs to train", text)
        for variant in ("relu", "gelu"):
            for seed in (0, 1):
                self.assertIn(f"training activation={variant}/{run_at(self.tmp / 'runs/study' / f'activation={variant}' / f'seed-{seed}').name} from step 0", text)
                self.assertRegex(text, rf"activation={variant}/seed-{seed}\.\w+ is done at step 20, val/loss [\d.e-]+\n")
        self.assertIn("4 trained, 0 found", text)
        self.assertIn("debug: training activation=relu/seed-2", self.ok("study.json", "seeds=3", "-v").stderr)


class Tidying(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ok(self.write("xor.json", XOR), "-q")
        self.ok(self.write("study.json", STUDY), "-q")

    def test_runs_lists_what_is_there(self):
        text = self.ok("runs").stdout
        lines = [line.split() for line in text.splitlines()]
        self.assertEqual([line[0] for line in lines[1:]], ["runs/study", "runs/xor/seed-0"])
        self.assertIn("all 4 done", text)
        study, run = json.loads(self.ok("runs", "runs", "--json").stdout)
        self.assertEqual((study["kind"], study["runs"], study["states"]), ("study", 4, {"done": 4}))
        self.assertEqual((run["kind"], run["states"], run["best"]["metric"]), ("run", {"done": 1}, "val/loss"))
        self.assertEqual(run["best"]["value"], record(run_at(self.tmp / "runs/xor/seed-0"))["summary"]["metrics"]["val/loss"]["best"])
        self.assertLess(run["age_seconds"], 600)
        self.assertEqual(run["bytes"], sum(p.stat().st_size for p in (run_at(self.tmp / "runs/xor/seed-0")).rglob("*") if p.is_file()))
        shutil.rmtree(run_at(self.tmp / "runs/study/activation=relu/seed-1"))
        (run_at(self.tmp / "runs/xor/seed-0") / "run.json").write_text("{")
        self.ok("study.json", "model.ffn.activation=gelu,tanh", "-q")
        text = self.ok("runs").stdout
        self.assertRegex(text, r"runs/study +all 4 done, 1 of")
        self.assertRegex(text, r"seed-0 +damaged")
        self.assertIn("no directory", self.fails(2, "runs", "nowhere"))

    def test_clean_removes_what_was_moved_aside_and_nothing_else(self):
        name = run_at(self.tmp / "runs/xor/seed-0").name
        self.ok("xor.json", "-q", "--fresh")
        self.ok("study.json", "-q", "--fresh")
        self.write("runs/notes.old-1/notes.txt", "mine")
        self.write("runs/letter.old-1", "mine")
        shutil.copytree(self.tmp / f"runs/xor/{name}.old-1", self.tmp / f"runs/xor/{name}.old-2")
        self.write(f"runs/xor/{name}.old-2/my-notes.txt", "mine")
        os.symlink(run_at(self.tmp / "runs/xor/seed-0"), self.tmp / "runs/xor/link.old-1")
        self.write("runs/.seen.json.tmp-4711-0", "{")
        before = self.files()
        result = self.run_program("clean")
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing was removed: 3 (", result.stderr)
        self.assertIn("--yes", result.stderr)
        self.assertIn(f"runs/xor/{name}.old-1\n", result.stdout)
        self.assertIn(f"{name}.old-2  stays: it holds my-notes.txt", result.stdout)
        self.assertNotIn("notes.old-1", result.stdout)
        self.assertEqual(self.files(), before)
        self.assertIn("damaged runs: 4", self.ok("runs").stdout)
        self.assertIn("removed 3 (", self.ok("clean", "--yes").stdout)
        gone = [f for f in before if f.startswith((f"runs/xor/{name}.old-1/", "runs/study.old-1/", "runs/.seen.json.tmp"))]
        self.assertEqual(self.files(), [f for f in before if f not in gone])
        self.assertTrue(gone)
        self.assertFalse((self.tmp / "runs/study.old-1").exists())
        self.assertIn("nothing", self.ok("clean").stdout)


class Usage(ProgramTest):
    def test_what_cannot_be_parsed_is_said_as_every_error(self):
        for words, said in ((["report"], "report needs DIR: studies or runs"), (["compare"], "compare needs DIR"), (["curves"], "curves needs DIR"), (["cp", "xor"], "cp needs FILE"),
                            (["merge", "a"], "merge needs --out DIR"), (["completion"], "completion needs one of bash, zsh, fish"),
                            (["list", "foo"], "list: expected one of activations, ffns, routers, inits, optimizers, positions, tasks, functions, metrics, keys, configs, experiments, got 'foo'"),
                            (["list", "activation"], 'did you mean "activations"?'), (["xor", "-j", "0"], "--jobs: expected an integer from 1 to 4096, got '0'"),
                            (["xor", "-j", "many"], "--jobs: expected an integer from 1 to 4096, got 'many'"), (["xor", "-o"], "--out needs a value: DIR"),
                            (["compare", "a", "--alpha", "nan"], "--alpha: expected a number from 1e-06 to 0.49, got 'nan'"),
                            (["compare", "a", "--min-effect", "-1"], "--min-effect: expected a number of at least 0, got '-1'"),
                            (["inspect", "a", "b", "c"], "more than inspect takes: b c"), (["-q", "-v", "xor"], "--verbose and --quiet exclude each other")):
            command = "" if words[0] in ("xor", "-q") else words[0] + " "
            error = self.fails(2, *words)
            self.assertRegex(error, rf"^error: .*\nhint: `ffn-train {command}--help` shows what there is\n$")
            self.assertIn(said, error)
        self.assertEqual(self.files(), [])

    def test_a_key_that_is_none_is_answered_with_those_that_may_be_meant(self):
        for typed, meant in (("optimizer", "train.optimizer"), ("model.fnn", "model.ffn"), ("lr", "train.optimizer.lr"), ("optimzer", "train.optimizer")):
            self.assertIn(f"no key begins with '{typed}'; did you mean {meant}?", self.fails(2, "list", "keys", typed))
        self.assertIn("no key begins with 'zzzzzz'\n", self.fails(2, "list", "keys", "zzzzzz"))


if __name__ == "__main__":
    main()
