#!/usr/bin/env python3
"""coord-check: how far outputs move in the first steps, against the hidden width."""
import json
import sys

from program import ROOT, ProgramTest, main

sys.path.insert(0, str(ROOT / "scripts"))


class CoordCheck(ProgramTest):
    def rows(self, *arguments):
        return json.loads(self.ok("coord-check", *arguments, "--json").stdout)

    def test_with_one_rate_outputs_move_more_at_larger_widths_with_mup_alike_and_muon_has_no_scaling_that_keeps_them_alike(self):
        moved = {}
        for row in self.rows("experiments/width"):
            moved.setdefault(row["variant"], {})[row["d_ff"]] = row["change"]
        growth = {variant: of[4096] / of[64] for variant, of in moved.items()}
        self.assertGreater(growth.pop("Adam"), 4)
        self.assertAlmostEqual(growth.pop("Adam, muP"), 1, delta=0.2)
        self.assertEqual(len(growth), 3)
        for variant, factor in growth.items():
            self.assertGreater(factor, 1.8, variant)
        self.assertEqual(moved["Adam"][64], moved["Adam, muP"][64])  # the base

    def test_the_change_is_that_of_the_outputs_of_two_runs(self):
        import ffn_train
        import torch
        patterns = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]) * 2 - 1
        self.ok("xor", "name=after", "train.steps=7", "model.ffn.d_ff=24")
        still = json.dumps({role: 0 for role in ("embedding", "up", "down", "head")})
        self.ok("xor", "name=before", "train.steps=1", "model.ffn.d_ff=24", "train.optimizer.lr_scale=" + still)
        before, after = (ffn_train.load(next((self.tmp / "runs" / name).glob("seed-*"))).double()(patterns.double()) for name in ("before", "after"))
        (row,) = self.rows("xor", "--widths", "24", "--steps", "7")
        self.assertAlmostEqual(row["change"], (after - before).abs().mean().item(), delta=1e-5)

    def test_what_has_no_width_or_no_form_for_the_cpu_engine_is_refused(self):
        self.assertIn("hidden width", self.fails(2, "coord-check", "xor", "model.ffn.kind=none"))
        self.assertIn("does not cover", self.fails(2, "coord-check", "xor", "model.ffn.kind=conv1x1"))
        self.assertIn("--widths", self.fails(2, "coord-check", "xor", "--widths", "64,many"))


if __name__ == "__main__":
    main()
