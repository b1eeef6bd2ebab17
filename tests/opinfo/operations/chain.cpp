// Compositions: "chain" calls operations one after the other. `steps` has them: "mul x0,x1;sqrt 0" is sqrt(x0 * x1). An
// operand is xK, operand K of the case; K, the first result of step K; K.J, its result J; or -, none. Argument NAME of
// step K is the argument K.NAME of the case. `results` has those of the chain.
#include "families.h"

#include <sstream>

namespace {

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) found.push_back(part);
  return found;
}

class Chain {
 public:
  explicit Chain(const Case& c) : case_(c) {}

  void step(const std::string& text) {
    const std::vector<std::string> words = parts(text, ' ');
    const std::string prefix = std::to_string(results_.size()) + ".";
    Case c;
    c.op = words.at(0);
    if (words.size() > 1)
      for (const std::string& operand : parts(words[1], ',')) c.x.push_back(tensor(operand));
    for (const auto& [name, value] : case_.attributes.items())
      if (name.starts_with(prefix)) c.attributes[name.substr(prefix.size())] = value;
    const auto found = calls().find(c.op);
    if (found == calls().end()) throw std::out_of_range("no operation " + c.op);
    results_.push_back(found->second(c));
  }
  Tensor tensor(const std::string& name) const {
    if (name == "-") return {};
    if (name[0] == 'x') return case_.x.at(std::stoul(name.substr(1)));
    const std::vector<std::string> numbers = parts(name, '.');
    const TV& results = results_.at(std::stoul(numbers[0]));
    const size_t k = numbers.size() > 1 ? std::stoul(numbers[1]) : 0;
    if (k >= results.size()) tg::fail("bridge", "a step has fewer results");
    return results[k];
  }

 private:
  const Case& case_;
  std::vector<TV> results_;
};

}  // namespace

void add_chain() {
  calls()["chain"] = [](Case& c) -> TV {
    Chain chain(c);
    for (const std::string& step : parts(c.s("steps"), ';')) chain.step(step);
    TV results;
    for (const std::string& name : parts(c.s("results"), ',')) results.push_back(chain.tensor(name));
    return results;
  };
}
