// The report of a profiler: rows per operation and module, their table, and the trace.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/detail/profile_log.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool_peak.h>
#include <tapegrad/autograd/profiler.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

namespace tapegrad {
namespace {

using detail::Event;
using detail::ProfileSession;
using detail::Sum;
using detail::Sums;
using detail::Texts;
using detail::ThreadLog;

double ms(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

// --- rows ---

void add(ProfileRow& row, const Sum& sum) {
  row.calls += sum.calls;
  row.total_ms += ms(sum.total);
  row.self_ms += ms(sum.self);
  row.worker_ms += ms(sum.workers);
  row.flops += static_cast<double>(sum.flops);
  row.bytes += static_cast<double>(sum.bytes);
}

std::vector<ProfileRow> operation_rows(const Sums& sums, const Texts& texts, bool scopes) {
  std::map<std::tuple<ProfilePhase, std::string_view, std::string_view>, ProfileRow> rows;
  for (const auto& [key, sum] : sums) {
    if (key.scope != scopes) continue;
    ProfileRow& row = rows[{key.phase, texts[key.within], texts[key.name]}];
    row.name = texts[key.name];
    row.within = texts[key.within];
    row.phase = key.phase;
    add(row, sum);
  }
  // By the time of the outermost operation, then that one before what it calls.
  std::map<std::pair<ProfilePhase, std::string>, double> totals;
  for (const auto& [key, row] : rows) {
    if (row.within.empty()) totals[{row.phase, row.name}] = row.total_ms;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  const auto place = [&](const ProfileRow& row) {
    const bool outer = row.within.empty();
    const std::string& outermost = outer ? row.name : row.within;
    return std::tuple(-totals[{row.phase, outermost}], row.phase, std::string_view(outermost), !outer, -row.total_ms,
                      std::string_view(row.name));
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const ProfileRow& a, const ProfileRow& b) { return place(a) < place(b); });
  return sorted;
}

std::vector<ProfileRow> module_rows(const Sums& sums, const Texts& texts) {
  std::map<std::string, ProfileRow> rows;
  for (const auto& [key, sum] : sums) {
    const bool backward = key.phase == ProfilePhase::backward;
    if (key.within != 0 || key.scope || !(backward || key.phase == ProfilePhase::forward)) continue;
    std::string path = texts[key.module];
    for (bool own = true;; own = false) {
      ProfileRow& row = rows[path];
      row.name = path;
      Sum part = sum;
      part.self = own ? sum.total : 0;
      add(row, part);
      (backward ? row.backward_ms : row.forward_ms) += ms(sum.total);
      if (path.empty()) break;
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
    }
  }
  std::vector<ProfileRow> sorted;
  for (auto& [path, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

// --- the machine ---

struct Rates {
  double gflops = 0, gb_s = 0;
};

// Measured once per process and number of threads, while nothing is timed.
Rates measured_rates(ProfileSession& session) {
  static std::map<int, Rates> known;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(num_threads());
  if (is_new) {
    const bool timing = detail::profiling.exchange(false);
    const int64_t begin = detail::profile_clock();
    const int64_t peak = pool::peak();
    at->second = {measure_fma_gflops(), measure_read_gb_s()};
    pool::reset_peak();
    const std::lock_guard session_lock(session.mutex);
    session.peak_bytes = std::max(session.peak_bytes, peak);
    if (session.end == 0) session.interruptions += detail::profile_clock() - begin;
    detail::profiling = timing;
  }
  return at->second;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// --- the table ---

std::string fit(std::string text, std::size_t width) {
  if (text.size() > width) text = "..." + text.substr(text.size() - width + 3);
  return text;
}

std::string rate(const ProfileRow& row) {
  if (row.total_ms <= 0 || (row.flops <= 0 && row.bytes <= 0)) return "";
  const double number = row.flops > 0 ? row.gflops() : row.gb_s();
  return fmt::format("{:.{}f} {}", number, number < 100 ? 1 : 0, row.flops > 0 ? "GFLOP/s" : "GB/s");
}

std::string percent(double share) { return share > 0 ? fmt::format("{:.1f}%", 100 * share) : ""; }

// Data in the cache are read faster than memory is.
std::string of_peak(const ProfileRow& row) {
  return row.flops <= 0 && row.peak_share > 1 ? "cache" : percent(row.peak_share);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "trf_blocks.*.att" for "trf_blocks.3.att"; a last number is kept unless something is below it.
std::string merged_path(const std::string& path, bool has_more) {
  std::string merged;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool last = end == path.size();
    merged += fmt::format("{}{}", merged.empty() ? "" : ".", is_number(part) && (!last || has_more) ? "*" : part);
    begin = end + 1;
  }
  return merged;
}

std::vector<ProfileRow> merged_layers(const std::vector<ProfileRow>& modules) {
  std::vector<ProfileRow> merged;
  std::set<std::string_view> parents;
  for (const ProfileRow& row : modules) {
    const std::size_t dot = row.name.rfind('.');
    if (dot != std::string::npos) parents.insert(std::string_view(row.name).substr(0, dot));
  }
  for (const ProfileRow& row : modules) {
    const std::string name = row.name.empty() ? "" : merged_path(row.name, parents.contains(row.name));
    auto same = std::find_if(merged.begin(), merged.end(), [&](const ProfileRow& one) { return one.name == name; });
    if (same == merged.end()) {
      merged.push_back(row);
      merged.back().name = name;
      continue;
    }
    same->calls += row.calls;
    for (double ProfileRow::*field :
         {&ProfileRow::total_ms, &ProfileRow::self_ms, &ProfileRow::forward_ms, &ProfileRow::backward_ms,
          &ProfileRow::worker_ms, &ProfileRow::flops, &ProfileRow::bytes, &ProfileRow::share}) {
      *same.*field += row.*field;
    }
  }
  return merged;
}

// The names of the most expensive rows.
std::set<const ProfileRow*> largest(const std::vector<ProfileRow>& rows, int count) {
  std::vector<const ProfileRow*> all;
  for (const ProfileRow& row : rows) all.push_back(&row);
  std::stable_sort(all.begin(), all.end(),
                   [](const ProfileRow* a, const ProfileRow* b) { return a->total_ms > b->total_ms; });
  all.resize(std::min(all.size(), static_cast<std::size_t>(std::max(count, 0))));
  return {all.begin(), all.end()};
}

std::string left_out(std::size_t rows, std::size_t shown) {
  return rows > shown ? fmt::format("({} more)\n", rows - shown) : "";
}

std::string operation_table(const std::vector<ProfileRow>& rows, int count) {
  std::string text = fmt::format("{:<27} {:>6} {:>8} {:>8} {:>6} {:>12} {:>7}\n", "operation", "calls", "total ms",
                                 "self ms", "share", "rate", "of peak");
  const auto shown = largest(rows, count);
  for (const ProfileRow& row : rows) {
    if (!shown.contains(&row)) continue;
    const bool suffixed = row.within.empty() && row.name != name(row.phase) &&
                          (row.phase == ProfilePhase::backward || row.phase == ProfilePhase::evaluation);
    const std::string label =
        (row.within.empty() ? "" : "  ") + row.name + (suffixed ? fmt::format(" {}", name(row.phase)) : "");
    text += fmt::format("{:<27} {:>6} {:>8.2f} {:>8.2f} {:>6} {:>12} {:>7}\n", fit(label, 27), row.calls, row.total_ms,
                        row.self_ms, percent(row.share), rate(row), of_peak(row));
  }
  return text + left_out(rows.size(), shown.size());
}

std::string module_table(const std::vector<ProfileRow>& rows, int count, double peak) {
  std::string text = fmt::format("{:<30} {:>6} {:>8} {:>8} {:>8} {:>6} {:>7}\n", "module", "calls", "total ms",
                                 "forward", "backward", "share", "of peak");
  const auto shown = largest(rows, count);
  for (const ProfileRow& row : rows) {
    if (!shown.contains(&row)) continue;
    text +=
        fmt::format("{:<30} {:>6} {:>8.2f} {:>8.2f} {:>8.2f} {:>6} {:>7}\n",
                    row.name.empty() ? "(all)" : fit(row.name, 30), row.calls, row.total_ms, row.forward_ms,
                    row.backward_ms, percent(row.share), row.flops > 0 && peak > 0 ? percent(row.gflops() / peak) : "");
  }
  return text + left_out(rows.size(), shown.size());
}

// --- the trace ---

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

void write_event(std::string& text, const Event& e, const Texts& texts, int thread, int64_t origin) {
  std::string arguments;
  const auto argument = [&](std::string_view name, const auto& value) {
    arguments += fmt::format("{}\"{}\":{}", arguments.empty() ? "" : ",", name, value);
  };
  if (e.module != 0) argument("module", in_quotes(texts[e.module]));
  if (e.shapes != 0) argument("shapes", in_quotes(texts[e.shapes]));
  if (e.flops > 0) argument("flops", e.flops);
  if (e.flops > 0 && e.duration > 0)
    argument("GFLOP/s", fmt::format("{:.1f}", static_cast<double>(e.flops) / static_cast<double>(e.duration)));
  if (e.bytes > 0) argument("bytes", e.bytes);
  text += fmt::format(",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{}\"", thread,
                      microseconds(std::max<int64_t>(0, e.begin - origin)), microseconds(e.duration),
                      in_quotes(texts[e.name]), e.worker ? "worker" : name(e.phase));
  text += arguments.empty() ? "}" : fmt::format(",\"args\":{{{}}}}}", arguments);
}

}  // namespace

std::string_view name(ProfilePhase phase) {
  constexpr std::string_view kNames[] = {"forward", "backward", "optimizer", "data", "evaluation", "other"};
  return kNames[static_cast<std::size_t>(phase)];
}

ProfileReport Profiler::report() const {
  ProfileSession& session = ProfileSession::get();
  ProfileReport report;
  Sums sums;
  {
    const std::lock_guard lock(session.mutex);
    const int64_t end = session.end != 0 ? session.end : detail::profile_clock();
    report.wall_ms = ms(end - session.begin - session.interruptions);
    for (const std::shared_ptr<ThreadLog>& log : session.logs) {
      const std::lock_guard log_lock(log->mutex);
      for (const auto& [key, sum] : log->sums) sums[key].add(sum);
      for (const detail::PendingSum& one : log->pending) sums[one.key].add(one.sum);
      report.events += static_cast<int64_t>(log->events.size());
      if (log->number != 0) continue;
      report.forward_ms = ms(log->phases[static_cast<std::size_t>(ProfilePhase::forward)]);
      report.backward_ms = ms(log->phases[static_cast<std::size_t>(ProfilePhase::backward)]);
      report.optimizer_ms = ms(log->phases[static_cast<std::size_t>(ProfilePhase::optimizer)]);
      report.data_ms = ms(log->phases[static_cast<std::size_t>(ProfilePhase::data)]);
      report.evaluation_ms = ms(log->phases[static_cast<std::size_t>(ProfilePhase::evaluation)]);
    }
    report.steps = session.steps;
    report.events_left_out = session.events_left_out;
    std::vector<double> later;
    for (std::size_t i = 1; i < session.step_ends.size(); ++i) {
      later.push_back(ms(session.step_ends[i] - session.step_ends[i - 1]));
    }
    if (!session.step_ends.empty()) report.first_step_ms = ms(session.step_ends[0] - session.begin);
    report.median_step_ms = median(std::move(later));
    report.peak_bytes = std::max(session.peak_bytes, session.end != 0 ? 0 : pool::peak());
  }
  report.other_ms = std::max(0.0, report.wall_ms - report.forward_ms - report.backward_ms - report.optimizer_ms -
                                      report.data_ms - report.evaluation_ms);
  report.threads = num_threads();
  const std::array<int64_t, kEngines> counts = product_counts();
  for (std::size_t i = 0; i < kEngines; ++i) {
    const int64_t count = counts[i] - session.products_before[i];
    if (count > 0) report.products.emplace_back(name(static_cast<Engine>(i)), static_cast<double>(count));
  }
  if (options_.measure_peak) {
    const Rates rates = measured_rates(session);
    report.peak_gflops = rates.gflops;
    report.read_gb_s = rates.gb_s;
  }
  report.operations = operation_rows(sums, *session.texts, false);
  report.scopes = operation_rows(sums, *session.texts, true);
  report.modules = module_rows(sums, *session.texts);
  for (std::vector<ProfileRow>* rows : {&report.operations, &report.scopes, &report.modules}) {
    for (ProfileRow& row : *rows) {
      row.share = report.wall_ms > 0 ? row.total_ms / report.wall_ms : 0;
      const double reached = row.flops > 0 ? row.gflops() : row.gb_s();
      const double peak = row.flops > 0 ? report.peak_gflops : report.read_gb_s;
      row.peak_share = peak > 0 ? reached / peak : 0;
    }
  }
  return report;
}

void Profiler::write_trace(const Destination& to) const {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  ProfileSession& session = ProfileSession::get();
  AtomicFile file(to);
  std::string text =
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"tapegrad\"}}";
  std::vector<std::shared_ptr<ThreadLog>> logs;
  {
    const std::lock_guard lock(session.mutex);
    logs = session.logs;
  }
  for (const std::shared_ptr<ThreadLog>& log : logs) {
    std::vector<Event> events;
    {
      const std::lock_guard lock(log->mutex);
      events = log->events;
    }
    if (events.empty()) continue;
    // A span before those in it.
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::pair(a.begin, -a.duration) < std::pair(b.begin, -b.duration);
    });
    const int thread = log->number + 1;
    text +=
        fmt::format(",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"{} {}\"}}}}",
                    thread, events[0].worker ? "worker" : "thread", thread);
    for (const Event& event : events) {
      write_event(text, event, *session.texts, thread, session.begin);
      if (text.size() < kPiece) continue;
      file.write(text);
      text.clear();
    }
  }
  file.write(text + "\n]}\n");
  file.commit();
}

std::string str(const ProfileReport& report, const ProfileTable& table) {
  constexpr double kMiB = 1 << 20;
  std::string text =
      fmt::format("{:.1f} ms, {} {}", report.wall_ms, report.steps, report.steps == 1 ? "step" : "steps");
  if (report.steps > 1) {
    text +=
        fmt::format(" (first {:.1f} ms, median of the others {:.1f} ms)", report.first_step_ms, report.median_step_ms);
  }
  text += fmt::format(", {} {}\n", report.threads, report.threads == 1 ? "thread" : "threads");
  const std::pair<std::string_view, double> phases[] = {
      {"forward", report.forward_ms}, {"backward", report.backward_ms},     {"optimizer", report.optimizer_ms},
      {"data", report.data_ms},       {"evaluation", report.evaluation_ms}, {"other", report.other_ms}};
  for (const auto& [phase, time] : phases) {
    const bool last = phase == "other";
    if (time > 0 || last) text += fmt::format("{} {:.1f}%{}", phase, 100 * time / report.wall_ms, last ? "\n" : ", ");
  }
  text += fmt::format("peak memory {:.1f} MiB", static_cast<double>(report.peak_bytes) / kMiB);
  if (report.peak_gflops > 0) {
    text +=
        fmt::format("; peak rates {:.1f} GFLOP/s, reading memory {:.1f} GB/s", report.peak_gflops, report.read_gb_s);
  }
  double multiplications = 0;
  for (const auto& [engine, count] : report.products) multiplications += count;
  for (const auto& [engine, count] : report.products) {
    text += fmt::format("{}{} {:.1f}%", &count == &report.products[0].second ? "\nmultiplications: " : ", ", engine,
                        100 * count / multiplications);
  }
  text += "\n\n" + operation_table(report.operations, table.operations);
  if (report.scopes.size() > 1) text += "\n" + operation_table(report.scopes, table.operations);
  const std::vector<ProfileRow> modules = table.merge_layers ? merged_layers(report.modules) : report.modules;
  if (modules.size() > 1) text += "\n" + module_table(modules, table.modules, report.peak_gflops);
  return text;
}

std::ostream& operator<<(std::ostream& out, const ProfileReport& report) { return out << str(report); }

}  // namespace tapegrad
