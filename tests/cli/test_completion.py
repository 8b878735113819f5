#!/usr/bin/env python3
"""Completion in the shells that are installed, by their own functions; they offer what the program's help says."""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest, main, run_at

BASH = r"""
source <("$PROGRAM" completion bash)
compopt() { echo "nospace"; }
COMP_LINE=$1 COMP_POINT=${#1}
COMP_WORDBREAKS=${2-$COMP_WORDBREAKS}
_ffn_train
printf '%s\n' "${COMPREPLY[@]}"
"""


class CompletionTest(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.tmp / "bin").mkdir()
        (self.tmp / "bin/ffn-train").symlink_to(PROGRAM)
        self.environment = {**os.environ, "PROGRAM": str(PROGRAM), "PATH": f"{self.tmp / 'bin'}:{os.environ['PATH']}"}

    def asked(self, *words):
        """{word: meaning} that the program offers for the last word."""
        result = subprocess.run([PROGRAM, *words], cwd=self.tmp, env={**self.environment, "FFN_TRAIN_COMPLETE": "test"}, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return dict((line + "\t").split("\t")[:2] for line in result.stdout.splitlines())

    def bash(self, line, *breaks):
        result = subprocess.run(["bash", "-c", BASH, "bash", line, *breaks], cwd=self.tmp, env=self.environment, capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.split("\n")[:-1]

    def subcommands(self):
        section = re.split("(?i)subcommands:\n", self.ok("--help").stdout)[1].partition("\n\n")[0]
        return re.findall(r"^  (\w+) ", section, re.M)


class Words(CompletionTest):
    def test_every_subcommand_and_every_option_of_the_help(self):
        commands = self.subcommands()
        self.assertGreaterEqual(len(commands), 18)
        self.assertEqual([word for word in self.asked("") if word in commands], commands)
        for command in [[], *([name] for name in commands)]:
            text = self.ok(*command, "--help").stdout
            heads = re.findall(r"^ {2,12}((?:--?[a-zA-Z][\w-]*,? *)+)", text, re.M)  # versions of CLI11 write "-h,--help" or "-h,     --help"
            expected = {name for head in heads for name in re.findall(r"--?[a-zA-Z][\w-]*", head)}
            self.assertTrue(expected, command)
            self.assertEqual(set(self.asked(*command, "-")), expected, command)

    def test_keys_go_dot_by_dot_and_values_are_those_of_the_schema(self):
        self.assertEqual(set(self.asked("xor", "model.f")), {"model.ffn."})
        self.assertIn("model.ffn.activation=", self.asked("xor", "model.ffn."))
        self.assertIn("train.optimizer.lr=", self.asked("--config", "xor.json", "train.optimizer."))
        listed = [row["activation"] for row in json.loads(self.ok("list", "activations", "--json").stdout) if "parameter" not in row]
        self.assertEqual(set(self.asked("xor", "model.ffn.activation=")), {"model.ffn.activation=" + name for name in listed})
        self.assertEqual(set(self.asked("xor", "model.ffn.activation=relu,sig")), {"model.ffn.activation=relu,sigmoid"})
        self.assertEqual(
            set(self.asked("xor", "compute.precision=")), {"compute.precision=float32", "compute.precision=tf32", "compute.precision=bfloat16"}
        )
        self.assertLess({"model.ffn.kind=moe", "model.ffn.kind=gated"}, set(self.asked("xor", "model.ffn.kind=")))
        self.assertEqual(list(self.asked("xor", "train.steps=")), ["train.steps=1000"])

    def test_every_key_can_be_reached(self):
        keys = [row.split()[0] for row in self.ok("list", "keys").stdout.splitlines()[1:] if row[0] != " "]
        self.assertGreater(len(keys), 60)
        for key in keys:
            typed = ""
            for part in key.split("."):
                offered = self.asked("xor", typed + part[:1])
                self.assertTrue({typed + part + ".", typed + part + "="} & set(offered), (key, typed, offered))
                typed += part + "."

    def test_configs_and_files(self):
        self.write("mine.json", "{}")
        self.write("notes.txt", "")
        offered = self.asked("")
        self.assertLess({"xor", "activations", "mine.json"}, set(offered))
        self.assertNotIn("notes.txt", offered)
        self.assertEqual(set(self.asked("plan", "mi")), {"mine.json"})
        self.assertEqual(set(self.asked("cp", "why")), {"why-ffn"})
        self.assertEqual(set(self.asked("cp", "xor", "no")), {"notes.txt"})
        self.assertEqual(set(self.asked("text", "task.file=no")), {"task.file=notes.txt"})

    def test_directories_of_runs(self):
        self.ok("xor", "train.steps=20", "-q")
        self.ok("xor", "name=study", "seeds=2", "train.steps=20", "-q")
        (self.tmp / "other").mkdir()
        self.assertEqual(set(self.asked("compare", "")), {"runs/study/", "runs/xor/"})
        self.assertEqual(set(self.asked("sample", "runs/xor/")), {f"runs/xor/{run_at(self.tmp / 'runs/xor/seed-0').name}"})
        self.assertEqual(set(self.asked("report", "runs/study", "-o", "o")), {"other/"})
        self.assertEqual(set(self.asked("export", "runs/study", "runs/x")), {"runs/xor/"})

    def test_values_of_options(self):
        self.assertEqual(set(self.asked("xor", "--engine", "")), {"auto", "cpu", "torch"})
        self.assertEqual(set(self.asked("xor", "--color=")), {"--color=auto", "--color=always", "--color=never"})
        self.assertLess({"val/loss", "steps_to_target"}, set(self.asked("compare", "runs", "--metric", "")))
        self.assertEqual(set(self.asked("compare", "runs", "--by", "train.optimizer.lr")), {"train.optimizer.lr", "train.optimizer.lr_scale"})
        self.assertLess({"activations", "keys"}, set(self.asked("list", "")))
        self.assertEqual(set(self.asked("completion", "")), {"bash", "zsh", "fish"})
        self.assertEqual(self.asked("xor", "-j", ""), {})

    def test_it_answers_at_once(self):
        environment = {**self.environment, "FFN_TRAIN_COMPLETE": "test"}
        self.assertLess(self.processor_seconds("xor", "model.ffn.", env=environment), 0.05)


class Shells(CompletionTest):
    NAMES = ["a$(touch pwned)", "b;touch pwned;b", "c run", "d's", 'e"q', "f\\b", "g!x", "h&touch pwned", "i*", "j`touch pwned`", "k{1,2}", "l~", "m#x", "n|x", "o<p", "p>pwned", "qü r", "r:s t"]

    def inserts_names(self, command, load):
        """In a terminal: the beginning of each name, Tab, Enter; the program is told the whole name as one word."""
        told = self.tmp / "told"
        program = self.tmp / "bin/ffn-train"
        program.unlink()
        program.write_text(f'#!/bin/bash\n[[ -n $FFN_TRAIN_COMPLETE || $1 == completion ]] && exec "{PROGRAM}" "$@"\n'
                           f'printf "%s\\n" "$#" "$@" > {told}.new; mv {told}.new {told}\n')
        program.chmod(0o755)
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.tmp)
            os.execvpe(command[0], command, {**self.environment, "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": str(self.tmp)})
        screen = b""

        def until(is_done, seconds=20):
            nonlocal screen
            end = time.monotonic() + seconds
            while not is_done() and time.monotonic() < end:
                if select.select([terminal], [], [], 0.05)[0]:
                    screen += os.read(terminal, 65536)
            self.assertTrue(is_done(), screen.decode(errors="replace"))

        def enter(text):
            """The next prompt is waited for, as a Tab before it would be one of the terminal's."""
            before = len(screen)
            os.write(terminal, text + b"\r")
            until(lambda: told.exists() and b"@READY@" in screen[before:])

        try:
            enter(f"cd {self.tmp}; {load}; ffn-train ready".encode())
            for name in self.NAMES:
                (self.tmp / "runs" / name).mkdir(parents=True)
                (self.tmp / "runs" / name / "run.json").touch()  # a run: the word ends there
                typed = [f"runs/{name[0]}"] + ["runs/c\\ r"] * (name == "c run") + [quote + f"runs/{name[0]}" for quote in "'\"" if name[0] not in "gr"]
                for beginning in typed:
                    told.unlink()
                    os.write(terminal, f"ffn-train inspect {beginning}\t".encode())
                    time.sleep(0.05)
                    enter(b"")
                    self.assertEqual(told.read_text(encoding="utf-8"), f"2\ninspect\nruns/{name}\n", screen.decode(errors="replace"))
        finally:
            os.close(terminal)
            os.waitpid(child, 0)
        self.assertFalse([path for path in self.files() if "pwned" in path.split("/")])

    def test_bash_completes_what_stands_behind_its_word_breaks(self):
        self.assertEqual(self.bash("ffn-train comp"), ["compare", "completion"])
        self.assertEqual(self.bash("ffn-train xor model.ffn.activation=re"), [word.partition("=")[2] for word in self.asked("xor", "model.ffn.activation=re")])
        self.assertEqual(self.bash("ffn-train xor model.ffn.activation=re", " \t\n"), list(self.asked("xor", "model.ffn.activation=re")))
        self.assertEqual(self.bash("ffn-train xor model.ffn.activation=relu,gel")[0], "relu,gelu")

    def test_bash_goes_on_behind_a_dot_and_an_equals_sign(self):
        self.assertEqual(self.bash("ffn-train xor model.f"), ["nospace", "model.ffn."])
        self.assertEqual(self.bash("ffn-train xor seeds"), ["nospace", "seeds="])
        self.assertNotIn("nospace", self.bash("ffn-train plan --js"))

    @unittest.skipUnless(shutil.which("bash"), "needs bash")
    def test_bash_inserts_any_name_as_one_word_and_runs_nothing(self):
        self.inserts_names(["bash", "--norc", "--noprofile", "-i"], "source <(ffn-train completion bash); PS1=@REA''DY@")

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_zsh_inserts_any_name_as_one_word_and_runs_nothing(self):
        self.inserts_names(["zsh", "-f", "-i"], f"autoload -U compinit; compinit -u -d {self.tmp}/dump; source <(ffn-train completion zsh); PS1=@REA''DY@")

    @unittest.skipUnless(shutil.which("fish"), "needs fish")
    def test_fish_inserts_any_name_as_one_word_and_runs_nothing(self):
        self.inserts_names(["fish", "--no-config", "-i"], "ffn-train completion fish | source; function fish_prompt; echo @REA''DY@; end")

    def test_bash_reads_the_words_before_as_the_shell_does(self):
        self.write("a b/my mixed.json", "{}")
        for typed in (r"a\ b/", "'a b/'", '"a b"/', r'a" "b/my\ m'):
            self.assertEqual([reply for reply in self.bash("ffn-train plan " + typed) if reply != "nospace"], [r"a\ b/my\ mixed.json"], typed)
        self.assertEqual(self.bash("ffn-train plan 'a b/my m"), ["a b/my mixed.json"])
        self.assertEqual(self.bash("ffn-train 'x'or model.ffn.activation=relu,gel")[0], "relu,gelu")

    def test_bash_completes_an_empty_word(self):
        self.assertEqual(self.bash("ffn-train completion "), ["bash", "zsh", "fish"])

    def test_the_scripts_are_in_their_shells_grammar(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.write(shell, self.ok("completion", shell).stdout)
            if shutil.which(shell):
                result = subprocess.run([shell, "-n", script], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)

    @unittest.skipUnless(shutil.which("fish"), "needs fish")
    def test_fish_completes(self):
        ask = lambda line: subprocess.run(["fish", "-c", 'ffn-train completion fish | source; complete -C "$argv"', line], cwd=self.tmp, env=self.environment,
                                          capture_output=True, text=True)
        result = ask("ffn-train xor model.ffn.activation=rel")
        self.assertEqual(result.stderr, "")
        self.assertEqual({line.split("\t")[0] for line in result.stdout.splitlines()}, set(self.asked("xor", "model.ffn.activation=rel")))
        self.assertIn("compare\twhich variant is better", ask("ffn-train comp").stdout)
        self.assertEqual(len(ask("ffn-train completion ").stdout.splitlines()), 3)

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_zsh_completes(self):
        def ask(line):
            # A terminal of zsh's own, as completion works in its line editor alone.
            script = f"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; stty cols 200; cd {self.tmp}; PATH={self.environment['PATH']}; autoload -U compinit; compinit -u -d {self.tmp}/dump; source <(ffn-train completion zsh)'
zpty -w z 'echo REA''DY'
zpty -r -m z REC '*READY*'
zpty -w -n z $'{line}\\t'
sleep 1
zpty -w -n z $'\\x15'
zpty -w z 'echo EN''D'
zpty -r -m z OUT '*END*'
print -r -- "$OUT"
"""
            return subprocess.run(["zsh", "-f", "-c", script], cwd=self.tmp, env=self.environment, capture_output=True, text=True, timeout=60).stdout
        self.assertIn("which variant is better", ask("ffn-train comp"))
        self.assertIn("model.ffn.", ask("ffn-train xor model.f"))


if __name__ == "__main__":
    main()
