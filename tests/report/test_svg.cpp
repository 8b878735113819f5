// What is written stays text, whatever it says; colours can be seen.
#include "ffn/report/html.hpp"
#include "ffn/report/matrix.hpp"
#include "ffn/report/shades.hpp"
#include "ffn/report/style.hpp"
#include "ffn/report/svg.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::pictures;

namespace {

const std::string kHostile = "<script>alert('1')</script>\" onload=\"x\x07\xff\u202e&";

}  // namespace

TEST_CASE("four panels make a square, other numbers of them stand in a row") {
  Figure figure;
  for (int count = 1; count <= 5; ++count) {
    figure.panels.push_back({"p", [](const Form& form, const std::string&) { return Svg(1, 1, form.id, "t", "").element(); }});
    CHECK((html_figure(figure).find("class=\"panels four\"") != std::string::npos) == (count == 4));
  }
}

TEST_CASE("text from files can be neither an element, an attribute nor a control") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped(kHostile) == "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x???&amp;");
  CHECK(escaped("größer – gelu²") == "größer – gelu²");
}

TEST_CASE("a picture escapes its title, description, labels and what its marks say") {
  Svg svg(10, 10, kHostile, kHostile, kHostile);
  svg.text(0, 0, kHostile);
  svg.marker(0, 1, 1, 5, false, kHostile);
  const auto element = svg.element();
  CHECK(element.find("<script") == std::string::npos);
  CHECK(element.find("onload=\"") == std::string::npos);
  CHECK(element.find('\xff') == std::string::npos);
}

TEST_CASE("a figure and its numbers escape what they are given") {
  Figure figure;
  figure.id = kHostile;
  figure.heading = kHostile;
  figure.reading = kHostile;
  figure.notes = {kHostile};
  figure.legend = {{0, kHostile}};
  figure.numbers = {{kHostile}, {{{kHostile}, {kHostile, 1.5}}}};
  figure.panels.push_back({kHostile, [](const Form& form, const std::string&) { return Svg(1, 1, form.id, kHostile, "").element(); }});
  const auto html = html_figure(figure);
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("onload=\"") == std::string::npos);
  CHECK(html.find("data-v=\"1.5\"") != std::string::npos);
}

TEST_CASE("pixels are written to a tenth, without what does not count") {
  CHECK(px(12) == "12");
  CHECK(px(0.5) == ".5");
  CHECK(px(-3.24) == "-3.2");
  CHECK(px(-0.04) == "0");
  CHECK(px(NAN) == "0");
}

TEST_CASE("a path is relative, in tenths of pixels, with gaps where a value is none") {
  Svg svg(10, 10, "i", "t", "d");
  svg.path({{1, 2}, {2, 1.5}, {NAN, 0}, {3, 3}, {3, 3}, {4, 3}}, "l");
  CHECK(svg.element().find("d=\"M10 20l10-5M30 30l10 0\"") != std::string::npos);
}

TEST_CASE("names of files hold letters, digits and dashes alone") {
  CHECK(slug("val/loss") == "val-loss");
  CHECK(slug("../../etc/passwd") == "etc-passwd");
  CHECK(slug("…") == "");
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

TEST_CASE("a share that is beyond the whole, or no number, has a shade") {
  CHECK(sequential_level(NAN) == sequential_level(0));
  CHECK(sequential_level(INFINITY) == kShadeLevels);
  CHECK(signed_level(NAN) == 0);
  CHECK(signed_level(-INFINITY) == -kShadeLevels);
}

TEST_CASE("each class of a shade has its colour in either scheme, and the page the dark ones on dark screens alone") {
  CHECK(shade_class(signed_level(-1)) == "n20");
  CHECK(shade_class(signed_level(0)) == "p0");
  CHECK(shade_class(sequential_level(0)) == "p1");  // the worst cell can be seen
  CHECK(shade_class(sequential_level(1)) == "p20");
  const auto dark = shade_rules(Scheme::dark);
  CHECK(dark.find(".n20{fill:" + shade_of(-20, Scheme::dark).color) != std::string::npos);
  CHECK(shade_of(20, Scheme::dark).color != shade_of(20, Scheme::light).color);
  CHECK(page_style().find("@media screen and (prefers-color-scheme:dark){" + dark + "}") != std::string::npos);
  CHECK(file_style().find(shade_rules(Scheme::light)) != std::string::npos);
}

TEST_CASE("a file that stands alone has plain colours: other programs know no variables") {
  CHECK(file_style().find("var(") == std::string::npos);
  CHECK(assets().at("charts.css").find("var(--series0)") != std::string::npos);
}

TEST_CASE("a matrix has its signs as colours, its numbers where there is room, and escapes its names") {
  MatrixPicture matrix;
  matrix.title = matrix.description = matrix.column_label = kHostile;
  matrix.rows = {kHostile, "b"};
  matrix.columns = {"c", "d"};
  matrix.num_rows = matrix.num_columns = 2;
  matrix.values = {0, 2, -2, std::nan("")};
  const auto element = draw_matrix(matrix, {348, false, false, kHostile}, "");
  CHECK(element.find("<script") == std::string::npos);
  CHECK(element.find("onload=\"") == std::string::npos);
  for (const char* shade : {"\"p20\"", "\"n20\"", "\"p0\""}) CHECK(element.find("<rect class=" + std::string(shade)) != std::string::npos);
  CHECK(element.find(">−2.0</text>") != std::string::npos);
  CHECK(element.find("b, d: none") != std::string::npos);
}

TEST_CASE("many cells of a matrix are a shape per shade, and white ones none") {
  MatrixPicture matrix;
  matrix.title = "t";
  matrix.num_rows = 100;
  matrix.num_columns = 100;
  matrix.values.assign(10000, 0.0);
  for (std::size_t k = 0; k < 50; ++k) matrix.values[k] = 1;
  const auto element = draw_matrix(matrix, {348, false, false, "id"}, "");
  CHECK(element.size() < 2000);
  CHECK(element.find("class=\"p20\" d=\"M") != std::string::npos);
}

TEST_CASE("a bar below a matrix says what its shades stand for") {
  MatrixPicture matrix;
  matrix.title = "t";
  matrix.num_rows = 1;
  matrix.num_columns = 2;
  matrix.values = {0.25, 3.5};
  const auto above = draw_matrix(matrix, {348, false, false, "id"}, "");
  CHECK(above.find(">0</text>") != std::string::npos);
  CHECK(above.find(">3.5</text>") != std::string::npos);
  CHECK(above.find("class=\"n") == std::string::npos);
  matrix.values = {-7, 3.5};
  const auto either = draw_matrix(matrix, {348, false, false, "id"}, "");
  CHECK(either.find("class=\"n20\"") != std::string::npos);
  CHECK(either.find(">−7.0</text>") != std::string::npos);
}

TEST_CASE(
    "a chart that is taken out has its panel's title, its legend and what is written beside marks; one whose lines are named no legend") {
  Figure figure;
  figure.id = "cost";
  figure.legend = {{0, kHostile}, {7, "gelu"}};
  figure.beside = "beside the marks: expansion";
  for (const char* title : {"parameters", "seconds"})
    figure.panels.push_back({title, [](const Form& form, const std::string& style) { return Svg(form, 100, "t", "d").element(style); }});
  const auto files = svg_files(figure);
  REQUIRE(files.size() == 2);
  const auto& content = files[1].content;
  for (const std::string& said :
       {std::string(">seconds<"), ">" + escaped("gelu") + "<", std::string(">beside the marks: expansion<"), series_class(7)}) {
    INFO(said);
    CHECK(content.find(said) != std::string::npos);
  }
  CHECK(content.find("<script") == std::string::npos);
  CHECK(content.find("height=\"100\"") == std::string::npos);            // it is taller by what stands above
  CHECK(html_figure(figure).find("translate(0 ") == std::string::npos);  // the page says it around the picture
  figure.names_lines = true;
  CHECK(svg_files(figure)[1].content.find(">gelu<") == std::string::npos);
  figure.wide = false;  // no room for names
  CHECK(svg_files(figure)[1].content.find(">gelu<") != std::string::npos);
}

TEST_CASE("where cells have their numbers, each has: in two digits, or in what has room") {
  const auto texts = [](const std::vector<double>& values) {
    MatrixPicture m{"title", "", "", "", {"row"}, {}, 1, values.size(), values};
    const std::string svg = draw_matrix(m, Form{Form::kNarrow, false, false, "id"}, "");
    std::vector<std::string> out;
    for (auto at = svg.find("class=\"in "); at != std::string::npos; at = svg.find("class=\"in ", at + 1)) {
      const auto begin = svg.find('>', at) + 1;
      out.push_back(svg.substr(begin, svg.find('<', begin) - begin));
    }
    return out;
  };
  using Words = std::vector<std::string>;
  CHECK(texts({0.004, 0, -0.5, 12, -1.25}) == Words{"0.0040", "0", "−0.50", "12", "−1.2"});
  CHECK(texts({-0.004, 0, -0.5, 12, -1.25}) == Words{"−0.00", "0", "−0.50", "12", "−1.2"});
  CHECK(texts(std::vector<double>(10, -0.25)) == Words(10, "−0.2"));  // 30 pixels each
  CHECK(texts(std::vector<double>(8, 0.0083)) == Words(8, "0.01"));   // 40 pixels each: four decimals would touch
  CHECK(texts({-1e8, 0.5}).empty());
  CHECK(texts(std::vector<double>(20, 0.5)).empty());
}
