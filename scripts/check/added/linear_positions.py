"""A position encoding that exists in LibTorch alone: LibTorch trains with it."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/model_config.cpp", before='      {"none", true, "no position encoding"},\n', text='''\
      {"linear", false, "add t/T to every element"},
'''),
    Part("lib/ffn/layers/network_torch.cpp", after="  if (position_.defined()) x = x + position_.narrow(1, 0, length).unsqueeze(1);\n", text='''\
  if (positions_ == "linear") x = x + torch::arange(length, x.options()).div_(length).unsqueeze(1);
'''),
    Part("scripts/ffn_train_networks.py", after='    "sinusoidal": sinusoids,\n', text='''\
    "linear": lambda length, d_model: torch.arange(length)[:, None] / length,
''', forgotten=("test_python.py: test_every_position_encoding", "unknown position encoding 'linear'")),
]
