// The page of a certificate, as text.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/io/numpy.h>
#include <tapegrad/nn/certificate.h>

#include <algorithm>
#include <ostream>

namespace tapegrad::nn {
namespace {

constexpr std::size_t kMostLines = 14;  // of a section, in text; more where these are not right

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::right: return "right";
    case Verdict::unknown: return "unknown";
    default: return "WRONG";
  }
}

int64_t Certificate::count(Verdict verdict) const {
  int64_t found = 0;
  for (const CertificateSection& s : sections) found += std::ranges::count(s.lines, verdict, &CertificateLine::verdict);
  return found;
}

const CertificateSection* Certificate::section(std::string_view title) const {
  const auto found = std::ranges::find(sections, title, &CertificateSection::title);
  return found == sections.end() ? nullptr : &*found;
}

std::string Certificate::summary() const {
  for (const CertificateSection& s : sections) {
    const auto found = std::ranges::find(s.lines, Verdict::wrong, &CertificateLine::verdict);
    if (found != s.lines.end()) return fmt::format("{}: {}: {}", s.title, found->what, found->found);
  }
  return fmt::format("{} checks: {} right, {} unknown, none wrong", count(Verdict::right) + count(Verdict::unknown),
                     count(Verdict::right), count(Verdict::unknown));
}

std::string Certificate::text() const {
  std::string text;
  std::size_t widest = 0;
  for (const auto& [what, value] : subject) widest = std::max(widest, what.size());
  for (const auto& [what, value] : subject) text += fmt::format("{:<{}}  {}\n", what, widest, value);
  for (const CertificateSection& s : sections) {
    if (s.lines.empty()) continue;
    text += fmt::format("\n{}: {}\n", s.title, s.about);
    widest = 0;
    for (const CertificateLine& line : s.lines) widest = std::max(widest, line.what.size());
    std::size_t shown = 0;
    for (const CertificateLine& line : s.lines) {
      if (++shown > kMostLines && line.verdict == Verdict::right) continue;
      text += fmt::format("  {:<7}  {:<{}}  {}", name(line.verdict), line.what, widest, line.found);
      if (line.most_digits > 0) text += fmt::format(", {:.1f} of {:.1f} digits", line.digits, line.most_digits);
      if (!line.limit.empty()) text += fmt::format(" (limit {})", line.limit);
      text += "\n";
    }
    if (s.lines.size() > kMostLines) text += fmt::format("  ... {} in all\n", s.lines.size());
  }
  if (!unchecked.empty()) text += fmt::format("\nNot checked:\n  {}\n", fmt::join(unchecked, "\n  "));
  return text + fmt::format("\n{} ({:.1f} s)\n", summary(), seconds);
}

void Certificate::write_numpy(const std::string& path) const { save_npz(path, numbers); }

std::ostream& operator<<(std::ostream& out, const Certificate& page) { return out << page.text(); }

}  // namespace tapegrad::nn
