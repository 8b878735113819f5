"""Files that cannot be read now, links that somebody planted, and numbers that ffn-train never writes."""
import json
import os

from program import ProgramTest, main, run_at

STUDY = {
    "name": "study", "seeds": 3,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"activation": "relu"}},
    "train": {"steps": 60, "eval_every": 20, "target": {"metric": "val/accuracy", "at_least": 0.99}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
}
RUN = "runs/study/activation=relu/seed-1"


class HostileTest(ProgramTest):
    def train(self, study=None, *more, **options):
        self.write("study.json", study or STUDY)
        return self.run_program("--config", "study.json", "-q", *more, **options)

    def trained(self, study=None):
        result = self.train(study)
        self.assertEqual(result.returncode, 0, result.stderr)

    def compared(self, *more):
        return json.loads(self.ok("compare", "runs/study", "--json", *more).stdout)

    def test_a_run_that_cannot_be_read_ends_the_command_and_is_named(self):
        self.trained()
        file = run_at(self.tmp / RUN) / "run.json"
        file.unlink()
        file.symlink_to(file.name)  # to itself: nobody can read it, root neither
        for command in (("compare", "runs/study"), ("report", "runs/study"), ("export", "runs/study", "--csv"), ("--config", "study.json", "-q")):
            self.assertIn(str(file.relative_to(self.tmp)), self.fails(3, *command), command)

    def test_a_group_can_share_a_study(self):
        self.train(preexec_fn=lambda: os.umask(0o002))
        for file in (self.tmp / "runs").rglob("*"):
            if file.is_file():
                self.assertEqual(oct(file.stat().st_mode & 0o777), "0o664", file)

    def test_a_link_in_the_place_of_a_result_is_replaced_and_what_it_leads_to_stays(self):
        self.trained()
        thesis = self.write("thesis.txt", "the only copy\n")
        run = run_at(self.tmp / RUN)
        for name in ("metrics.jsonl", "model.safetensors", "run.json"):
            (run / name).unlink()
            (run / name).symlink_to(thesis)
        (self.tmp / "runs/study/compare.json").unlink()
        (self.tmp / "runs/study/compare.json").symlink_to(thesis)
        self.train()
        self.assertEqual(thesis.read_text(), "the only copy\n")

    # ---- numbers

    def test_no_size_in_a_formula_overflows(self):
        for size in ("4294967296*4294967296", "0-" + "*".join(["1e38"] * 9), "1/(0-4294967296)"):
            layer = {"kind": "formula", "formula": "x @ a", "parameters": {"a": ["D", size]}}
            config = self.write("formula.json", {"task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": layer}})
            self.assertIn("it has to lie between 1 and 1048576", " ".join(self.fails(2, "validate", config).split()), size)


if __name__ == "__main__":
    main()
