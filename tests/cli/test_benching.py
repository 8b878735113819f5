#!/usr/bin/env python3
"""The measured tables: means beside medians, which cores each side had."""
import os
import sys
import unittest
from unittest import mock

from program import PROGRAM, ROOT, main

sys.path.insert(0, str(ROOT / "scripts/measure"))
sys.dont_write_bytecode = True
from benching import instruction_sets, measuring, results, workloads  # noqa: E402

V3, V4 = (instruction_sets.INSTRUCTION_SETS[name] for name in ("v3", "v4"))


class Cells(unittest.TestCase):
    def test_losses_are_the_mean_and_the_median_over_all_runs(self):
        self.assertEqual(results.loss_cell({"relu 4": [1.0, 2.0], "gelu 4": [9.0]}), "4, 2")
        self.assertEqual(results.loss_cell({"relu 4": [3.0]}), "3")
        self.assertEqual(results.loss_cell({}), "")

    def test_a_ratio_has_the_cores_of_both_sides(self):
        ours = workloads.Side("ours", [["a"]], workers=2)
        rival = workloads.Side("PyTorch", [["b"], ["c"]], threads=4, bar=2)
        work = workloads.Workload("work", "", ours, [rival])
        row = results.table_rows(work, {id(ours): [1.0, 1.0, 2.0], id(rival): [3.0, 1.0, 2.0]}, {}, {id(rival): [0, 0, 0]})[0]
        self.assertEqual(row[results.HEADER.index("cores: ours / rival")], "2 × 1 / 2 × 4")
        self.assertEqual(row[results.HEADER.index("ratio (range over rounds)")], "2 (1–3)")
        self.assertEqual(row[results.HEADER.index("without compilation")], "")
        self.assertEqual(row[results.HEADER.index("met")], "yes")

    def test_compilation_stands_apart_and_its_share_of_a_process_in_a_ratio_of_its_own(self):
        ours, jax = workloads.Side("ours", [["a"]]), workloads.Side("JAX", [["b"]])
        work = workloads.Workload("w", "", ours, [jax])
        row = results.table_rows(work, {id(ours): [1.0] * 3, id(jax): [9.0, 7.0, 8.0]}, {}, {id(jax): [6.0, 4.0, 4.0]})[0]
        self.assertEqual([row[results.HEADER.index(name)] for name in ("rival's time", "ratio (range over rounds)", "without compilation")],
                         ["8 s, compilation 4 s", "8 (7–9)", "3"])  # fmt: skip

    def test_every_row_has_the_columns_of_the_header(self):
        ours = workloads.Side("ours", [["a"]])
        failed = results.failed_row(workloads.Workload("w", "", ours))
        self.assertEqual(len(failed), len(results.HEADER))
        self.assertEqual(failed[results.HEADER.index("met")], "NO")


class PerStep(unittest.TestCase):
    def test_more_steps_that_take_no_longer_are_no_time_per_step(self):
        side = workloads.Side("ours", [["a"]], steps="100", fewer_steps="50")
        measured = measuring.Measuring(V3)
        measured.once = lambda side, steps: ({"100": 6.0, "50": 1.0}[steps], {}, 0)
        self.assertAlmostEqual(measured.side(side)[0], 0.1)
        measured.once = lambda side, steps: ({"100": 16.0, "50": 31.0}[steps], {}, {"100": 10.0, "50": 30.0}[steps])
        self.assertAlmostEqual(measured.side(side)[0], 0.1)  # compilation is of no step
        measured.once = lambda side, steps: (1.0, {}, 0)
        with self.assertRaisesRegex(RuntimeError, "100 steps took no longer than 50"):
            measured.side(side)


class Pinned(unittest.TestCase):
    def test_more_commands_than_cores_all_run_each_on_one_core(self):
        core = min(os.sched_getaffinity(0))
        with mock.patch.object(measuring.os, "sched_getaffinity", return_value={core}):
            _, printed = measuring.run_together([["grep", "Cpus_allowed_list", "/proc/self/status"]] * 3, {}, dict(os.environ), pinned=True)
        self.assertEqual([text.split()[-1] for text in printed], [str(core)] * 3)


class Held(unittest.TestCase):
    def test_both_sides_have_what_holds_them_and_nothing_of_the_shell(self):
        instruction_sets.os.environ["OPENBLAS_CORETYPE"] = "Prescott"
        self.addCleanup(instruction_sets.os.environ.pop, "OPENBLAS_CORETYPE")
        env = instruction_sets.environment(V3, 1)
        self.assertEqual((env["FFN_ISA"], env["OPENBLAS_CORETYPE"], env["OPENBLAS_NUM_THREADS"]), ("v3", "Zen", "1"))
        self.assertEqual(instruction_sets.environment(V4, 2)["OPENBLAS_NUM_THREADS"], "2")

    def test_every_workload_of_ours_says_how_many_threads_it_has(self):
        seen = 0
        for work in workloads.Catalogue(PROGRAM, quick=True).all():
            for side in [work.ours, *work.rivals]:
                for command in side.commands:
                    if "-j" in command:
                        seen += 1
                        self.assertEqual(command[command.index("--threads") + 1], str(side.threads), work.name)
        self.assertGreaterEqual(seen, 4)

    def test_rivals_that_need_a_python_are_there_with_it_alone_and_do_the_same_work(self):
        def rivals(python):
            works = workloads.Catalogue(PROGRAM, quick=True, python=python).all()
            return {(work.name, side.label): side.commands for work in works for side in work.rivals}

        debian, both = rivals(None), rivals("/venv/python")
        self.assertEqual({command[0] for commands in debian.values() for command in commands}, {str(PROGRAM), workloads.PYTHON})
        self.assertEqual({key: both[key] for key in debian}, debian)
        added = {key: commands for key, commands in both.items() if key not in debian}
        self.assertEqual({command[0] for commands in added.values() for command in commands}, {"/venv/python"})
        for name in ("xor-study", "xor-once", "block-study", "char"):
            labels = [label for work, label in added if work == name]
            self.assertTrue(any(label.startswith("JAX") for label in labels) and any(label.startswith("PyTorch 2") for label in labels), labels)
        for (_, label), commands in both.items():
            for script in {command[1] for command in commands if command[0] != str(PROGRAM)}:
                self.assertTrue(workloads.Path(script).is_file(), f"{label}: {script}")


if __name__ == "__main__":
    main()
