// Pages: text stays text, whatever it says; colours can be seen.
#include <nlohmann/json.hpp>

#include "ffn/report/html.hpp"
#include "ffn/report/style.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::report;

namespace {

const std::string kHostile = "<script>alert('1')</script>\" onload=\"x\x07\xff\u202e&";

}  // namespace

TEST_CASE("text from files can be neither an element, an attribute nor a control") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped(kHostile) == "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x???&amp;");
  CHECK(escaped("größer – gelu²") == "größer – gelu²");
}

TEST_CASE("tables and the script's data escape what they are given") {
  const auto html = html_numbers({{kHostile}, {{{kHostile}, {kHostile, 1.5}}}});
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("onload=\"") == std::string::npos);
  CHECK(html.find("data-v=\"1.5\"") != std::string::npos);
  const ffn::Json data = {{"a", kHostile}, {"b", {0.123456, 2.0, 1e300, -1e-20, 17, nullptr}}};
  const auto text = page_data(data);
  CHECK(text.find('<') == std::string::npos);
  CHECK(ffn::parse_json(text) ==
        ffn::Json{{"a", "<script>alert('1')</script>\" onload=\"x???&"}, {"b", {0.1235, 2, 1e300, -1e-20, 17, nullptr}}});
}

TEST_CASE("marks stand out by 3:1 and text by 4.5:1, in the light and in the dark") {
  std::string light_ground, dark_ground;
  for (const auto& color : palette()) {
    if (std::string(color.name) == "ground") {
      light_ground = color.light;
      dark_ground = color.dark;
    }
  }
  std::size_t seen = 0;
  for (const auto& color : palette()) {
    const std::string name = color.name;
    const bool text = name == "text" || name == "quiet" || name == "link", mark = name.rfind("series", 0) == 0 || name == "axis";
    if (!text && !mark) continue;
    ++seen;
    INFO(name);
    CHECK(contrast(color.light, light_ground) >= (text ? 4.5 : 3.0));
    CHECK(contrast(color.dark, dark_ground) >= (text ? 4.5 : 3.0));
  }
  CHECK(seen == 14);
  CHECK(contrast("#000000", "#ffffff") == Approx(21));
  CHECK(contrast("#0072B2", "#FFFFFF") == Approx(5.19).margin(0.005));
}

TEST_CASE("numbers on a shade can be read, and shades leave the ground all the way, in the light and in the dark") {
  for (const auto scheme : {Scheme::light, Scheme::dark}) {
    const std::string ground = scheme == Scheme::light ? "#ffffff" : "#121417";
    for (const int sign : {1, -1}) {
      double before = 0;
      for (int level = 0; level <= kShadeLevels; ++level) {
        const auto here = shade_of(sign * level, scheme);
        INFO(here.color);
        CHECK(contrast(here.color, here.white_text ? "#ffffff" : "#000000") >= 4.5);
        const double from_ground = contrast(here.color, ground);
        CHECK(from_ground > before);
        before = from_ground;
      }
      CHECK(before > 7);
    }
  }
}

TEST_CASE("each class of a shade has its colour in either scheme, and the page the dark ones on dark screens alone") {
  CHECK(shade_class(-20) == "n20");
  CHECK(shade_class(0) == "p0");
  const auto dark = shade_rules(Scheme::dark);
  CHECK(dark.find(".n20{fill:" + shade_of(-20, Scheme::dark).color) != std::string::npos);
  CHECK(shade_of(20, Scheme::dark).color != shade_of(20, Scheme::light).color);
  CHECK(page_style().find("@media screen and (prefers-color-scheme:dark){" + dark + "}") != std::string::npos);
}
