"""An activation: one row. PyTorch has it under its name, so that scripts/generate/golden needs nothing."""
from parts import Part

PARTS = [
    Part("lib/ffn/kernels/activation_rows.cpp", before="  };\n  // clang-format on\n", text='''\
      row("softsign", "z/(1 + |z|)", "Turian et al. 2009",
          [](auto z) { return z / (1 + abs_(z)); }, [](auto z) { const auto d = 1 + abs_(z); return 1 / (d * d); }),
'''),
]
