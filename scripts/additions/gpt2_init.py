"""An initialisation: a row."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/parameters.cpp", before='      {"zero_out", ', text='''\
      {"gpt2", "normal with standard deviation 0.02, less by √(2 · blocks) for what sub-layers write; biases 0 (Radford et al. 2019)",
       [](const RowEntry& p, const ModelConfig& model) {
         if (p.role == Role::norm || p.role == Role::other) return p.init;
         if (!p.decays) return Init::constant(0);
         const bool writes = p.role == Role::down || p.role == Role::attention_output;
         return Init::normal(writes ? 0.02 / std::sqrt(2.0 * static_cast<double>(model.blocks)) : 0.02);
       }},
'''),
    Part("lib/ffn/config/parameters.cpp", after='#include "ffn/config/parameters.hpp"\n', text='\n#include <cmath>\n'),
]
