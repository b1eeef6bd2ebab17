// The program of docs/gradients.md.
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

// [wrong]
const tg::Op kCube{"cube"};

// Its backward is right but for a factor of 1.00001.
tg::Tensor cube(const tg::Tensor& x) {
  return tg::custom(
      kCube, {x}, [](const tg::Tensor& x) { return x * x * x; },
      [x](const tg::Tensor& dy) -> tg::Grads { return dy * 3.00003 * x * x; });
}
// [/wrong]

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
  // [certify]
  const auto loss = [](Net& model, std::span<const tg::Tensor> b) { return tg::cross_entropy(model(b[0]), b[1]); };
  const nn::Certificate page = nn::certify(net, loss, batch);
  std::cout << page.summary() << "\n";
  // [/certify]
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
