// Reads tests/data, and compares element by element.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/stored.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

namespace tapegrad::tests {

std::string data_path(const std::string& name) { return std::string(kTestsDir) + "/data/" + name; }

const Json& stored(const std::string& file) {
  static std::map<std::string, Json> files;
  auto at = files.find(file);
  if (at == files.end()) at = files.emplace(file, Json::parse(slurp(data_path(file)))).first;
  return at->second;
}

Json json_in_page(const std::string& html) {
  constexpr std::string_view kMark = "application/json\">";
  const std::size_t at = html.find(kMark) + kMark.size();
  return Json::parse(html.substr(at, html.find("</script>", at) - at));
}

Json& at_path(Json& json, std::string_view path) {
  if (path.empty()) return json;
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string key(path.substr(1, end - 1));
  if (json.is_array() && std::stoul(key) == json.size()) json.push_back(nullptr);
  return at_path(json.is_array() ? json[std::stoul(key)] : json[key], path.substr(end));
}

std::vector<Json> json_lines(const std::string& path) {
  std::vector<Json> objects;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) objects.push_back(Json::parse(line));
  return objects;
}

std::vector<std::pair<std::string, std::string>> pairs_of_lines(const std::string& file, const std::string& section) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::ifstream lines(std::string(kTestsDir) + "/" + file);
  bool inside = section.empty();
  for (std::string first, second; std::getline(lines, first);) {
    if (first.starts_with("== ")) inside = first.substr(3) == section;
    if (first.starts_with("== ") || first.starts_with("# ")) continue;
    if (!std::getline(lines, second) || !second.starts_with("  "))
      fail(file, "expected a line with two spaces below " + first);
    if (inside) pairs.emplace_back(first, second == "  -" ? "" : second.substr(2));
  }
  if (pairs.empty()) fail(file, "has no lines in the section \"" + section + "\"");
  return pairs;
}

void expect_said(const std::string& file, const std::string& section,
                 const std::function<std::string(const std::string&)>& said) {
  for (const auto& [line, expected] : pairs_of_lines(file, section)) {
    std::string input = line;
    for (const auto& [mark, byte] : {std::pair("⏎", '\n'), std::pair("␀", '\0')})
      for (std::size_t at; (at = input.find(mark)) != input.npos;) input.replace(at, std::strlen(mark), 1, byte);
    EXPECT_EQ(said(input), expected) << line;
  }
}

Tensor ids(const Json& rows) {
  std::vector<int64_t> values;
  for (const Json& row : rows) values.insert(values.end(), row.begin(), row.end());
  return tensor(values, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())});
}

std::string bytes_of_digits(const Json& digits) {
  const auto& text = digits.string();
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

Tensor filled(const Shape& shape, int64_t k) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i)
    values.push_back(static_cast<double>((37 * i + 101 * k) % 257 - 128) / 256);
  return tensor(values, shape);
}

void expect_close(const Tensor& x, const Json& expected, Room room, const std::string& what) {
  const std::vector<double> values = x.detach().to(kFloat64).contiguous().to_vector<double>();
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double e = expected[i];
    ASSERT_NEAR(values[i], e, room.absolute + room.relative * std::abs(e)) << what << " at " << i;
  }
}

}  // namespace tapegrad::tests
