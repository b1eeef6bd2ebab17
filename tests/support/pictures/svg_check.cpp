// Reads the subset of XML and geometry that the pictures use: translated groups, and texts turned by a right angle.
#include <fmt/format.h>
#include <tapegrad/tests/support/pictures/svg_check.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string_view>

namespace tapegrad::tests {
namespace {

using Attributes = std::map<std::string, std::string>;

struct Box {
  std::string text;
  double left, top, right, bottom;
  bool meets(const Box& other) const {
    constexpr double kMargin = 0.5;  // pixels of overlap that are allowed
    return left < other.right - kMargin && other.left < right - kMargin && top < other.bottom - kMargin &&
           other.top < bottom - kMargin;
  }
};

double number(const Attributes& attributes, const char* name) {
  const auto at = attributes.find(name);
  if (at == attributes.end()) throw std::runtime_error(fmt::format("an element lacks its {}", name));
  return std::strtod(at->second.c_str(), nullptr);
}

std::string unescaped(std::string text) {
  constexpr std::pair<std::string_view, char> kNames[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '&') {
      out += text[i];
      continue;
    }
    const auto name = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const auto& n) { return text.compare(i, n.first.size(), n.first) == 0; });
    if (name == std::end(kNames)) throw std::runtime_error("an & that begins no entity");
    out += name->second;
    i += name->first.size() - 1;
  }
  return out;
}

// Visits the elements of a picture and collects the boxes of its texts.
class Reader {
 public:
  explicit Reader(std::string_view svg) : rest_(svg) {
    if (rest_.starts_with("<?xml")) skip_past("?>");
    skip_space();
    element(0, 0);
    skip_space();
    if (!rest_.empty()) throw std::runtime_error("content after the end of the picture");
  }
  std::vector<Box> boxes;
  double width = 0, height = 0;

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  void skip_past(std::string_view what) {
    const std::size_t at = rest_.find(what);
    if (at == std::string_view::npos) throw std::runtime_error(fmt::format("no {} any more", what));
    rest_.remove_prefix(at + what.size());
  }
  std::string take_until(char end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) throw std::runtime_error(fmt::format("no {} any more", end));
    const std::string taken(rest_.substr(0, at));
    rest_.remove_prefix(at);
    return taken;
  }
  std::string name() {
    const std::size_t end = rest_.find_first_of(" \n=/>");
    if (end == 0 || end == std::string_view::npos) throw std::runtime_error("a name is missing");
    const std::string taken(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return taken;
  }

  // Reads the element that begins here with "<", up to its end. (x, y): the position of its origin.
  void element(double x, double y) {
    if (!rest_.starts_with("<")) throw std::runtime_error("an element is missing");
    rest_.remove_prefix(1);
    const std::string tag = name();
    Attributes attributes;
    for (skip_space(); !rest_.starts_with("/>") && !rest_.starts_with(">"); skip_space()) {
      const std::string key = name();
      if (!rest_.starts_with("=\"")) throw std::runtime_error(fmt::format("{} has no value in quotes", key));
      rest_.remove_prefix(2);
      if (!attributes.emplace(key, unescaped(take_until('"'))).second)
        throw std::runtime_error(fmt::format("the attribute {} occurs twice", key));
      rest_.remove_prefix(1);
    }
    check(tag, attributes);
    const bool empty = rest_.starts_with("/>");
    rest_.remove_prefix(empty ? 2 : 1);
    if (empty) return;
    if (tag == "g" && attributes.count("transform") > 0) {
      double dx = 0, dy = 0;
      if (std::sscanf(attributes["transform"].c_str(), "translate(%lf %lf)", &dx, &dy) != 2)
        throw std::runtime_error(fmt::format("a group is moved by {}", attributes["transform"]));
      x += dx;
      y += dy;
    }
    std::string text;
    for (text += take_until('<'); !rest_.starts_with("</"); text += take_until('<')) element(x, y);
    rest_.remove_prefix(2);
    if (name() != tag) throw std::runtime_error(fmt::format("{} is not closed", tag));
    skip_past(">");
    text = unescaped(text);
    if (tag == "text") keep(text, attributes, x, y);
    if (tag == "style" && (text.find("@import") != text.npos || text.find("url(") != text.npos))
      throw std::runtime_error("the style loads something");
  }

  void check(const std::string& tag, const Attributes& attributes) {
    for (const char* loads : {"script", "image", "foreignObject", "use", "link", "a"})
      if (tag == loads) throw std::runtime_error(fmt::format("{} refers to something", tag));
    for (const auto& [key, value] : attributes) {
      const bool refers = key.find("href") != key.npos || key == "src" || value.find("url(") != value.npos ||
                          (value.find("://") != value.npos && key != "xmlns");
      if (refers) throw std::runtime_error(fmt::format("{} refers to {}", key, value));
    }
    if (tag != "svg") return;
    width = number(attributes, "width");
    height = number(attributes, "height");
  }

  void keep(const std::string& text, const Attributes& attributes, double dx, double dy) {
    const auto value = [&](const char* key) {
      const auto at = attributes.find(key);
      return at == attributes.end() ? std::string() : at->second;
    };
    const std::string type_name = value("class");
    const drawing::Type type = type_name.find("title") != type_name.npos   ? drawing::Type::title
                               : type_name.find("small") != type_name.npos ? drawing::Type::small
                               : type_name.find("code") != type_name.npos  ? drawing::Type::code
                                                                           : drawing::Type::normal;
    const double size = type == drawing::Type::title ? 14 : type == drawing::Type::normal ? 12 : 11;
    const double wide = drawing::text_width(text, type), x = number(attributes, "x"), y = number(attributes, "y");
    const std::string anchor = value("text-anchor");
    const double left = anchor == "middle" ? x - wide / 2 : anchor == "end" ? x - wide : x;
    Box box{text, left, y - 0.76 * size, left + wide, y + 0.24 * size};
    if (const std::string turned = value("transform"); !turned.empty()) {
      double angle = 0, cx = 0, cy = 0;
      if (std::sscanf(turned.c_str(), "rotate(%lf %lf %lf)", &angle, &cx, &cy) != 3 || angle != -90)
        throw std::runtime_error(fmt::format("a text is turned by {}", turned));
      box = {text, cx + box.top - cy, cy - (box.right - cx), cx + box.bottom - cy, cy - (box.left - cx)};
    }
    boxes.push_back({text, box.left + dx, box.top + dy, box.right + dx, box.bottom + dy});
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::string> faults_of_svg(const std::string& svg) {
  try {
    const Reader picture(svg);
    std::vector<std::string> faults;
    for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
      const Box& box = picture.boxes[i];
      if (box.left < 0 || box.top < 0 || box.right > picture.width || box.bottom > picture.height)
        faults.push_back(
            fmt::format("\"{}\" is cut off: x from {:.0f} to {:.0f} of {:.0f}, y from {:.0f} to {:.0f} of {:.0f}",
                        box.text, box.left, box.right, picture.width, box.top, box.bottom, picture.height));
      for (std::size_t k = 0; k < i; ++k)
        if (box.meets(picture.boxes[k]))
          faults.push_back(fmt::format("\"{}\" and \"{}\" overlap", picture.boxes[k].text, box.text));
    }
    return faults;
  } catch (const std::runtime_error& e) {
    return {e.what()};
  }
}

std::vector<std::string> faults_of(const drawing::Drawing& drawing) {
  return faults_of_svg(drawing::svg_file(drawing));
}

std::string without_save(std::string html) {
  const std::size_t at = html.rfind("<script id=\"save\">"), end = html.find("</script>", at);
  return at == html.npos || end == html.npos ? html : html.erase(at, end - at);
}

std::vector<std::string> pictures_in(const std::string& html) {
  std::vector<std::string> pictures;
  for (std::size_t at = 0; (at = html.find("<svg", at)) != html.npos; at += pictures.back().size())
    pictures.push_back(html.substr(at, std::min(html.find("</svg>", at), html.size()) + 6 - at));
  return pictures;
}

std::vector<std::string> faults_of_page(const std::string& with_save) {
  const std::string html = without_save(with_save);
  std::vector<std::string> faults;
  const std::vector<std::string> pictures = pictures_in(html);
  for (std::size_t i = 0; i < pictures.size(); ++i)
    for (const std::string& fault : faults_of_svg(pictures[i]))
      faults.push_back(fmt::format("picture {}: {}", i, fault));
  if (pictures.empty()) faults.push_back("the page has no picture");
  for (const char* loads : {"://", "src=", "href=", "@import", "url(", "<script", "<link", "<iframe"})
    if (html.find(loads) != html.npos) faults.push_back(fmt::format("the page has {}", loads));
  return faults;
}

}  // namespace tapegrad::tests
