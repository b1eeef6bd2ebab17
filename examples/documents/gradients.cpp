// The program of docs/gradients.md, whose blocks are read from the page (tests/comments/blocks.py).
#include <comments/blocks.h>
#include <tapegrad/nn/certify.h>
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

#include "comments/docs/gradients_9.inc"

struct Net {
  nn::Linear in{8, 64}, out{64, 4};
  bool wrong = false;
  tg::Tensor operator()(const tg::Tensor& x) const {
    const tg::Tensor h = in(x);
    return out(wrong ? cube(h) : h * h * h);
  }
};

// The least certain check of a section.
std::string worst_of(const nn::CertificateSection& section) {
  const auto worst = std::ranges::max_element(section.lines, {}, [](const nn::CertificateLine& line) {
    return std::pair(line.verdict, line.most_digits - line.digits);
  });
  std::ostringstream text;
  text << name(worst->verdict) << ", ";
  if (worst->most_digits > 0) {
    text << std::fixed << std::setprecision(1) << worst->digits << " of " << worst->most_digits << " digits";
  } else {
    text << worst->found.substr(0, worst->found.find(';'));
  }
  return text.str();
}

}  // namespace

int main() {
  tg::manual_seed(1);
  Net net;
  const std::vector<tg::Tensor> batch{tg::randn({16, 8}), tg::randint(0, 4, {16})};
#include "comments/docs/gradients_8.inc"
  net.wrong = true;
  const nn::Certificate other = nn::certify(net, loss, batch);
  std::cout << other.summary() << "\n";
  for (const nn::CertificateLine& line : other.section("Operations")->lines)
    std::cout << name(line.verdict) << " " << line.what << "\n";
  for (const nn::CertificateSection& section : page.sections) {
    const nn::CertificateSection* const same = other.section(section.title);
    std::cout << std::left << std::setw(26) << section.title << std::setw(34) << worst_of(section)
              << (same ? worst_of(*same) : "left out") << "\n";
  }
}
