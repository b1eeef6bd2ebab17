// Random programs: bridge programs PROGRAMS DATA RESULTS [first]. A program is its leaves (T lines, as in case.h), then
// steps:
//
//   PROGRAM id order           of the highest derivative: 1, 2 or 3
//   T ..                                        leaves, numbered from 0
//   STEP op inputs ids.. outputs ids..          -1 for an operand left out; then its I, D and S lines
//   LOSS count ids..                            the sum over these, each with fixed weights
//   END
//
// Each program runs several times: with every tensor held, gradients of all orders (V, D, H, T); with every tensor
// released after its last use, so that operations may overwrite (K: first gradients), once more with another number of
// threads, with retain_graph, and through value_and_grad, hvp (G, P) and jvp. X if bits differ between the second and
// the next two.
#include "case.h"

#include <unistd.h>
#include <cmath>
#include <iostream>
#include <istream>
#include <sstream>

namespace {

struct Step {
  Case call;
  std::vector<int> in, out;
};
struct Program {
  int64_t id = 0;
  bool second = false, third = false;
  TV leaves;
  std::vector<bool> grad;
  std::vector<Step> steps;
  std::vector<int> loss;
};
struct How {
  bool hold, create_graph, write, retain;
};

// The tensors of the loss; without `hold`, every tensor is released after its last use.
TV forward(const Program& p, const TV& leaves, const How& how) {
  std::map<int, Tensor> t;
  std::map<int, size_t> last;
  for (size_t s = 0; s < p.steps.size(); ++s)
    for (int i : p.steps[s].in) last[i] = s;
  for (int i : p.loss) last[i] = p.steps.size();
  for (size_t k = 0; k < leaves.size(); ++k) t[static_cast<int>(k)] = leaves[k];
  for (size_t s = 0; s < p.steps.size(); ++s) {
    const Step& step = p.steps[s];
    TV y;
    {
      Case c = step.call;
      for (int i : step.in) c.x.push_back(i < 0 ? Tensor() : t.at(i));
      for (int i : step.in)
        if (!how.hold && i >= static_cast<int>(p.leaves.size()) && last[i] == s) t.erase(i);
      const auto found = calls().find(c.op);
      if (found == calls().end()) tg::fail("bridge", "no operation " + c.op);
      y = found->second(c);
    }
    if (y.size() != step.out.size()) tg::fail("bridge", step.call.op + ": another number of results");
    for (size_t k = 0; k < y.size(); ++k) {
      if (how.write) put(p.id, 'V', step.out[k], y[k]);
      if (how.hold || last.count(step.out[k])) t[step.out[k]] = y[k];
    }
  }
  TV ys;
  for (int i : p.loss) ys.push_back(t.at(i));
  return ys;
}

constexpr How kReleased{.hold = false, .create_graph = false, .write = false, .retain = false};

TV found(const Program& p, const tg::Gradients& g, const TV& leaves, char kind, bool write) {
  TV grads(leaves.size());
  for (size_t k = 0; k < leaves.size(); ++k) {
    const Tensor* q = p.grad[k] ? g.find(leaves[k]) : nullptr;
    if (!q) continue;
    grads[k] = *q;
    if (write) put(p.id, kind, static_cast<int64_t>(k), *q);
  }
  return grads;
}

// The gradients of the leaves; empty handles where there is none.
TV run(const Program& p, const How& how) {
  TV leaves;
  tg::Tape tape;
  for (size_t k = 0; k < p.leaves.size(); ++k) leaves.push_back(p.grad[k] ? p.leaves[k].as_leaf() : p.leaves[k]);
  const Tensor loss = weighted_sum(tape, forward(p, leaves, how), 0.5);
  const auto is_on_tape = [&](const Tensor& x) { return x.defined() && tape.position_of(x) >= 0; };
  if (!is_on_tape(loss)) return TV(leaves.size());
  tg::Gradients g = tape.backward(loss, {.create_graph = how.create_graph, .retain_graph = how.retain});
  if (how.retain) g = tape.backward(loss);
  const TV grads = found(p, g, leaves, 'D', how.write);
  if (!how.create_graph) return grads;
  const Tensor total = weighted_sum(tape, grads, 0.25);
  if (!is_on_tape(total)) return grads;
  const TV seconds = found(p, tape.backward(total, {.create_graph = p.third}), leaves, 'H', true);
  if (!p.third) return grads;
  const Tensor last = weighted_sum(tape, seconds, 0.125);
  if (is_on_tape(last)) found(p, tape.backward(last), leaves, 'T', true);
  return grads;
}

// The loss as a function of the leaves that have gradients, for the derivatives as functions.
Tensor loss_of(const Program& p, const TV& x) {
  TV leaves = p.leaves;
  size_t at = 0;
  for (size_t k = 0; k < leaves.size(); ++k)
    if (p.grad[k]) leaves[k] = x[at++];
  const TV ys = forward(p, leaves, {.hold = true, .create_graph = false, .write = false, .retain = false});
  Tensor total;
  for (size_t k = 0; k < ys.size(); ++k) {
    const Tensor& y = ys[k];
    Tensor part = tg::sum(y * weights(y, 0.5 + static_cast<double>(k)));
    if (part.dtype() != tg::kFloat64) part = part.to(tg::kFloat64);
    total = total.defined() ? total + part : part;
  }
  return total;
}

// G: value_and_grad, P: hvp with the weights of the second gradients. X: jvp is not the sum of gradients times v.
void functions(const Program& p) {
  TV x, v;
  std::vector<int64_t> index;
  for (size_t k = 0; k < p.leaves.size(); ++k) {
    if (!p.grad[k]) continue;
    x.push_back(p.leaves[k]);
    v.push_back(weights(p.leaves[k], 0.25 + static_cast<double>(k)));
    index.push_back(static_cast<int64_t>(k));
  }
  const auto f = [&](std::span<const Tensor> xs) { return loss_of(p, TV(xs.begin(), xs.end())); };
  const auto [value, grads] = tg::value_and_grad(f)(std::span<const Tensor>(x));
  for (size_t j = 0; j < grads.size(); ++j) put(p.id, 'G', index[j], grads[j]);
  const auto h = tg::hvp(f, x, v);
  for (size_t j = 0; j < h.product.size(); ++j) put(p.id, 'P', index[j], h.product[j]);
  const auto j = tg::jvp(f, x, v);
  double sum = 0, scale = 1;
  for (size_t k = 0; k < x.size(); ++k) {
    const double part = tg::sum(grads[k] * v[k]).item();
    sum += part;
    scale += std::abs(part);
  }
  if (!(std::abs(j.product.item() - sum) <= (x[0].dtype() == tg::kFloat64 ? 1e-9 : 1e-2) * scale))
    put(p.id, 'X', 2,
        "jvp " + std::to_string(j.product.item()) + " is not the sum of gradients times v, " + std::to_string(sum));
}

bool same(const TV& a, const TV& b) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].defined() != b[k].defined()) return false;
    if (!a[k].defined()) continue;
    const Tensor u = a[k].detach().contiguous(), v = b[k].detach().contiguous();
    if (std::memcmp(u.raw_data(), v.raw_data(), static_cast<size_t>(u.numel() * tg::item_size(u.dtype()))) != 0)
      return false;
  }
  return true;
}

// The runs of a program; `stage` is the one that failed if this throws.
void check(const Program& p, int& stage) {
  run(p, {.hold = true, .create_graph = p.second, .write = true, .retain = false});
  stage = 1;
  tg::set_num_threads(1);
  const TV released = run(p, kReleased);
  for (size_t k = 0; k < released.size(); ++k)
    if (released[k].defined()) put(p.id, 'K', static_cast<int64_t>(k), released[k]);
  stage = 2;
  tg::set_num_threads(2);
  if (!same(released, run(p, kReleased))) put(p.id, 'X', 0, std::string("other bits with two threads"));
  stage = 3;
  tg::set_num_threads(1);
  if (!same(released, run(p, {.hold = true, .create_graph = false, .write = false, .retain = true})))
    put(p.id, 'X', 1, std::string("other bits in a second backward over held tensors"));
  stage = 4;
  if (p.second) functions(p);
}

void check(const Program& p) {
  alarm(60);
  int stage = 0;
  try {
    check(p, stage);
  } catch (const tg::Error& e) {
    put(p.id, 'E', stage, std::string(e.what()));
  } catch (const std::exception& e) {
    put(p.id, 'B', stage, std::string(e.what()));
  }
  alarm(0);
  put(p.id, 'Z', 0, std::string());
  out.flush();
}

std::vector<int> read_ids(std::istream& line) {
  size_t n;
  line >> n;
  std::vector<int> ids(n);
  for (int& id : ids) line >> id;
  return ids;
}

}  // namespace

int run_programs(const char* programs, const char* data_path, const char* results, int64_t first) {
  std::ifstream text(programs);
  const std::string data = contents(data_path);
  out.open(results, std::ios::binary);
  Program p;
  for (std::string line, word; std::getline(text, line);) {
    std::istringstream rest(line);
    rest >> word;
    if (word == "PROGRAM") {
      p = Program();
      int order = 1;
      rest >> p.id >> order;
      p.second = order >= 2;
      p.third = order >= 3;
    } else if (word == "T") {
      const ReadTensor t = read_tensor(rest, data);
      p.leaves.push_back(t.x);
      p.grad.push_back(t.grad);
    } else if (word == "STEP") {
      Step s;
      rest >> s.call.op;
      s.in = read_ids(rest);
      s.out = read_ids(rest);
      p.steps.push_back(std::move(s));
    } else if (word == "LOSS") {
      p.loss = read_ids(rest);
    } else if (word == "END") {
      if (p.id >= first) check(p);
    } else {
      read_argument(word, rest, p.steps.back().call);
    }
  }
  return 0;
}
