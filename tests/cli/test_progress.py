#!/usr/bin/env python3
"""What a study shows while it runs on a terminal, what it leaves out where there is none, and the command that its end names."""
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import termios

from program import PROGRAM, ProgramTest, main, run_at

STUDY = {
    "name": "study", "seeds": 4, "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 2000, "eval_every": 10, "optimizer": {"lr": 0.01}, "target": {"metric": "val/loss", "at_most": 0.01}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
}


class Terminal(ProgramTest):
    def on_a_terminal(self, *arguments, columns=100, **changes):
        """Everything that came out of the program on a terminal of so many columns."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "COLUMNS")}, "TERM": "xterm", "LANG": "C.UTF-8", **changes}
        process = subprocess.Popen(self.command(*arguments), cwd=self.tmp, stdin=follower, stdout=follower, stderr=follower, env=environment)
        os.close(follower)
        out = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not part:
                break
            out += part
        os.close(leader)
        self.assertIn(process.wait(60), (0, 5), out.decode(errors="replace"))  # 5: so few seeds show no claim
        return out.decode()

    def test_what_is_known_so_far_has_bars_and_curves_and_fits(self):
        for columns in (80, 200):
            text = self.on_a_terminal(self.write("study.json", STUDY), "-j", "1", "-o", f"at-{columns}", columns=columns)
            shown = [line for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "\n", text)) if line]
            standing = [line for line in shown if re.search(r"(relu|gelu) +[1-4] +\d", line) and "●" in line]
            self.assertTrue(standing, text)
            self.assertTrue(any(re.search("[▁-█]{6}", line) for line in standing), standing)
            for line in shown:
                if not line.startswith(("results:", "next", "engine:")):
                    self.assertLessEqual(len(line), columns, line)
            self.assertNotRegex("".join(standing), "better|worse|undecided")  # a look has to be paid for

    def test_the_quick_start_takes_sixteen_lines_of_80_columns_beside_its_table(self):
        text = self.on_a_terminal("xor", "model.ffn.activation=relu,gelu,silu", "seeds=20", columns=80)
        before, _, after = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r\n", "\n").partition("relu gets there first")
        self.assertTrue(before.startswith("4 inputs, majority class 50 %; not linearly separable\n"), text)
        self.assertEqual(re.findall("(?m)^(engine|tuning|note|until decided)", before), [])
        answer, _, command = after.partition("\nnext, each at its own learning rate:\n")
        self.assertEqual((len(answer.split("\n")), len(re.findall("(?m)^[a-z].{40,}worse$", answer))), (13, 2), text)  # the command has three, the data one
        self.assertIn(" tune.retune=per_seed\n", command)

    def test_what_is_drawn_so_far_is_named_and_no_step_is_below_0(self):
        words = ["own-layer", "train.steps=60", "seeds=4", "-j", "1"]
        text = self.on_a_terminal(*words)
        lines = [line for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "\n", text)) if line]
        named = [line for line in lines if line.startswith("so far: ")]
        self.assertTrue(named, text)
        self.assertIn("so far: steps_to_target, mean with its 95 % interval, in numbers and as a bar; val/loss over the steps", " ".join(lines))
        headers = [line for line in lines if re.match(r"variant +runs +steps_to_target", line)]
        self.assertTrue(headers, text)
        for header in headers:
            self.assertNotRegex(header, "[-−][0-9]")
        self.assertTrue([line for line in lines if re.match(r"swiglu +[0-4] ", line)], text)
        self.assertFalse([line for line in lines if re.match(r"ffn=swiglu +[0-4] ", line)], text)
        matched = [line for line in lines if "matches the plain FFN's params" in line]
        self.assertEqual([line.partition(":")[0] for line in matched], ["swiglu", "swiglu_rms_up", "maxout"])
        self.assertFalse([line for line in matched if "0.00 %" in line])

    def test_a_warning_fits_a_terminal_whatever_command_gives_it(self):
        study = self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 50}})
        self.ok(study, "-q")
        self.ok(study, "seeds=2", "-q")
        for command in (["curves"], ["compare"]):
            text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.on_a_terminal(*command, "runs/study", columns=60))
            self.assertIn("left out", text)
            for line in re.split(r"[\r\n]+", text):
                if len(line.split()) > 1:
                    self.assertLessEqual(len(line), 60, line)

    def test_forty_columns_hold_all_that_is_said(self):
        for number, words in enumerate(([], ["seeds=auto", "compare.min_effect=5"], ["tune.train.optimizer.lr=0.005,0.01,0.02"])):
            text = self.on_a_terminal(self.write("study.json", STUDY), *words, "name=" + "abc"[number], "-j", "1", columns=40)
            for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text.replace("\x1b[", "\n\x1b["))):
                words_in_line = line.rstrip("\\").split()
                if len(words_in_line) > 1:  # a word, a path say, stays whole
                    self.assertLessEqual(len(line), 40, line)
        text = self.on_a_terminal("xor", "-v", columns=40)
        self.assertIn("covers the model", " ".join(text.split()))
        self.assertLessEqual(max(map(len, re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "\n", text).splitlines())), 40, text)

    def test_a_command_to_copy_goes_on_behind_a_backslash(self):
        text = self.on_a_terminal(self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 50}}), "-j", "1", columns=60)
        lines = text.replace("\r", "").split("\n")
        first = next(i for i, line in enumerate(lines) if line.startswith("next, for what is not sure:"))
        command = "\n".join(lines[first + 1:]).strip()
        self.assertIn(" \\\n", command)
        words = shlex.split(command)
        self.assertEqual(words[0], str(PROGRAM))
        self.assertTrue(words[-1].startswith('seeds={"until":"settled"'), words)

    def test_in_ascii_where_the_charset_is(self):
        text = self.on_a_terminal(self.write("study.json", STUDY), "-j", "1", LANG="C")
        self.assertRegex(text, r"(relu|gelu) +[1-4] +\d.*[1-8]{6}")

    def test_plain_where_there_is_no_terminal(self):
        result = self.ok(self.write("study.json", STUDY), env={k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE")})
        self.assertNotIn("\033", result.stdout + result.stderr)
        self.assertNotRegex(result.stderr, "[▁-█●]")


class Ending(ProgramTest):
    def test_a_run_ends_with_a_curve_of_each_metric(self):
        run = {k: v for k, v in STUDY.items() if k not in ("seeds", "sweep")}
        plain = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE", "COLUMNS")}
        rows = dict(re.findall(r"(?m)^(val/\S+) .*  (\S+)$", self.ok(self.write("run.json", run), env={**plain, "LANG": "C.UTF-8"}).stdout))
        self.assertEqual((len(rows["val/loss"]), len(rows["val/accuracy"])), (16, 16))
        self.assertGreater(rows["val/loss"][0], min(rows["val/loss"]))  # it falls: blocks are ordered as characters, too
        self.assertEqual(rows["val/accuracy"][-1], "█")
        self.assertRegex(self.ok("run.json", "train.steps=5", "name=short", env={**plain, "LANG": "C"}).stdout, r"(?m)^train/loss +\S+ +\S+ +5$")  # one value is no curve

    def last_line(self, *arguments):
        return self.ok(*arguments).stderr.strip().splitlines()[-1]

    def test_a_decided_study_names_the_report(self):
        study = {**STUDY, "seeds": 12, "sweep": {"grid": {"train.optimizer.lr": [0.0001, 0.02]}}}
        self.assertEqual(self.last_line(self.write("study.json", study)), "next: ffn-train report runs/study")
        self.ok("report", "runs/study")

    def test_layers_that_were_decided_at_one_rate_are_offered_tuning_that_runs(self):
        layers = {"model.ffn.activation": ["identity", "relu"]}
        study = {**STUDY, "seeds": 12, "sweep": {"grid": layers}}
        done = self.ok(self.write("study.json", study), "train.optimizer.lr=0.02", "--fresh")
        self.assertIn("at lr 0.02; tuning", " ".join(done.stdout.split()))
        self.assertIn("pictures: ffn-train report runs/study", done.stderr)
        why, _, command = done.stderr.strip().splitlines()[-1].partition(": ")
        self.assertEqual(why, "next, each at its own learning rate")
        words = shlex.split(command)
        self.assertEqual(words[1:], [str(self.tmp / "study.json"), "name=study-tuned",
                                     "tune.train.optimizer.lr=0.002,0.006,0.02,0.06,0.2", "tune.retune=per_seed"])
        tuned = self.ok(*words[1:])
        self.assertNotIn("This is at lr", tuned.stdout)
        self.assertEqual(self.last_line("study.json", "train.optimizer.lr=0.02"), "next: ffn-train report runs/study")  # it is there
        # Where the rate is compared, or makes groups, there is nothing to tune.
        for number, grid in enumerate(({**layers, "train.optimizer.lr": [0.005, 0.02]}, {"train.batch_size": [2, 4]})):
            study["sweep"] = {"grid": grid}
            other = self.ok(self.write("other.json", study), f"name=other{number}")
            self.assertNotIn("This is at lr", other.stdout)
            self.assertNotIn("tune", other.stderr)

    def test_a_study_that_is_not_sure_names_what_decides_it(self):
        study = {**STUDY, "seeds": 6, "train": {**STUDY["train"], "steps": 100, "eval_every": 1}, "sweep": {"grid": {"model.ffn.activation": ["gelu", "gelu_tanh", "silu"]}}}
        result = self.ok(self.write("study.json", study), "train.optimizer.lr=0.011", "compare.metric=val/loss", "compare.min_effect=0.5")
        lines = result.stderr.strip().splitlines()
        self.assertIn("too few seeds", result.stdout)
        self.assertIn("pictures: ffn-train report runs/study", lines[-2])
        self.assertTrue(lines[-1].startswith("next, for what is not sure: "), lines[-1])
        words = shlex.split(lines[-1].partition(": ")[2])
        self.assertEqual(words[0], str(PROGRAM))
        self.assertIn("compare.metric=val/loss", words)  # the question stays
        self.assertIn("compare.min_effect=0.5", words)
        self.assertEqual(words[-2:], ["name=study-settled", 'seeds={"until":"settled","first":6}'])
        done = self.ok(*words[1:])  # safe to follow
        named = self.ok("study.json", *(word for word in words[2:-2]), "name=named", "seeds=3").stderr.strip().splitlines()[-1]
        words = shlex.split(named.partition(": ")[2])
        self.assertIn("pictures: ffn-train report runs/study-settled", done.stderr)
        self.assertIn("name=study-settled-tuned", done.stderr)  # now that it is decided, and at one rate
        seeds = {int(p.name.split("-")[1].split(".")[0]) for p in (self.tmp / "runs/study-settled").glob("*/seed-*")}
        fresh = 'seeds={"until":"settled","first":%d}' % (max(seeds) + 1)  # no study of these variants was looked at with them
        self.assertEqual([word for word in words if word.startswith(("name=", "seeds="))], ["name=named-settled", fresh])
        self.assertEqual(min(seeds), 6)  # that nobody has looked at
        self.assertEqual(len(list((self.tmp / "runs/study").glob("*/seed-*"))), 18)

    def test_seeds_that_nobody_looked_at_are_found_where_none_are_left_behind(self):
        tuned = ("tune.train.optimizer.lr=0.01,0.011", "tune.seeds=1")
        for number, (seeds, first, more) in enumerate((([0, 1, 2, 2**63 - 1], 3, ()), ([0, 1, 50, 2**53], 51, ()), ([0, 1, 999999], 2, tuned))):
            arguments = ("xor", "train.steps=20", "model.ffn.activation=gelu,gelu_tanh", "compare.metric=val/loss", f"name=n{number}", *more)
            line = self.last_line(*arguments, f"seeds={json.dumps(seeds)}")
            words = shlex.split(line.partition(": ")[2])
            self.assertEqual(words[-1], 'seeds={"until":"settled","first":%d}' % first)
            self.ok("validate", *(word for word in words[1:]))

    def test_a_path_that_no_terminal_shows_is_named_as_a_shell_reads_it(self):
        out = os.fsencode(self.tmp) + b"/out\xff"
        result = subprocess.run([str(PROGRAM), "xor", "seeds=2", "train.steps=20", "model.ffn.activation=relu,gelu", "-o", out], capture_output=True, cwd=self.tmp, check=True)
        line = result.stderr.decode().strip().splitlines()[-1].partition("next, for what is not sure: ")[2]
        subprocess.run(["bash", "-c", "set -e\n" + line.replace('"settled"', '"settled","max":8')], cwd=self.tmp, check=True, capture_output=True)
        self.assertEqual(sorted(name for name in os.listdir(os.fsencode(self.tmp)) if name.startswith(b"out")), [b"out\xff"])

    def test_without_a_smallest_difference_what_decides_a_study_has_one(self):
        more = ("model.ffn.activation=gelu,gelu_tanh,silu", "train.optimizer.lr=0.011", "seeds=5")
        self.write("study.json", STUDY)
        for name, changes, expected in (("steps", ["train.eval_every=1"], r"[1-9]"), ("coarse", ["train.eval_every=20"], "20"), ("loss", ["compare.metric=val/loss"], r"0\.1")):
            lines = self.ok("study.json", *more, *changes, f"name={name}").stderr.strip().splitlines()
            effect = re.search(r" compare.min_effect=(\S+) ", lines[-1])[1]
            self.assertRegex(effect, f"^{expected}$")
            self.assertEqual(lines[-2], f"Set compare.min_effect (here {effect}) to the smallest difference that matters.")
        self.assertNotIn("Set compare.min_effect", self.ok("study.json", *more, "compare.min_effect=1").stderr)

    def test_too_few_seeds_are_followed_by_fresh_ones(self):
        self.write("study.json", STUDY)
        last = 2**63 - 1
        for name, seeds, first, tune in (("one", "1", 1, ()), ("five", "[5]", 6, ()), ("last", f"[{last}]", 0, ()),
                                         ("tuned", "[999999]", 0, ("tune.train.optimizer.lr=0.01,0.02", "tune.seeds=1"))):
            result = self.ok("study.json", f"name={name}", "-o", name, "train.steps=200", *tune, f"seeds={seeds}")
            self.assertIn("at least 6 are needed", " ".join(result.stdout.split()))
            line = result.stderr.strip().splitlines()[-1]
            words = shlex.split(line.partition("next, for what is not sure: ")[2])
            self.assertEqual(words[-1], '{"until":"settled","first":%d}'.join(["seeds=", ""]) % first, line)
            answer = " ".join(self.ok(*words[1:]).stdout.split())
            self.assertRegex(answer, r"Decided after \d+ seeds", line)
            self.assertNotIn("uggestive", answer)

    def test_after_failures_the_same_command_comes_first(self):
        self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 100}})
        self.ok("study.json", "-q")
        run = run_at(self.tmp / "runs/study/activation=relu/seed-1")
        shutil.rmtree(run)
        run.symlink_to("nowhere")  # no directory can be made there
        line = self.fails(4, "study.json").strip().splitlines()[-1]
        self.assertRegex(line, r"^next, after fixing the errors above: \S+ study.json$")
        run.unlink()
        self.assertIn("1 trained now, 7 found", self.ok(*shlex.split(line.rpartition(": ")[2])[1:]).stderr)

    def test_a_study_that_takes_much_room_says_so_at_its_start(self):
        # 80 runs of 20,000 evaluations would write 400 MB; the first is begun, and the rest is left.
        self.write("large.json", {**STUDY, "seeds": 40, "train": {**STUDY["train"], "steps": 40000, "eval_every": 2}})
        process = subprocess.Popen(self.command("large.json", "-j", "1"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = [process.stderr.readline() for _ in range(2)]  # the task
        process.terminate()
        process.communicate(timeout=60)
        self.assertRegex(said[1], r"^80 runs to train: they will take about 4\d\d MB on disk, in runs/study$")
        self.assertNotIn("on disk", self.ok("large.json", "train.steps=40", "name=small").stderr)

    def test_what_is_one_is_no_plural(self):
        study = {**STUDY, "seeds": 1, "train": {**STUDY["train"], "steps": 40}}
        result = self.ok(self.write("study.json", study), "-j", "2", "-v")
        self.assertRegex(result.stderr, r"\[1/2\] activation=\w+, seed 0: 1 run\n")
        self.assertIn(", 2 runs)", self.ok("report", "runs/study").stdout)
        single = {k: v for k, v in study.items() if k not in ("seeds", "sweep")}
        self.assertIn("parameters, 1 step in ", self.ok(self.write("run.json", single), "train.steps=1", "name=single").stdout)
        self.assertIn(", 1 run)", self.ok("report", "runs/single").stdout)

    def test_fresh_is_not_suggested_again(self):
        self.write("study.json", {**STUDY, "seeds": 3, "train": {**STUDY["train"], "steps": 50}})
        self.ok("study.json")
        self.assertNotIn("--fresh", self.last_line("study.json", "--fresh"))

    def test_every_seed_the_same_is_not_to_be_decided(self):
        study = {**STUDY, "seeds": 6, "train": {**STUDY["train"], "eval_every": 2000, "target": {"metric": "val/accuracy", "at_least": 0.99}}}
        self.assertEqual(self.last_line(self.write("study.json", study)), "next: ffn-train report runs/study")


if __name__ == "__main__":
    main()
