"""Runs of another program (engine.command): each is what the program says, failed runs stay failed, and nothing of it outlives ffn-train."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from program import ROOT, ProgramTest, main, record, run_at


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class CommandTest(ProgramTest):
    def study(self, script, name="study.json", engine=None, **keys):
        """A study of `act` with a shell script, which counts its starts."""
        self.write("train.sh", "#!/bin/sh\necho run >> ran.txt\n" + script).chmod(0o755)
        return self.write(name, {"name": "s", "act": "a", "sweep": {"grid": {"act": ["a", "b"]}}, "seeds": 4, **keys,
                                 "engine": {"command": ["./train.sh", "{act}", "{seed}"], "metrics": {"loss": {"regex": r"loss (\S+)"}}, **(engine or {})}})

    def run_of(self, act, seed):
        return run_at(self.tmp / f"runs/s/act={act}/seed-{seed}")

    def count(self):
        return len((self.tmp / "ran.txt").read_text().splitlines())

    def states(self):
        return {f"{path.parent.parent.name[4:]}{record(path)['config']['seed']}": record(path)["state"] for path in (self.tmp / "runs/s").glob("act=*/*/run.json")}


class ResultTest(CommandTest):
    def test_each_run_is_what_the_program_printed(self):
        self.study('echo "loss 9"; echo "loss $2.5 of $1"; echo "to stderr" >&2\n', engine={"environment": {"TUNE": "x y"}})
        answer = json.loads(self.ok("study.json", "--json").stdout)
        self.assertEqual((answer["metric"], answer["direction"]), ("loss", "lower"))
        for act in "ab":
            for seed in range(4):
                run = self.run_of(act, seed)
                self.assertEqual(record(run)["summary"]["metrics"]["loss"]["final"], seed + 0.5)
                self.assertEqual(((run / "stdout.txt").read_text(), (run / "stderr.txt").read_text()), (f"loss 9\nloss {seed}.5 of {act}\n", "to stderr\n"))
                kept = json.loads((run / "command.json").read_text())
                self.assertEqual((kept["command"], kept["exit_code"], kept["timed_out"]), (["./train.sh", act, str(seed)], 0, False))
                self.assertEqual(kept["environment"], {"TUNE": "x y", "FFN_RUN_DIR": str(run / "output")})
                self.assertEqual([len(digest) for digest in kept["sha256"].values()], [64])
        self.assertEqual(self.count(), 8)
        self.ok("study.json")
        self.assertEqual(self.count(), 8)  # finished runs are not run again
        self.assertIn("8 whole", self.ok("check", "runs").stdout)
        (self.run_of("a", 1) / "stdout.txt").write_text("loss 0\n")
        self.assertIn("stdout.txt: ", self.run_program("check", "runs").stdout)

    def test_metrics_come_of_json_csv_and_text_with_curves(self):
        script = """printf 'step,acc\\n10,0.5\\n20,\\n30,0.75\\n' > "$FFN_RUN_DIR/log.csv"
echo '{"deep": {"f1": [1, 0.25]}, "bad": NaN, "s": "NaN"}' > "$3/out.json"
printf 'step 15: loss 4\\nstep 30: loss %s\\n' $2 >&2
mkdir -p kept && touch kept/file && ln -s "$PWD/kept" $3/link
"""
        self.study(script, engine={"command": ["./train.sh", "{act}", "{seed}", "{run_dir}"],
                                   "metrics": {"loss": {"regex": r"step (\d+): loss (\S+)"}, "acc": {"csv": "log.csv:acc"}, "f1": {"json": "out.json:/deep/f1/1"}}})
        self.ok("study.json")
        lines = [json.loads(line) for line in (self.run_of("a", 2) / "metrics.jsonl").read_text().splitlines()]
        for line in lines:
            self.assertGreater(line.pop("time_s"), 0)
        self.assertEqual(lines, [{"step": 10, "tokens": 0, "acc": 0.5}, {"step": 15, "tokens": 0, "loss": 4.0},
                                 {"step": 30, "tokens": 0, "loss": 2.0, "acc": 0.75, "f1": 0.25}])
        self.assertIn("higher is better", self.ok("curves", "runs/s", "--metric", "acc").stdout)
        self.assertEqual(json.loads(self.ok("compare", "runs/s", "--metric", "best loss", "--json").stdout)["metric"], "best loss")
        self.assertIn("has logged", self.fails(2, "compare", "runs/s", "--metric", "val/loss"))
        self.assertNotIn("stays", self.ok("rm", "--yes", "runs/s").stdout)  # with output/
        self.assertEqual(((self.tmp / "runs/s").exists(), (self.tmp / "kept/file").exists()), (False, True))

    def test_failed_runs_count_as_worst_and_stay_failed(self):
        self.study("""case $1$2 in
b1) echo "loss 1"; echo "no memory" >&2; exit 3 ;;
b2) echo nothing ;;
b3) echo "loss nan" ;;
b4) sleep 60 ;;
b5) kill -SEGV $$ ;;
*) echo "loss $2" ;;
esac
""", seeds=8, engine={"timeout": "1s"})
        done = self.run_program("study.json", "-j", 4, "--json")
        self.assertEqual(done.returncode, 4, done.stderr)
        wanted = {f"{act}{seed}": "done" for act in "ab" for seed in range(8)} | {"b1": "failed", "b2": "failed", "b3": "diverged", "b4": "failed", "b5": "failed"}
        self.assertEqual(self.states(), wanted)
        reasons = [record(self.run_of("b", seed))["reason"] for seed in range(1, 6)]
        self.assertEqual(reasons[0], 'exit code 3: "no memory"')
        for reason, part in zip(reasons[1:], ("no loss: nothing printed matches", "loss is not finite", "longer than engine.timeout, 1s", "killed by signal 11, Segmentation fault")):
            self.assertIn(part, reason)
        pair = json.loads(done.stdout)["facets"][0]["pairs"][0]
        self.assertEqual((pair["wins"], pair["losses"], pair["seeds"]), (0, 5, 8))
        self.assertIn("4 failed", done.stderr)
        again = self.run_program("study.json")
        self.assertEqual((again.returncode, self.count(), self.states()), (4, 16, wanted))
        self.ok("rm", "--yes", self.run_of("b", 1))
        self.run_program("study.json")
        self.assertEqual(self.count(), 17)

    def test_a_progress_bar_ends_lines_with_carriage_returns(self):
        self.study("head -c 20000 /dev/zero | tr '\\0' =; printf '\\rloss 3\\rloss %s' \"$2\"\n", seeds=2)
        self.ok("study.json")
        self.assertEqual([record(self.run_of("b", seed))["summary"]["metrics"]["loss"]["final"] for seed in range(2)], [0, 1])
        self.assertIn("      0.00  ", self.ok("runs", "runs").stdout)  # the best loss

    def test_every_run_failing_says_why(self):
        self.study("echo loss nan\n", name="nan.json")
        self.assertIn("every run failed or diverged: loss is not finite", self.fails(1, "nan.json", "name=nan"))
        self.study("echo no module >&2; exit 1\n")
        self.assertIn('every run failed or diverged: exit code 1: "no module"', self.fails(1, "study.json"))
        self.assertEqual(self.count(), 16)

    def test_a_missing_file_a_wrong_number_and_a_missing_pointer_are_named(self):
        for metric, script, reason in (({"json": "o.json:/x"}, ":", "no loss: there is no o.json in {run_dir}"), ({"json": "o.json:/x"}, "echo '{' > $FFN_RUN_DIR/o.json", "is no JSON"),
                                       ({"json": "o.json:/x"}, "echo '{}' > $FFN_RUN_DIR/o.json", "o.json has no /x"), ({"json": "o.json:/x"}, """echo '{"x": "1"}' > $FFN_RUN_DIR/o.json""", "is no number"),
                                       ({"csv": "o.csv:l"}, "echo 'a,b' > $FFN_RUN_DIR/o.csv", "has no column l"), ({"csv": "o.csv:l"}, "printf 'l,a\\n,1\\n' > $FFN_RUN_DIR/o.csv", "column is empty"),
                                       ({"regex": "l (.*)"}, "echo l x3", '"x3" is no number')):
            self.study(script + "\n", seeds=1, engine={"metrics": {"loss": metric}, "command": ["./train.sh", "{act}"]})
            self.assertIn(reason, self.fails(1, "study.json", "--fresh"))

    def test_a_value_is_one_argument_and_no_shell_reads_it(self):
        values = ["; touch touched", "$(touch touched)", "a b*", "-x", ""]
        self.study('echo "loss 1"; printf "%s" "$1"\n', sweep={"grid": {"act": values}}, seeds=1)
        self.ok("study.json")
        said = {path.read_text().split("\n", 1)[1] for path in (self.tmp / "runs/s").glob("*/*/stdout.txt")}
        self.assertEqual(said, set(values))
        self.assertFalse((self.tmp / "touched").exists())

    def test_another_program_is_another_run(self):
        self.study('echo "loss 1"\n', seeds=1)
        self.ok("study.json")
        self.study('echo "loss 2"\n', seeds=1)
        self.ok("study.json")
        self.assertEqual(len(list((self.tmp / "runs/s/act=a").glob("seed-0.*"))), 2)
        self.study('echo "loss 2"\n', seeds=1, engine={"timeout": "1h"})  # no other run
        self.ok("study.json")
        self.assertEqual(self.count(), 4)
        self.study('echo "loss 2"\n', seeds=1, engine={"files": ["data.txt"]})
        self.write("data.txt", "1")
        self.ok("study.json")
        self.write("data.txt", "2")
        self.ok("study.json")
        self.assertEqual(self.count(), 8)
        self.assertIn("data.txt", self.fails(3, "study.json", 'engine.files=["data.txt", "nowhere.txt"]').replace("nowhere", "data"))

    def test_gpus_are_dealt_out(self):
        self.study('mkdir gpu$CUDA_VISIBLE_DEVICES || exit 1\nsleep 0.2\nrmdir gpu$CUDA_VISIBLE_DEVICES\necho "loss $2 on $CUDA_VISIBLE_DEVICES"\n')
        self.ok("study.json", env={**os.environ, "CUDA_VISIBLE_DEVICES": "4,7"})
        self.assertEqual({path.read_text().split()[3] for path in (self.tmp / "runs/s").glob("*/*/stdout.txt")}, {"4", "7"})
        self.assertEqual({json.loads(path.read_text())["environment"]["CUDA_VISIBLE_DEVICES"] for path in (self.tmp / "runs/s").glob("*/*/command.json")}, {"4", "7"})

    def test_what_a_program_left_running_ends_with_it(self):
        self.study('sleep 1000 & echo $! >> pids.txt\necho "loss 1"\n', seeds=1)
        self.ok("study.json")
        self.assertEqual([is_alive(pid) for pid in (self.tmp / "pids.txt").read_text().split()], [False, False])


class StudyTest(CommandTest):
    """Tuning, sequential designs, shards and what was killed, with a program that is quick."""
    SCRIPT = """awk -v act="$1" -v seed="$2" -v rate="$3" 'BEGIN { srand(seed); print "loss", 1 + (act == "b") + (rate - 2) ^ 2 + 0.2 * rand() }'\n"""

    def tuned(self, script="", **keys):
        return self.study(script + self.SCRIPT, rate=2, engine={"command": ["./train.sh", "{act}", "{seed}", "{rate}"]}, **keys)

    def test_a_tuned_sequential_study(self):
        self.tuned(seeds={"until": "settled", "max": 24}, tune={"rate": [1, 2, 3, 4], "seeds": 2})
        answer = json.loads(self.ok("study.json", "-j", 2, "--json").stdout)
        self.assertEqual(answer["facets"][0]["pairs"][0]["verdict"], "worse")
        self.assertEqual([variant["curve"][1]["chosen"] for variant in answer["tuning"]["variants"]], [1, 1])
        seeds = {json.loads(path.read_text())["command"][2] for path in (self.tmp / "runs/s").glob("act=*/*/command.json")}
        self.assertEqual(seeds, {str(seed) for seed in range(8)})
        self.assertEqual([path.name for path in next((self.tmp / "runs/s/tuning").glob("*/seed-*")).iterdir()], ["run.json"])  # other seeds, run.json alone
        before = self.count()
        self.ok("study.json")
        self.assertEqual(self.count(), before)
        page = self.ok("report", "runs/s", "-o", "page.html")
        self.assertIn("page.html", page.stdout)

    def test_shards_that_are_merged_are_the_study(self):
        self.tuned(seeds=4)
        self.ok("study.json")
        whole = self.ok("compare", "runs/s").stdout
        for shard in ("1/2", "2/2"):
            self.ok("study.json", "--shard", shard, "-o", "part" + shard[0])
        self.ok("merge", "part1/s", "part2/s", "-o", "merged/s")
        self.assertEqual(self.ok("compare", "merged/s").stdout, whole)

    def killed(self, seconds, victim):
        """Starts a slow study, calls victim(parent, workers) when three runs are done and two under way, and returns the exit code."""
        self.tuned("echo $$ >> pids.txt; sleep 0.3\n", seeds=8)
        process = subprocess.Popen(self.command("study.json", "-j", 2), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.time() + seconds
        def done():
            return list(self.states().values()).count("done")
        while (done() < 3 or self.count() < done() + 2) and time.time() < until:
            time.sleep(0.01)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        victim(process.pid, [int(child) for child in children])
        return process.wait(timeout=seconds)

    def ends_as_if_undisturbed(self):
        time.sleep(0.5)
        self.assertEqual([pid for pid in (self.tmp / "pids.txt").read_text().split() if is_alive(pid)], [])
        self.ok("study.json", "-j", 2)
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertLessEqual(self.count(), 18)  # those that were under way, twice
        answer = self.ok("compare", "runs/s").stdout
        shutil.rmtree(self.tmp / "runs")
        self.ok("study.json")
        self.assertEqual(self.ok("compare", "runs/s").stdout, answer)

    def test_a_killed_parent(self):
        self.assertEqual(self.killed(60, lambda parent, workers: os.kill(parent, signal.SIGKILL)), -signal.SIGKILL)
        self.ends_as_if_undisturbed()

    def test_a_killed_worker_costs_its_run_one_retry(self):
        self.assertEqual(self.killed(60, lambda parent, workers: os.kill(workers[0], signal.SIGKILL)), 0)
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertEqual(self.count(), 17)
        self.ends_as_if_undisturbed()

    def test_an_interrupted_study(self):
        self.assertEqual(self.killed(60, lambda parent, workers: os.kill(parent, signal.SIGTERM)), 75)
        self.assertLess(list(self.states().values()).count("done"), 16)
        self.ends_as_if_undisturbed()

    def test_a_program_that_ignores_sigterm_is_killed(self):
        self.study("trap '' TERM\nsleep 60 & wait\nsleep 60\n", seeds=1, engine={"timeout": "0.5s"}, sweep={"grid": {"act": ["a"]}})
        begun = time.time()
        self.fails(1, "study.json")
        self.assertLess(time.time() - begun, 20)

    def test_an_attempt_that_did_not_end_leaves_nothing_to_the_next(self):
        self.study('test ! -e "$FFN_RUN_DIR/half" || exit 9\ntouch "$FFN_RUN_DIR/half"\ntest -e go || exec sleep 60\necho "loss 1"\n', seeds=1, sweep={"grid": {"act": ["a"]}})
        process = subprocess.Popen(self.command("study.json"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not list(self.tmp.glob("runs/s/*/*/output/half")):
            time.sleep(0.01)
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 75)
        self.write("go", "")
        self.ok("study.json")

    def test_a_program_that_changes_meanwhile_is_not_run(self):
        self.study('sed -i "s/loss 1/loss 2/" train.sh\necho "loss 1"\n')
        self.assertIn("changed since the study was started", self.run_program("study.json").stderr)
        self.assertEqual(self.count(), 1)


class ConfigTest(CommandTest):
    def refused(self, reason, *arguments, **keys):
        self.study("", **keys)
        self.assertIn(reason, self.fails(2, "study.json", *arguments))
        self.assertFalse((self.tmp / "runs").exists())
        self.assertFalse((self.tmp / "ran.txt").exists())

    def test_keys_and_placeholders_have_to_meet(self):
        self.refused('/engine/command/1: no key "acd" in this config; did you mean "act"?', engine={"command": ["./train.sh", "{acd}", "{act}", "{seed}"]})
        self.refused("/width: unknown key: no argument of engine.command names it", width=3)
        self.refused('/sweep/grid/actt: unknown key: no argument of engine.command names it; did you mean "act"?', sweep={"grid": {"actt": ["a", "b"]}})
        self.refused("/tune/rate: unknown key: no argument of engine.command names it", tune={"rate": [1, 2]})
        self.refused("no argument has {seed}", engine={"command": ["./train.sh", "{act}"]})
        self.refused("this key is ffn-train's own", run_dir="x", engine={"command": ["./train.sh", "{act}", "{seed}", "{run_dir}"]})

    def test_braces_that_are_no_placeholders_stay(self):
        self.study('echo "loss 1"; echo "$3"\n', seeds=1, engine={"command": ["./train.sh", "{act}", "{seed}", '{"a": {"b": 1}} {1} {{act} {}']})
        self.ok("study.json")
        self.assertEqual((self.run_of("a", 0) / "stdout.txt").read_text(), 'loss 1\n{"a": {"b": 1}} {1} {act} {}\n')

    def test_what_is_wrong_with_the_engine_is_said_before_anything_runs(self):
        for engine, reason in (({"command": []}, "/engine/command: expected a list of texts"), ({"command": ["./train.sh", 3]}, "/engine/command"), ({"command": [""]}, "/engine/command"), ({"metrics": {}}, "names no number to compare"),
                               ({"metrics": {"loss": {"regex": "("}}}, "a regular expression with a group"), ({"metrics": {"loss": {"regex": "loss"}}}, "a regular expression with a group"),
                               ({"metrics": {"loss": {"json": "out.json"}}}, "FILE:/POINTER"), ({"metrics": {"loss": {"json": "o.json:/a~2"}}}, "~0 for ~"), ({"metrics": {"loss": {"csv": "x.csv:"}}}, "FILE:COLUMN"), ({"metrics": {"loss": "x"}}, "expected {"),
                               ({"metrics": {"speed": {"regex": "(.)"}}}, "whether a higher speed is better is not known"), ({"metrics": {"a b_loss": {"regex": "(.)"}}}, "no name for a metric"),
                               ({"timeout": "soon"}, "is no time"), ({"environment": {"A": 1}}, "expected texts"), ({"shell": "x"}, '"shell"'), ({"workdir": "nowhere"}, "no directory"),
                               ({"command": ["no-such-program", "{act}", "{seed}"]}, "there is no program no-such-program"), ({"command": ["./data", "{act}", "{seed}"]}, "there is no program ./data")):
            self.write("data", "not executable")
            self.refused(reason, engine=engine)
        self.refused('engine.metrics has no "lose"; did you mean "loss"?', compare={"metric": "lose"})
        self.refused("/ladder: a ladder goes by parameters", ladder={"key": "depth", "values": [1, 2]}, depth=1, engine={"command": ["./train.sh", "{act}", "{seed}", "{depth}"]})
        self.refused("--fast-dev-run counts steps", "--fast-dev-run")
        self.refused("--budget needs a short probe", "--budget", "1m")
        self.refused("/compute", "--engine", "cpu")

    def test_commands_about_networks_are_refused(self):
        self.study('echo "loss 1"\n')
        for command in ("verify", "params", "coord-check"):
            self.assertIn("this config runs a program", self.fails(2, command, "study.json"))
        self.ok("study.json")
        for command in ("inspect", "predict", "sample"):
            self.assertIn("a run of another program", self.fails(2, command, self.run_of("a", 0)))

    def test_one_run_is_a_study_of_one_run(self):
        self.study('echo "loss $2.5"\n')
        config = json.loads((self.tmp / "study.json").read_text())
        del config["sweep"], config["seeds"]
        self.write("one.json", {**config, "seed": 3})
        self.ok("one.json")
        run = run_at(self.tmp / "runs/s/base/seed-3")
        self.assertEqual(record(run)["summary"]["metrics"]["loss"]["final"], 3.5)
        self.assertIn("1 found finished", self.ok(run).stderr)  # run.json can be run again

    def test_plan_and_validate_run_nothing(self):
        self.study('echo "loss 1"\n')
        self.assertIn("8 runs, 8 to train", self.ok("plan", "study.json").stdout)
        self.ok("validate", "study.json")
        self.assertFalse((self.tmp / "ran.txt").exists())


class ExampleTest(ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "experiments/command", self.tmp / "command")

    def test_the_shell_script(self):
        self.assertIn("rate 0.1 has the lowest loss", " ".join(self.ok("command/noise.json").stdout.split()))

    @unittest.skipIf(subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0, "no PyTorch for /usr/bin/python3")
    def test_the_pytorch_script_is_a_tuned_sequential_study(self):
        answer = json.loads(self.ok("command/xor.json", "-j", 2, "--json", "tune.train.lr=0.01,0.1", "tune.seeds=1", "seeds.max=8", "model.act=relu,tanh", timeout=600,
                                    env={**os.environ, "PATH": "/usr/bin:/bin"}).stdout)
        self.assertEqual(answer["metric"], "val/loss")
        self.assertEqual(len(answer["tuning"]["variants"]), 2)
        curves = self.ok("curves", "runs/xor-torch").stdout
        self.assertIn("val/loss", curves)


if __name__ == "__main__":
    main()
