#!/usr/bin/env python3
"""Images in MNIST's format through the whole program."""
import gzip
import json
import os
import struct
import sys

import numpy
import torch

from program import ROOT, ProgramTest, main, record

sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ffn_train  # noqa: E402

NAMES = {"train": "train-{}-ubyte", "validation": "t10k-{}-ubyte"}


def idx(array):
    return struct.pack(">BBBB" + "I" * array.ndim, 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def quadrants(count, seed):
    """4 × 6 pixels of noise; the quarter that is brighter is the class."""
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 4, count).astype(numpy.uint8)
    images = random.integers(0, 120, (count, 4, 6)).astype(numpy.uint8)
    for image, label in zip(images, labels):
        image[label // 2 * 2:label // 2 * 2 + 2, label % 2 * 3:label % 2 * 3 + 3] += 100
    return images, labels


class Images(ProgramTest):
    def setUp(self):
        super().setUp()
        self.sets = {"train": quadrants(300, 1), "validation": quadrants(80, 2)}
        self.put("plain", lambda data: data, "")
        self.config = self.write("pictures.json", {"name": "pictures", "task": {"kind": "images", "directory": "plain"}, "model": {"d_model": 16},
                                                   "train": {"steps": 150, "eval_every": 50, "optimizer": {"lr": 0.01}}})

    def put(self, directory, packed, end):
        (self.tmp / directory).mkdir()
        for part, (images, labels) in self.sets.items():
            for kind, data in (("images-idx3", images), ("labels-idx1", labels)):
                (self.tmp / directory / (NAMES[part].format(kind) + end)).write_bytes(packed(idx(data)))

    def test_the_validation_images_are_measured_as_pytorch_measures_them(self):
        result = self.ok(self.config)
        self.assertIn("300 training images, 80", " ".join(result.stderr.split()))
        measured = record(self.tmp / "runs/pictures/seed-0")["summary"]["metrics"]["val/accuracy"]["final"]
        images, labels = self.sets["validation"]
        with torch.no_grad():
            logits = ffn_train.load(next((self.tmp / "runs/pictures").glob("seed-*")))(torch.tensor(images.reshape(80, 24) / 255, dtype=torch.float32))
        self.assertAlmostEqual((logits.argmax(-1).numpy() == labels).mean(), measured, delta=1e-6)
        self.assertGreater(measured, 0.95)
        self.assertIn("the engines agree", self.ok("verify", self.config).stdout)

    def test_compressed_files_are_the_same_run(self):
        self.put("packed", lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]), ".gz")  # in two parts
        self.ok(self.config, "-q")
        self.assertIn("already", self.ok(self.config, "task.directory=packed").stderr)

    def test_as_many_images_are_measured_as_eval_examples_says(self):
        self.ok(self.config, "train.eval_examples=30", "train.steps=10", "-q")
        run = next((self.tmp / "runs/pictures").glob("seed-*"))
        images, labels = self.sets["validation"]
        with torch.no_grad():
            logits = ffn_train.load(run)(torch.tensor(images[:30].reshape(30, 24) / 255, dtype=torch.float32))
        right = (logits.argmax(-1).numpy() == labels[:30]).mean()
        self.assertAlmostEqual(right, record(run)["summary"]["metrics"]["val/accuracy"]["final"], delta=1e-6)
        self.assertEqual(len(json.loads(self.ok("predict", run, "--json").stdout)["rows"]), 30)

    def test_each_seed_trains_on_its_own_draw_of_few_images(self):
        self.ok(self.config, "task.examples=8", "seeds=2", "-q")
        losses = [record(run)["summary"]["metrics"]["val/loss"]["final"] for run in sorted((self.tmp / "runs/pictures").rglob("seed-*"))]
        self.assertEqual(len(set(losses)), 2)
        text = self.ok(self.config, "task.examples=8", "seeds=6", "model.ffn.kind=none,positionwise", "name=two", "-q").stdout
        self.assertIn("share the test images", " ".join(text.split()))

    def test_what_is_wrong_with_the_files_is_named(self):
        def refused(*arguments):
            return " ".join(self.fails(3, self.config, *arguments).split())
        self.assertIn("exceeds the 300", refused("task.examples=301"))
        self.assertIn("is no train-images-idx3", refused("task.directory=nowhere"))
        labels = self.tmp / "plain/t10k-labels-idx1-ubyte"
        whole = labels.read_bytes()
        labels.write_bytes(whole[:-3])
        self.assertIn("has 77 bytes", refused())
        labels.write_bytes(idx(self.sets["validation"][1][:79]))
        self.assertIn("has 80 images,", refused())
        labels.write_bytes(whole[:8] + bytes([9]) + whole[9:])
        self.assertIn("no training image has: 9", refused())
        labels.write_bytes(b"<html>")
        self.assertIn("is no IDX file", refused())
        labels.unlink()
        os.mkfifo(labels)
        self.assertIn("is a pipe", refused())
        labels.unlink()
        (self.tmp / "plain/t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(whole)[:-9])
        self.assertIn("no complete file", refused())


if __name__ == "__main__":
    main()
