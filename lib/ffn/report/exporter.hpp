// A comparison in the formats that people and programs read: each is one file, export_*.cpp, and all are fed by the same result.
#pragma once

#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/page.hpp"

namespace ffn {

class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual std::string write(const Comparison& comparison) const = 0;
};

/// The answer in a sentence or two, then a short table, with intervals as bars where there is room.
class TerminalExporter final : public Exporter {
 public:
  struct Options {
    bool details = false, explain = false;  ///< as document_of() has them
    bool color = false;
    int width = 80;  ///< columns; 0 is as wide as it takes
  };
  explicit TerminalExporter(const Options& options) : options_(options) {}
  std::string write(const Comparison& comparison) const override;

 private:
  Options options_;
};

/// With all details.
class MarkdownExporter final : public Exporter {
 public:
  explicit MarkdownExporter(bool explain = false) : explain_(explain) {}
  std::string write(const Comparison& comparison) const override;

 private:
  bool explain_;
};

/// One row per group, numbers in full.
class CsvExporter final : public Exporter {
 public:
  std::string write(const Comparison& comparison) const override;
};

/// comparison_json() with the answer in words as "answer", and what all runs share as "conditions".
Json answered_json(const Comparison& comparison);

/// The document of answered_json().
class JsonExporter final : public Exporter {
 public:
  std::string write(const Comparison& comparison) const override;
};

/// The short table (booktabs), with what has to stand in the preamble as a comment.
class LatexExporter final : public Exporter {
 public:
  std::string write(const Comparison& comparison) const override;
};

/// A page with charts that needs nothing from elsewhere. `data` is comparison_data(). Data and facts outlive it; a `live` page loads itself
/// again every few seconds.
class HtmlExporter final : public Exporter {
 public:
  HtmlExporter(const Json& data, const report::ReportFacts& facts, bool live = false) : data_(data), facts_(facts), live_(live) {}
  std::string write(const Comparison& comparison) const override;

 private:
  const Json& data_;
  const report::ReportFacts& facts_;
  bool live_;
};

}  // namespace ffn
