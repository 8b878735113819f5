"""An initialisation: a row."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/parameters.cpp", before='      {"zero_out",\n', text='''\
      {"glorot", "maps normal with variance 2/(inputs + outputs), biases 0 (Glorot & Bengio 2010)",
       [](const RowEntry& p, const ModelConfig& model) {
         const auto inputs_and_outputs = p.is_matrix() ? p.shape[p.shape.size() - 2] + p.shape.back() : 2;
         return by_weight(p, model, Init::normal(std::sqrt(2 / static_cast<double>(inputs_and_outputs))));
       }},
'''),
]
