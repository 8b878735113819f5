#!/usr/bin/env python3
"""Prints the instruction sets of this PyTorch and its BLAS, and the versions of packages that rivals need: one JSON line."""
import ctypes
import importlib.util
import json
import platform
from importlib.metadata import version

from common import torch


def openblas_core():
    try:
        name = ctypes.CDLL("libopenblas.so.0").openblas_get_corename
    except (OSError, AttributeError):
        return "another BLAS"
    name.restype = ctypes.c_char_p
    return name().decode()


capability = next(line for line in torch.__config__.show().splitlines() if "CPU capability" in line).split()[-1]
mkl = "with MKL" if torch.backends.mkl.is_available() else "without MKL"
versions = f"Python {platform.python_version()}, torch {torch.__version__}, {mkl}"
for package in ("jax", "optax"):
    versions += f", {package} {version(package)}" if importlib.util.find_spec(package) else ""
print(json.dumps({"versions": versions, "aten": capability, "openblas": openblas_core()}))
