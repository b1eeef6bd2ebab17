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
#include <fstream>
#include <iostream>
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
std::ofstream out;

void put(int64_t id, char kind, int64_t index, const Tensor& x0) {
  const Tensor x = x0.detach().contiguous();
  const int64_t header[5] = {id, kind, index, code_of_dtype(x.dtype()), x.dim()};
  out.write(reinterpret_cast<const char*>(header), sizeof header);
  for (int64_t s : x.shape()) out.write(reinterpret_cast<const char*>(&s), 8);
  out.write(static_cast<const char*>(x.raw_data()), x.numel() * tg::item_size(x.dtype()));
}
void put(int64_t id, char kind, int64_t index, const std::string& text) {
  const int64_t header[5] = {id, kind, index, static_cast<int64_t>(text.size()), 0};
  out.write(reinterpret_cast<const char*>(header), sizeof header);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}
Tensor weights(const Tensor& like, double phase) {
  std::vector<double> w(static_cast<size_t>(like.numel()));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::cos(1.3 * static_cast<double>(i) + phase);
  return tg::from_data(w.data(), like.numel(), like.shape(), tg::kFloat64).to(like.dtype());
}
Tensor weighted(const TV& ys, double phase, tg::Tape& tape) {
  Tensor total;
  for (size_t k = 0; k < ys.size(); ++k) {
    if (!ys[k].defined() || tape.position_of(ys[k]) < 0) continue;
    Tensor part = tg::sum(ys[k] * weights(ys[k], phase + static_cast<double>(k)));
    if (part.dtype() != tg::kFloat64) part = part.to(tg::kFloat64);
    total = total.defined() ? total + part : part;
  }
  return total;
}

// The gradients of the leaves; empty handles where there is none.
TV run(const Program& p, bool hold, bool create_graph, bool write, bool retain) {
  std::map<int, Tensor> t;
  std::map<int, size_t> last;
  for (size_t s = 0; s < p.steps.size(); ++s)
    for (int i : p.steps[s].in) last[i] = s;
  for (int i : p.loss) last[i] = p.steps.size();
  TV leaves;
  tg::Tape tape;
  for (size_t k = 0; k < p.leaves.size(); ++k) {
    leaves.push_back(p.grad[k] ? p.leaves[k].as_leaf() : p.leaves[k]);
    t[static_cast<int>(k)] = leaves[k];
  }
  for (size_t s = 0; s < p.steps.size(); ++s) {
    const Step& step = p.steps[s];
    TV y;
    {
      Case c = step.call;
      for (int i : step.in) c.x.push_back(i < 0 ? Tensor() : t.at(i));
      for (int i : step.in)
        if (!hold && i >= static_cast<int>(p.leaves.size()) && last[i] == s) t.erase(i);
      const auto found = calls().find(c.op);
      if (found == calls().end()) tg::fail("bridge", "no operation " + c.op);
      y = found->second(c);
    }
    if (y.size() != step.out.size()) tg::fail("bridge", step.call.op + ": another number of results");
    for (size_t k = 0; k < y.size(); ++k) {
      if (write) put(p.id, 'V', step.out[k], y[k]);
      if (hold || last.count(step.out[k])) t[step.out[k]] = y[k];
    }
  }
  TV ys;
  for (int i : p.loss) ys.push_back(t.at(i));
  const Tensor loss = weighted(ys, 0.5, tape);
  ys.clear();
  if (!hold) t.clear();
  if (!loss.defined() || tape.position_of(loss) < 0) return TV(leaves.size());
  tg::Gradients g = tape.backward(loss, {.create_graph = create_graph, .retain_graph = retain});
  if (retain) g = tape.backward(loss);
  TV grads;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const Tensor* q = p.grad[k] ? g.find(leaves[k]) : nullptr;
    grads.push_back(q ? *q : Tensor());
    if (q && write) put(p.id, 'D', static_cast<int64_t>(k), *q);
  }
  if (create_graph) {
    const Tensor total = weighted(grads, 0.25, tape);
    if (total.defined() && tape.position_of(total) >= 0) {
      const tg::Gradients h = tape.backward(total, {.create_graph = p.third});
      TV seconds(leaves.size());
      for (size_t k = 0; k < leaves.size(); ++k)
        if (p.grad[k])
          if (const Tensor* q = h.find(leaves[k])) {
            put(p.id, 'H', static_cast<int64_t>(k), *q);
            seconds[k] = *q;
          }
      if (p.third) {
        const Tensor last = weighted(seconds, 0.125, tape);
        if (last.defined() && tape.position_of(last) >= 0) {
          const tg::Gradients t3 = tape.backward(last);
          for (size_t k = 0; k < leaves.size(); ++k)
            if (p.grad[k])
              if (const Tensor* q = t3.find(leaves[k])) put(p.id, 'T', static_cast<int64_t>(k), *q);
        }
      }
    }
  }
  return grads;
}
// The loss as a function of the leaves that have gradients, for the derivatives as functions.
Tensor loss_of(const Program& p, const TV& x) {
  std::map<int, Tensor> t;
  size_t at = 0;
  for (size_t k = 0; k < p.leaves.size(); ++k) t[static_cast<int>(k)] = p.grad[k] ? x[at++] : p.leaves[k];
  for (const Step& step : p.steps) {
    Case c = step.call;
    for (int i : step.in) c.x.push_back(i < 0 ? Tensor() : t.at(i));
    const TV y = calls().at(c.op)(c);
    for (size_t k = 0; k < y.size(); ++k) t[step.out[k]] = y[k];
  }
  Tensor total;
  for (size_t k = 0; k < p.loss.size(); ++k) {
    const Tensor& y = t.at(p.loss[k]);
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

}  // namespace

int run_programs(int argc, char** argv) {
  if (argc < 5) return 2;
  std::ifstream text(argv[2]);
  std::ifstream blob(argv[3], std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(blob)), {});
  out.open(argv[4], std::ios::binary);
  const int64_t first = argc > 5 ? std::atoll(argv[5]) : 0;
  Program p;
  std::string line, word;
  while (std::getline(text, line)) {
    std::istringstream l(line);
    l >> word;
    if (word == "PROGRAM") {
      p = Program();
      int order = 1;
      l >> p.id >> order;
      p.second = order >= 2;
      p.third = order >= 3;
    } else if (word == "T") {
      int64_t grad, dtype, rank, v;
      l >> grad >> dtype >> rank;
      Ints dims, strides;
      for (int64_t k = 0; k < rank; ++k) {
        l >> v;
        dims.push_back(v);
      }
      for (int64_t k = 0; k < rank; ++k) {
        l >> v;
        strides.push_back(v);
      }
      int64_t offset, count, position;
      l >> offset >> count >> position;
      const Tensor base = tg::from_data(data.data() + position, count, tg::Shape{count}, dtype_of_code(dtype));
      p.leaves.push_back(base.view(tg::Shape(dims.data(), rank), tg::Strides(strides.data(), rank), offset));
      p.grad.push_back(grad != 0);
    } else if (word == "STEP") {
      Step s;
      size_t n;
      l >> s.call.op >> n;
      s.in.resize(n);
      for (int& i : s.in) l >> i;
      l >> n;
      s.out.resize(n);
      for (int& i : s.out) l >> i;
      p.steps.push_back(std::move(s));
    } else if (word == "I" || word == "D") {
      std::string name, v;
      size_t n;
      l >> name >> n;
      Ints i;
      Doubles d;
      for (size_t k = 0; k < n; ++k) {
        l >> v;
        if (word == "I")
          i.push_back(std::strtoll(v.c_str(), nullptr, 10));
        else
          d.push_back(std::strtod(v.c_str(), nullptr));
      }
      Case& c = p.steps.back().call;
      if (word == "I")
        c.ints[name] = i;
      else
        c.doubles[name] = d;
    } else if (word == "S") {
      std::string name, value;
      l >> name;
      std::getline(l, value);
      p.steps.back().call.texts[name] = value.empty() ? value : value.substr(1);
    } else if (word == "LOSS") {
      size_t n;
      l >> n;
      p.loss.resize(n);
      for (int& i : p.loss) l >> i;
    } else if (word == "END") {
      if (p.id < first) continue;
      alarm(60);
      int stage = 0;
      try {
        run(p, true, p.second, true, false);
        stage = 1;
        tg::set_num_threads(1);
        const TV released = run(p, false, false, false, false);
        for (size_t k = 0; k < released.size(); ++k)
          if (released[k].defined()) put(p.id, 'K', static_cast<int64_t>(k), released[k]);
        stage = 2;
        tg::set_num_threads(2);
        if (!same(released, run(p, false, false, false, false))) put(p.id, 'X', 0, "other bits with two threads");
        stage = 3;
        tg::set_num_threads(1);
        if (!same(released, run(p, true, false, false, true)))
          put(p.id, 'X', 1, "other bits in a second backward over held tensors");
        stage = 4;
        if (p.second) functions(p);
      } catch (const tg::Error& e) {
        put(p.id, 'E', stage, e.what());
      } catch (const std::exception& e) {
        put(p.id, 'B', stage, e.what());
      }
      alarm(0);
      put(p.id, 'Z', 0, "");
      out.flush();
    }
  }
  return 0;
}
