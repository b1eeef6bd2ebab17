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
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <sstream>

Calls& calls() {
  static Calls all;
  return all;
}

void add_operations() {
  add_cases();
  add_elementwise();
  add_reduce();
  add_shape();
  add_index();
  add_product();
  add_nn();
  add_chain();
}

namespace {

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

// Runs the call once on a tape with leaves; writes gradients.
void differentiate(const Case& original, const Call& call, const TV& plain, bool create_graph, bool write_values,
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
  const Tensor loss = weighted_sum(tape, y, 0.5);
  if (!loss.defined() || tape.position_of(loss) < 0) return;
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
    const Tensor total = weighted_sum(tape, firsts, 0.25);
    if (total.defined() && tape.position_of(total) >= 0) {
      tg::Gradients h = tape.backward(total);
      for (size_t k = 0; k < c.x.size(); ++k)
        if (c.wants[k])
          if (const Tensor* q = h.find(c.x[k])) put(c.id, 'H', static_cast<int64_t>(k), *q);
    }
  }
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

// Ends the process after these seconds of processor time, or, in a deadlock, after ten times as many of the clock, so
// that other work on the machine does not matter; 0: no limit.
void limit_time(unsigned seconds) {
  const itimerval processor{{0, 0}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &processor, nullptr);
  alarm(10 * seconds);
}

int run_cases(const char* cases_path, const char* data_path, const char* results_path, int64_t first) {
  std::ifstream cases(cases_path);
  const std::string data = contents(data_path);
  out.open(results_path, std::ios::binary);
  const unsigned seconds = getenv("TG_SECONDS") ? static_cast<unsigned>(std::atoi(getenv("TG_SECONDS"))) : 30;
  Case c;
  for (std::string line, word; std::getline(cases, line);) {
    std::istringstream rest(line);
    rest >> word;
    if (word == "CASE") {
      c = Case();
      rest >> c.id >> c.op >> c.grad >> c.second >> c.seed;
    } else if (c.id < first || read_argument(word, rest, c)) {
      continue;
    } else if (word == "U") {
      c.x.emplace_back();
      c.wants.push_back(false);
    } else if (word == "T") {
      const ReadTensor t = read_tensor(rest, data);
      c.x.push_back(t.x);
      c.wants.push_back(t.grad);
    } else if (word == "END") {
      limit_time(seconds);
      run(c);
      limit_time(0);
      put(c.id, 'Z', 0, std::string());
      out.flush();
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
  setrlimit(RLIMIT_AS, &memory);
  add_operations();
  add_modules();
  add_optimisers();
  if (const char* n = getenv("TG_THREADS")) tg::set_num_threads(std::atoi(n));
  const std::string what = argv[1];
  if (what == "list") {
    for (const auto& [name, call] : calls()) std::cout << name << "\n";
    return 0;
  }
  const bool programs = what == "programs";
  if (argc < (programs ? 5 : 4)) return 2;
  char** paths = argv + (programs ? 2 : 1);
  const int64_t first = paths[3] ? std::atoll(paths[3]) : 0;
  return (programs ? run_programs : run_cases)(paths[0], paths[1], paths[2], first);
}
