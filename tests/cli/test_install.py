#!/usr/bin/env python3
"""`cmake --install`: a program of others builds against ffn::layers and computes what Python computes; the Python module is installed."""
import os
import shutil
import subprocess

from program import PROGRAM, ROOT, ProgramTest, main

BUILD = PROGRAM.parent.parent


class InstallTest(ProgramTest):
    def done(self, *command, **options):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=self.tmp, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_program_of_others_loads_a_trained_layer(self):
        self.done("cmake", "--install", BUILD, "--prefix", self.tmp / "place")
        shutil.copytree(ROOT / "lib/example", self.tmp / "example")
        self.done("cmake", "-S", "example", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.tmp / 'place'}")
        self.done("cmake", "--build", "b")
        self.ok("xor", "name=g", "model.d_model=16", "model.ffn.kind=gated", "model.ffn.activation=silu", "model.ffn.d_ff=32", "-q")
        weights = next(self.tmp.glob("runs/g/*/model.safetensors"))
        lines = self.done("b/example", weights).splitlines()
        self.assertLess(float(lines[2].split()[-1]), 0.1 * float(lines[0].split()[-1]), lines)  # it learned: 0.016 of 1.08 in 500 steps
        code = ("import ffn_train, torch\nmodel = ffn_train.load('runs/g/seed-0')\n"
                "print(float(model.block0.ffn(torch.ones(1, 1, 16)).sum()))")
        python = self.done("/usr/bin/python3", "-B", "-c", code, env={**os.environ, "PYTHONPATH": str(self.tmp / "place/share/ffn-train/python")})
        self.assertAlmostEqual(float(lines[3]), float(python), places=4)  # prints six digits


if __name__ == "__main__":
    main()
