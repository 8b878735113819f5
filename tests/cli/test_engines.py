#!/usr/bin/env python3
"""Two engines behind one command line: who trains, what is recorded, what happens when a run changes hands."""
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

from program import ProgramTest, main, run_at, record

XOR = {
    "name": "x", "seed": 1,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu", "dropout": 0.1}},
    "train": {"steps": 300, "eval_every": 50, "checkpoint_every": 50, "optimizer": {"lr": 0.005}},
}
HAS_GPU = shutil.which("nvidia-smi") is not None and subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


class Engines(ProgramTest):
    def read(self, path):
        return json.loads((self.tmp / path).read_text())

    def test_auto_is_the_cpu_engine_and_both_are_recorded(self):
        self.write("x.json", XOR)
        started = self.ok("--config", "x.json", "-v").stderr
        self.assertIn("engine: cpu", started)
        self.assertIn("covers the model", started)
        summary = record(self.tmp / "runs/x/seed-1")["summary"]
        meta = record(self.tmp / "runs/x/seed-1")["sessions"][-1]
        self.assertEqual((meta["engine"], meta["device"], meta["libtorch"]), ("cpu", "cpu", ""))
        self.assertEqual(len(summary["computed_by"]), 1)

        started = self.ok("--config", "x.json", "--engine", "torch", "-o", "open").stderr
        self.assertIn("engine: torch, cpu", started)
        self.assertIn("(asked for)", started)
        other = record(self.tmp / "open/x/seed-1")["summary"]
        meta = record(self.tmp / "open/x/seed-1")["sessions"][-1]
        self.assertEqual(meta["engine"], "torch")
        self.assertRegex(meta["libtorch"], r"^\d+\.\d+")
        self.assertEqual(record(self.tmp / "open/x/seed-1")["identity"], record(self.tmp / "runs/x/seed-1")["identity"])
        self.assertAlmostEqual(other["metrics"]["val/loss"]["final"], summary["metrics"]["val/loss"]["final"], delta=1e-3)
        self.assertEqual(other["metrics"].keys(), summary["metrics"].keys())

    def test_a_finished_run_is_found_whatever_computed_it_unless_an_engine_is_named(self):
        self.write("x.json", XOR)
        self.ok("--config", "x.json", "--engine", "torch")
        self.assertIn("already trained", self.ok("--config", "x.json").stderr)
        self.assertIn("already trained", self.ok("--config", "x.json", "--engine", "torch").stderr)
        before = self.files()
        refused = self.fails(2, "--config", "x.json", "--engine", "cpu")
        self.assertIn("by the engine torch", refused)
        self.assertIn("--fresh", refused)
        self.assertEqual(self.files(), before)
        self.ok("--config", "x.json", "--engine", "cpu", "--fresh")
        self.assertTrue(any((self.tmp / "runs/x").glob("seed-1.*.old-1/model.safetensors")))
        self.assertTrue(record(self.tmp / "runs/x/seed-1")["summary"]["computed_by"][0].startswith("cpu"))

    def interrupted(self, *more):
        """A run that was stopped on request after its first checkpoint."""
        self.write("x.json", {**XOR, "train": {**XOR["train"], "steps": 400000 if "cpu" in more else 20000, "checkpoint_every": 500}})
        process = subprocess.Popen(self.command("--config", "x.json", *more), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not any(self.tmp.glob("runs/x/seed-1.*/checkpoint.safetensors")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75)

    def test_a_run_goes_on_in_the_other_engine_and_says_so(self):
        self.interrupted("--engine", "torch")
        resumed = self.ok("--config", "x.json").stderr
        self.assertIn("going on with cpu", resumed)
        self.assertIn("bits may differ", resumed)
        by = record(self.tmp / "runs/x/seed-1")["summary"]["computed_by"]
        self.assertEqual([entry.split(",")[0] for entry in by], ["torch", "cpu"])

    def test_the_environment_chooses_the_instruction_set(self):
        self.write("x.json", XOR)
        for given, expected in (("baseline", "baseline"), ("", None), ("v3", "x86-64-v3"), ("x86-64-v3", "x86-64-v3")):
            result = self.run_program("--config", "x.json", "-v", "-o", given or "best", env={**os.environ, "FFN_ISA": given})
            if given.endswith("v3") and "not on this processor" in result.stderr:
                self.assertEqual(result.returncode, 2)
                continue
            self.assertEqual(result.returncode, 0, result.stderr)
            found = record(self.tmp / (given or "best") / "x/seed-1")
            meta, summary = found["sessions"][-1], found["summary"]
            if expected:
                self.assertEqual(meta["kernel_isa"], expected)
            self.assertIn("engine: cpu, " + meta["kernel_isa"], result.stderr)
            self.assertEqual(summary["computed_by"], ["cpu, " + meta["kernel_isa"]])

    def test_an_instruction_set_that_cannot_be_had_is_refused_and_help_is_not(self):
        self.write("x.json", XOR)
        for given in ("nonsense", "V3", "v9", "x86-64-"):
            environment = {**os.environ, "FFN_ISA": given}
            result = self.run_program("--config", "x.json", env=environment)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(f"FFN_ISA={given} names no", result.stderr)
            self.assertRegex(result.stderr, r"here it can be baseline( or v3)?( or v4)?;")
            self.assertEqual(self.files(), ["x.json"])
            self.assertEqual(self.run_program("--help", env=environment).returncode, 0)
        self.assertIn("FFN_ISA", self.ok("--help").stdout)

    def test_a_study_over_engines_is_compared_and_a_mixed_one_says_so(self):
        study = {**XOR, "name": "s", "seeds": 3, "sweep": {"grid": {"compute.engine": ["cpu", "torch"]}}}
        self.write("s.json", study)
        compared = json.loads(self.ok("--config", "s.json", "--json", "-q").stdout)
        self.assertEqual(compared["by"], "compute.engine")
        groups = {group["value"]: group for group in compared["facets"][0]["groups"]}
        self.assertEqual(set(groups), {"cpu", "torch"})
        self.assertAlmostEqual(groups["cpu"]["mean"], groups["torch"]["mean"], delta=1e-3)

        mixed = {**XOR, "name": "m", "seeds": 3,
                 "sweep": {"zip": [{"model.ffn.activation": ["relu", "gelu"], "compute.engine": ["cpu", "torch"]}]},
                 "compare": {"by": "model.ffn.activation", "metric": "val/loss"}}
        self.write("m.json", mixed)
        notes = json.loads(self.ok("--config", "m.json", "--json", "-q").stdout)["notes"]
        self.assertTrue(any("computed differently" in note and "gelu by torch" in note for note in notes), notes)

    def test_engines_that_cross_within_pairs_are_noted(self):
        common = ("xor", "train.steps=30", "name=s", "train.eval_every=10", "model.ffn.activation=relu,gelu", "-q")
        self.ok(*common, "seeds=[0,1,2]", "--engine", "torch", "-o", "a")
        self.ok(*common, "seeds=[0,1,2,3,4,5]", "-o", "b")
        for variant, seeds in (("activation=relu", (0, 1, 2)), ("activation=gelu", ())):
            for seed in seeds:
                one, other = (run_at(self.tmp / place / variant / f"seed-{seed}") for place in ("a/s", "b/s"))
                shutil.rmtree(other)
                shutil.copytree(one, other)
        notes = " ".join(json.loads(self.ok("compare", "b/s", "--json").stdout)["notes"])
        self.assertIn("computed differently", notes)
        self.assertIn("relu 3 by cpu", notes)

    def test_what_cannot_be_had_is_refused_with_a_remedy(self):
        self.write("x.json", XOR)
        error = self.fails(2, "--config", "x.json", "--device", "gpu")
        self.assertIn("/compute/device", error)
        self.assertIn("use cpu, cuda or cuda:N", error)
        error = self.fails(2, "--config", "x.json", "--device", "cuda", "--engine", "cpu")
        self.assertIn("runs on the CPU only", error)
        self.assertEqual(list((self.tmp / "runs").rglob("*")) if (self.tmp / "runs").exists() else [], [])
        if not HAS_GPU:
            error = self.fails(2, "--config", "x.json", "--device", "cuda")
            self.assertIn("sees no GPU here", error)
            self.assertIn("--device cpu", error)
            self.write("s.json", {**XOR, "name": "s", "seeds": 2})
            self.assertIn("sees no GPU here", self.fails(2, "--config", "s.json", "--device", "cuda"))

    @unittest.skipUnless(HAS_GPU, "no GPU here: training on CUDA is not tested")
    def test_on_a_gpu_a_run_resumes_exactly(self):
        self.write("x.json", XOR)
        self.ok("--config", "x.json", "--device", "cuda", "-o", "whole")
        self.interrupted("--device", "cuda")
        self.ok("--config", "x.json", "--device", "cuda")
        self.ok("--config", "x.json", "--device", "cuda", "-o", "long")
        weights = [(self.tmp / out / "x/seed-1/model.safetensors").read_bytes() for out in ("runs", "long")]
        self.assertEqual(weights[0], weights[1])

    def test_plan_says_which_engine_and_why(self):
        self.write("x.json", XOR)
        self.assertRegex(self.ok("plan", "--config", "x.json", "--no-probe").stdout, r"engine: cpu, (baseline|x86-64-v[34]) \(it covers the model on the CPU\)")
        plan = json.loads(self.ok("plan", "--config", "x.json", "--no-probe", "--json", "--engine", "torch").stdout)
        self.assertEqual(plan["engines"], [{"engine": "torch", "device": "cpu", "reason": "asked for", "runs": 1}])

    def test_a_router_that_all_blocks_share_moves_its_bias_once_a_step(self):
        for engine in ("cpu", "torch"):
            self.ok("sequence-xor", "--engine", engine, "name=" + engine, "train.steps=1", "model.blocks=3", "model.share_ffn=true", "model.ffn.kind=moe",
                    "model.ffn.num_experts=3", "model.ffn.top_k=1", "model.ffn.router.bias_step=0.05")
            content = next((self.tmp / "runs" / engine).glob("seed-0.*/model.safetensors")).read_bytes()
            begin = 8 + int.from_bytes(content[:8], "little")
            first, last = json.loads(content[8:begin])["block0.ffn.router.bias"]["data_offsets"]
            bias = struct.unpack("<3f", content[begin + first:begin + last])
            self.assertEqual({round(abs(b), 6) for b in bias} | {0.05}, {0.05}, bias)

    def test_verify_says_of_a_config_that_diverges_that_it_cannot_be_compared(self):
        self.write("wild.json", {"name": "wild", "task": {"kind": "xor"}, "train": {"optimizer": {"lr": 60000.0}}})
        said = self.run_program("verify", "wild.json")
        self.assertEqual(said.returncode, 1)
        self.assertIn("diverges on both sides", said.stdout)
        self.assertNotIn("DIFFER", said.stdout)

    def test_verify_says_of_a_mixture_whose_choices_are_all_nearly_ties_that_it_cannot_be_compared(self):
        # What each block makes smaller reaches the last routers as nearly nothing: all their experts are nearly equally likely.
        self.write("faint.json", {"name": "faint", "task": {"kind": "xor"}, "model": {"blocks": 16, "ffn": {"kind": "moe", "bias": False}}})
        said = self.run_program("verify", "faint.json")
        self.assertEqual(said.returncode, 1)
        text = " ".join(said.stdout.split())
        self.assertIn("a token's choice", text)
        self.assertIn("not all could", text)
        self.assertNotIn("DIFFER", text)
        result = json.loads(self.run_program("verify", "faint.json", "--json").stdout)[0]
        self.assertFalse(result["agrees"])
        self.assertEqual(result["steps"], 0)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv") and shutil.which("prlimit") and (os.cpu_count() or 1) > 1,
                         "a user without processes of his own is needed, and more than one core")
    def test_libtorch_without_its_threads_is_an_error_and_no_wait_without_end(self):
        alone = ["setpriv", "--reuid=60123", "--clear-groups", "prlimit", "--nproc=1"]
        done = subprocess.run([*alone, *self.command("verify", "xor")], cwd="/", capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"cannot load LibTorch, which starts \d+ threads?: only 0 can be started \(.+\)\nhint: raise the limit")

    def test_verify_agrees_and_needs_a_config(self):
        self.write("x.json", XOR)
        said = self.ok("verify", "x.json").stdout
        self.assertIn("x.json: agree, at most", said)
        self.assertIn("block0.ffn.up.weight", said)
        result = json.loads(self.ok("verify", "x.json", "--json", "--steps", "3").stdout)[0]
        self.assertTrue(result["agrees"])
        self.assertEqual(result["steps"], 3)
        self.assertGreater(result["worst"], 0)
        self.assertEqual(len(result["parameters"]), 8)
        self.fails(2, "verify")


if __name__ == "__main__":
    main()
