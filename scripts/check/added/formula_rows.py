"""A layer and a task as formulas with names: a row each."""
from parts import Part

PARTS = [
    Part("lib/ffn/formula/named_formulas.cpp", before='      {"glu", "(sigmoid(x @ gate)', text='''\
      {"tanh_gated", "(tanh(x @ gate) * (x @ up)) @ down", "gate D F, up D F, down F D", "", "", "LSTM's way to gate"},
'''),
    Part("lib/ffn/config/named_tasks.cpp", before='      {"circle", R"json(', text='''\
      {"middle", R"json({"inputs": {"x": {"uniform": [-1, 1]}}, "label": "abs(x) < 0.5"})json",
       "a linear model about 50 %", "an interval"},
'''),
]
