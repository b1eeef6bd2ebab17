// Runs cases against tapegrad: bridge CASES DATA RESULTS [first case], or random programs (programs.cpp). See case.h
// for the input and protocol.py for both sides. After each case its results are flushed, so that after a crash the
// caller knows which case it was.
//
// Results, as int64 headers {id, kind, index, dtype, rank, dims..} and raw values:
//   V output, D gradient, H second gradient of input `index`; E a tapegrad::Error, B another exception (index is the
//   stage: 0 forward, 1 backward, 2 backward with create_graph, 3 second backward); X a property that does not hold;
//   Z the end of a case. Texts have their length in place of the dtype.
#include "case.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>

std::map<std::string, Call>& calls() {
  static std::map<std::string, Call> all;
  return all;
}

int run_programs(int argc, char** argv);  // programs.cpp

namespace {

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

// cos(1.3 i + phase), as protocol.py computes it.
Tensor weights(const Tensor& like, double phase) {
  std::vector<double> w(static_cast<size_t>(like.numel()));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::cos(1.3 * static_cast<double>(i) + phase);
  return tg::from_data(w.data(), like.numel(), like.shape(), tg::kFloat64).to(like.dtype());
}
bool same_bits(const Tensor& a0, const Tensor& b0) {
  if (!(a0.shape() == b0.shape()) || a0.dtype() != b0.dtype()) return false;
  const Tensor a = a0.detach().contiguous(), b = b0.detach().contiguous();
  const size_t n = static_cast<size_t>(a.numel());
  if (tg::is_floating(a.dtype())) {  // any NaN equals any other
    const auto u = a.to(tg::kFloat64).to_vector<double>(), v = b.to(tg::kFloat64).to_vector<double>();
    for (size_t i = 0; i < n; ++i)
      if (!(std::isnan(u[i]) && std::isnan(v[i])) && std::memcmp(&u[i], &v[i], 8) != 0) return false;
    return true;
  }
  return std::memcmp(a.raw_data(), b.raw_data(), n * static_cast<size_t>(tg::item_size(a.dtype()))) == 0;
}

Tensor weighted_sum(const tg::Tape&, tg::Tape& tape, const TV& ys, double phase) {
  Tensor total;
  for (size_t k = 0; k < ys.size(); ++k) {
    if (!ys[k].defined() || !tg::is_floating(ys[k].dtype()) || tape.position_of(ys[k]) < 0) continue;
    Tensor part = tg::sum(ys[k] * weights(ys[k], phase + static_cast<double>(k)));
    if (part.dtype() != tg::kFloat64) part = part.to(tg::kFloat64);
    total = total.defined() ? total + part : part;
  }
  return total;
}

// Runs the call once on a tape with leaves; writes gradients. Returns false if create_graph was refused.
bool differentiate(const Case& original, const Call& call, const TV& plain, bool create_graph, bool write_values,
                   int& stage) {
  Case c = original;
  for (size_t k = 0; k < c.x.size(); ++k)
    if (c.wants[k]) c.x[k] = c.x[k].as_leaf();
  tg::Tape tape;
  if (c.seed >= 0) tg::manual_seed(static_cast<uint64_t>(c.seed));
  stage = 0;
  const TV y = call(c);
  if (write_values) {
    for (size_t k = 0; k < y.size(); ++k)
      if (y[k].defined()) put(c.id, 'V', static_cast<int64_t>(k), y[k]);
    if (y.size() != plain.size()) put(c.id, 'X', 0, "another number of results without a tape");
    for (size_t k = 0; k < y.size() && k < plain.size(); ++k)
      if (y[k].defined() && !same_bits(y[k], plain[k]))
        put(c.id, 'X', static_cast<int64_t>(k), "the result has other bits without a tape");
  }
  const Tensor loss = weighted_sum(tape, tape, y, 0.5);
  if (!loss.defined() || tape.position_of(loss) < 0) return true;
  stage = create_graph ? 2 : 1;
  tg::Gradients g = tape.backward(loss, {.create_graph = create_graph});
  TV firsts;
  for (size_t k = 0; k < c.x.size(); ++k) {
    if (!c.wants[k]) continue;
    const Tensor* q = g.find(c.x[k]);
    firsts.push_back(q ? *q : Tensor());
    if (!q) continue;
    if (!(q->shape() == c.x[k].shape()) || q->dtype() != c.x[k].dtype())
      put(c.id, 'X', static_cast<int64_t>(k), "gradient has another shape or type");
    put(c.id, 'D', static_cast<int64_t>(k), *q);
  }
  if (create_graph) {
    stage = 3;
    const Tensor total = weighted_sum(tape, tape, firsts, 0.25);
    if (total.defined() && tape.position_of(total) >= 0) {
      tg::Gradients h = tape.backward(total);
      for (size_t k = 0; k < c.x.size(); ++k)
        if (c.wants[k])
          if (const Tensor* q = h.find(c.x[k])) put(c.id, 'H', static_cast<int64_t>(k), *q);
    }
  }
  return true;
}

void run(const Case& original) {
  int stage = 0;
  const int64_t id = original.id;
  try {
    const auto found = calls().find(original.op);
    if (found == calls().end()) {
      put(id, 'X', 0, "no such operation in the bridge: " + original.op);
      return;
    }
    TV before;
    for (const Tensor& x : original.x) before.push_back(x.defined() ? x.clone() : Tensor());
    TV plain;
    {
      Case c = original;
      if (c.seed >= 0) tg::manual_seed(static_cast<uint64_t>(c.seed));
      plain = found->second(c);
    }
    if (!original.grad) {
      for (size_t k = 0; k < plain.size(); ++k)
        if (plain[k].defined()) put(id, 'V', static_cast<int64_t>(k), plain[k]);
    } else {
      try {
        differentiate(original, found->second, plain, original.second, true, stage);
      } catch (const tg::Error& e) {
        if (stage != 2) throw;
        put(id, 'E', 2, e.what());
        differentiate(original, found->second, plain, false, false, stage);
      }
    }
    for (size_t k = 0; k < before.size(); ++k)
      if (before[k].defined() && !same_bits(before[k], original.x[k]))
        put(id, 'X', static_cast<int64_t>(k), "an operand has changed");
  } catch (const tg::Error& e) {
    put(id, 'E', stage, e.what());
  } catch (const std::out_of_range& e) {
    put(id, 'X', 0, std::string("the bridge lacks an argument: ") + e.what());
  } catch (const std::exception& e) {
    put(id, 'B', stage, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
  setrlimit(RLIMIT_AS, &memory);
  add_operations();
  add_modules();
  add_optimisers();
  if (std::string(argv[1]) == "programs") return run_programs(argc, argv);
  if (std::string(argv[1]) == "list") {
    for (const auto& [name, call] : calls()) std::cout << name << "\n";
    return 0;
  }
  std::ifstream cases(argv[1]);
  std::ifstream blob(argv[2], std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(blob)), {});
  out.open(argv[3], std::ios::binary);
  const int64_t first = argc > 4 ? std::atoll(argv[4]) : 0;
  if (const char* n = getenv("TG_THREADS")) tg::set_num_threads(std::atoi(n));
  const unsigned seconds = getenv("TG_SECONDS") ? static_cast<unsigned>(std::atoi(getenv("TG_SECONDS"))) : 30;
  Case c;
  std::string line, word;
  while (std::getline(cases, line)) {
    std::istringstream l(line);
    l >> word;
    if (word == "CASE") {
      c = Case();
      l >> c.id >> c.op >> c.grad >> c.second >> c.seed;
    } else if (word == "U") {
      c.x.emplace_back();
      c.wants.push_back(false);
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
      if (c.id < first) continue;
      const Tensor base = tg::from_data(data.data() + position, count, tg::Shape{count}, dtype_of_code(dtype));
      c.x.push_back(base.view(tg::Shape(dims.data(), rank), tg::Strides(strides.data(), rank), offset));
      c.wants.push_back(grad != 0);
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
      if (word == "I")
        c.ints[name] = i;
      else
        c.doubles[name] = d;
    } else if (word == "S") {
      std::string name, text;
      l >> name;
      std::getline(l, text);
      c.texts[name] = text.empty() ? text : text.substr(1);
    } else if (word == "END") {
      if (c.id < first) continue;
      alarm(seconds);
      run(c);
      alarm(0);
      put(c.id, 'Z', 0, "");
      out.flush();
    }
  }
}
