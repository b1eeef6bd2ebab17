// The table of `tapegrad gradcheck`.
// build: alone
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/checks/modules/module_samples.h>
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/command/verb/add.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/output.h>

#include <algorithm>
#include <cstdio>

namespace tapegrad::tasks {
namespace {

struct Row {
  std::string name;
  bool refuses = false;
  std::vector<std::pair<std::string, GradcheckReport>> reports;  // by label

  bool ok() const {
    return std::ranges::all_of(reports, [](const auto& r) { return r.second.ok; });
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
  print_text(fmt::format("{:<34}{:>7}  {:<10}{:<10}{:>10.1e}\n", row.name, row.reports.size(), first, second, worst));
  for (const auto& [label, report] : row.reports) {
    if (!report.ok) print_text(fmt::format("    {}: {}\n", label, report.text));
  }
  std::fflush(stdout);
}

Row check(const OpSamples& samples) {
  const Op* const op = find_op(samples.op);
  Row row{samples.op, op && !op->twice, {}};
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
void run(const Table& table, std::string_view wanted, Tally& tally, std::string_view kind, auto name) {
  print_text(fmt::format("{:<34}{:>7}  {:<10}{:<10}{:>10}\n", kind, "samples", "1st order", "2nd order", "worst"));
  int64_t done = 0;
  for (const auto& entry : table) {
    if (!wanted.empty() && entry.*name != wanted) continue;
    const Row row = check(entry);
    print(row);
    ++tally.rows;
    if (wanted.empty()) note_progress(++done, static_cast<int64_t>(table.size()), fmt::format("{}s", kind));
    tally.samples += row.reports.size();
    tally.wrong += row.ok() ? 0 : 1;
  }
}

// BadRequest about `option` unless the table has the entry `wanted`, or none is wanted.
template <class Table>
void require_known(std::string_view option, const std::string& wanted, std::string_view kind, const Table& table,
                   auto name) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.*name);
  if (!wanted.empty() && std::ranges::find(names, wanted) == names.end())
    bad_request(option, unknown(kind, wanted, names));
}

}  // namespace

void GradcheckRequest::list(Fields& f) {
  Options add(f);
  add("op", "check this operation only", op);
  add("module", "check this module only", module);
}

void add_gradcheck(CLI::App* app, Parsed& parsed) { add_computing<GradcheckRequest, gradcheck>(app, parsed); }

int gradcheck(const GradcheckRequest& request) {
  require(request.op.empty() || request.module.empty(), "--module", "expected no --op, got both");
  require_known("--op", request.op, "operation", op_samples(), &OpSamples::op);
  require_known("--module", request.module, "module", module_samples(), &ModuleSamples::module);

  Tally tally;
  const bool everything = request.op.empty() && request.module.empty();
  if (everything || !request.op.empty()) run(op_samples(), request.op, tally, "operation", &OpSamples::op);
  if (everything || !request.module.empty())
    run(module_samples(), request.module, tally, "module", &ModuleSamples::module);
  if (everything) {
    for (const std::string& op : ops_without_samples()) {
      print_text(fmt::format("{:<34}{:>7}  WRONG\n", op, "none"));
      ++tally.wrong;
    }
  }
  print_text(fmt::format("{} checked on {} samples, {} wrong\n", tally.rows, tally.samples, tally.wrong));
  return tally.wrong == 0 ? 0 : 1;
}

}  // namespace tapegrad::tasks
