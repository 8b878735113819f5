"""A position encoding that exists in nn alone: LibTorch trains with it."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/model_config.cpp", before='      {"none", true, ', text='''\
      {"sinusoidal", false, "fixed sines and cosines of falling frequency are added (Vaswani et al. 2017, §3.5)"},
'''),
    Part("lib/ffn/layers/network_torch.cpp", after="  if (position_.defined()) x = x + position_.narrow(1, 0, length).unsqueeze(1);\n", text='''\
  if (positions_ == "sinusoidal") {
    const Tensor t = torch::arange(length, x.options()).unsqueeze(1), i = torch::arange(d, x.options());
    const Tensor angle = t / torch::pow(10000.0, 2 * i.div(2, "floor") / static_cast<double>(d));
    x = x + torch::where(i.remainder(2).eq(0), angle.sin(), angle.cos());
  }
'''),
]
