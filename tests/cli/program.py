"""Runs the real program in a temporary directory; shared by the command-line tests."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("FFN_TRAIN", ROOT / "build/release/bin/ffn-train"))


def run_at(path):
    """The directory of the run that a path without the identity means: runs/xor/seed-0 → runs/xor/seed-0.1a2b3c4d."""
    path = pathlib.Path(path)
    found = [path] if path.exists() else sorted(p for p in path.parent.glob(path.name + ".????????"))
    assert len(found) == 1, f"{path}: {found}"
    return found[0]


def record(path):
    """What a run's run.json says; `path` may be that of the file."""
    path = pathlib.Path(path)
    return json.loads((path if path.name == "run.json" else run_at(path) / "run.json").read_text())


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory(prefix="ffn-train-")
        self.tmp = pathlib.Path(self._directory.name)

    def tearDown(self):
        self._directory.cleanup()

    def command(self, *arguments):
        return [str(PROGRAM), *map(str, arguments)]

    def run_program(self, *arguments, timeout=300, **options):
        return subprocess.run(self.command(*arguments), cwd=self.tmp, capture_output=True, text=True, timeout=timeout, **options)

    def ok(self, *arguments, **options):
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result

    def fails(self, code, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result.stderr

    def write(self, name, content):
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def files(self):
        return sorted(str(p.relative_to(self.tmp)) for p in self.tmp.rglob("*") if p.is_file())

    def median_seconds(self, *arguments, runs=9):
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            self.run_program(*arguments)
            times.append(time.perf_counter() - start)
        return sorted(times)[runs // 2]

    def processor_seconds(self, *arguments, runs=5, **options):
        """The least that the program takes, of user and system time: other programs on the machine take none of it."""
        times = []
        for _ in range(runs):
            process = subprocess.Popen(self.command(*arguments), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            times.append(used.ru_utime + used.ru_stime)
        return min(times)


def main():
    if not PROGRAM.exists():
        sys.exit(f"no program at {PROGRAM}; build it or set FFN_TRAIN")
    unittest.main(verbosity=1)
