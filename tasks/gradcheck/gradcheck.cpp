// The table of `tapegrad gradcheck`.
#include <fmt/format.h>
#include <tapegrad/tasks/gradcheck/gradcheck.h>
#include <tapegrad/tasks/gradcheck/module_samples.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

namespace tapegrad::tasks {
namespace {

struct Row {
  std::string name;
  bool refuses = false;
  std::vector<std::pair<std::string, GradcheckReport>> reports;  // by label

  bool ok() const {
    return std::all_of(reports.begin(), reports.end(), [](const auto& r) { return r.second.ok; });
  }
};

void print(const Row& row) {
  double worst = 0;
  bool failed[3] = {};  // before any gradient, at first order, at second
  for (const auto& [label, report] : row.reports) {
    worst = std::max({worst, report.worst[0], report.worst[1]});
    if (!report.ok) failed[report.order] = true;
  }
  const char* const first = failed[0] || failed[1] ? "WRONG" : "ok";
  const char* const second = failed[2] ? "WRONG" : failed[0] || failed[1] ? "-" : row.refuses ? "refuses" : "ok";
  fmt::print("{:<34}{:>7}  {:<10}{:<10}{:>10.1e}\n", row.name, row.reports.size(), first, second, worst);
  for (const auto& [label, report] : row.reports) {
    if (!report.ok) fmt::print("    {}: {}\n", label, report.text);
  }
  std::fflush(stdout);
}

Row check(const OpSamples& samples) {
  Row row{samples.op, false, {}};
  for (const Op* op : Op::all()) row.refuses |= op->name == samples.op && !op->twice;
  for (const OpSample& sample : samples.samples)
    row.reports.emplace_back(sample.label, check_sample(samples.op, sample));
  return row;
}

Row check(const ModuleSamples& samples) {
  Row row{samples.module, false, {}};
  for (const ModuleSample& sample : samples.samples) row.reports.emplace_back(sample.label, check_module(sample));
  return row;
}

// Checks all of them, or the one called `wanted`; counts what was checked and what was wrong.
struct Tally {
  std::size_t rows = 0, samples = 0, wrong = 0;
};
template <class Table>
bool run(const Table& table, std::string_view wanted, Tally& tally, std::string_view kind, auto name_of) {
  bool headed = false;
  for (const auto& entry : table) {
    if (!wanted.empty() && name_of(entry) != wanted) continue;
    if (!std::exchange(headed, true)) {
      fmt::print("{:<34}{:>7}  {:<10}{:<10}{:>10}\n", kind, "samples", "1st order", "2nd order", "worst");
    }
    const Row row = check(entry);
    print(row);
    ++tally.rows;
    tally.samples += row.reports.size();
    tally.wrong += row.ok() ? 0 : 1;
  }
  return headed;
}

}  // namespace

int gradcheck(const GradcheckRequest& request) {
  const auto op_name = [](const OpSamples& s) -> const std::string& { return s.op; };
  const auto module_name = [](const ModuleSamples& s) -> const std::string& { return s.module; };
  std::vector<std::string> ops, modules;
  for (const OpSamples& s : op_samples()) ops.push_back(s.op);
  for (const ModuleSamples& s : module_samples()) modules.push_back(s.module);
  const auto known = [](const std::vector<std::string>& names, const std::string& name) {
    return name.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!known(ops, request.op)) bad_request("--op", unknown("operation", request.op, ops));
  if (!known(modules, request.module)) bad_request("--module", unknown("module", request.module, modules));

  Tally tally;
  const bool everything = request.op.empty() && request.module.empty();
  if (everything || !request.op.empty()) run(op_samples(), request.op, tally, "operation", op_name);
  if (everything || !request.module.empty()) run(module_samples(), request.module, tally, "module", module_name);
  if (everything) {
    for (const std::string& op : ops_without_samples()) {
      fmt::print("{:<34}{:>7}  WRONG\n", op, "none");
      ++tally.wrong;
    }
  }
  fmt::print("{} checked on {} samples, {} wrong\n", tally.rows, tally.samples, tally.wrong);
  return tally.wrong == 0 ? 0 : 1;
}

}  // namespace tapegrad::tasks
