#include "ffn/report/answer_tables.hpp"
#include "ffn/report/document.hpp"
#include "ffn/report/export.hpp"

namespace ffn {

std::string export_markdown(const Comparison& c, bool explain) {
  std::string out;
  for (const auto& part : document_of(c, /*details=*/true, explain)) {
    out += out.empty() ? "" : "\n";
    if (part.kind == DocumentPart::Kind::short_table) out += short_table(c).plain(/*repeats=*/false).markdown();
    else out += part.kind == DocumentPart::Kind::table ? part.table[0].markdown() : part.text + "\n";
  }
  return out;
}

}  // namespace ffn
