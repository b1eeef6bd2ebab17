// What nn::certify found: one page of checks, each with what was done, the number, its limit and the verdict.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::nn {

/// The verdict of one check. `unknown`: the numbers cannot decide, for example at a kink; this is not a failure.
enum class Verdict { right, unknown, wrong };
/// "right", "unknown", "WRONG".
std::string_view name(Verdict verdict);

/// One check.
struct CertificateLine {
  std::string what;                    ///< "trained, eval, direction 2"
  std::string found;                   ///< the numbers: "analytic 0.25, numerical 0.25"
  std::string limit = {};              ///< the error that the measurement itself has, or what was expected
  Verdict verdict = Verdict::right;    ///< whether `found` is within `limit`
  double digits = 0, most_digits = 0;  ///< decimal digits that agree, and those that differences can show; 0: none
};

/// Checks of one kind.
struct CertificateSection {
  std::string title;                   ///< "Directional derivatives"
  std::string about;                   ///< what was done, in a sentence
  std::vector<CertificateLine> lines;  ///< in the order of the checks, or the least certain first
};

/// The result of nn::certify.
class Certificate {
 public:
  std::vector<std::pair<std::string, std::string>> subject;  ///< facts: parameters, hashes, seed, instruction set
  std::vector<CertificateSection> sections;                  ///< in the order of the page
  std::vector<std::string> unchecked;                        ///< what was not checked, one sentence each
  /// x, v and the gradient of the first point and direction, and their numbers: "x.up.weight", "v.up.weight",
  /// "gradient.up.weight", "loss", "analytic", "numerical".
  NamedTensors numbers;
  double seconds = 0;  ///< that the checks took

  /// Whether no check is wrong.
  bool ok() const { return count(Verdict::wrong) == 0; }
  explicit operator bool() const { return ok(); }
  /// Checks with this verdict.
  int64_t count(Verdict verdict) const;
  /// The section, or nullptr.
  const CertificateSection* section(std::string_view title) const;
  /// One line: "41 checks: 40 right, 1 unknown, 0 wrong", or the first wrong check.
  std::string summary() const;
  /// The page for a terminal of 100 columns.
  std::string text() const;
  /// Writes `numbers` as .npz, for a check by other means (docs/gradients.md). Error if it cannot be written.
  void write_numpy(const std::string& path) const;
};

/// Writes text().
std::ostream& operator<<(std::ostream& out, const Certificate& page);

}  // namespace tapegrad::nn
