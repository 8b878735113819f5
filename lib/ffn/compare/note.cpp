#include "ffn/compare/note.hpp"

#include "ffn/compare/compare.hpp"

namespace ffn {

std::string note_text(const Note& note, const std::vector<std::string>& about) {
  std::string rest = note.text, out;
  for (const auto& part : about) {
    const auto place = rest.find("{}");
    out += rest.substr(0, place) + part;
    rest = rest.substr(place + 2);
  }
  return out + rest;
}

void add_note(const Note& note, const std::vector<std::string>& about, Comparison& c) { c.notes.push_back(note_text(note, about)); }

}  // namespace ffn
