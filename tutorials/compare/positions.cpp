// The comparison of positional encodings: settings, table, JSON and pictures.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/compare/positions.h>
#include <tapegrad/tutorials/compare/processes.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kName = "compare-positions", kResults = "results.jsonl";
constexpr std::string_view kDrawing = "positions.svg", kPage = "positions.html";

std::vector<std::string> words_of(std::string_view option, const std::string& text,
                                  const std::vector<std::string>& known) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    require(std::find(known.begin(), known.end(), word) != known.end(), option, expected_one_of(known, word));
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  require(!words.empty(), option, "expected at least one name");
  return words;
}

// --- results in a file ---

Json json_of(const PositionRun& run) {
  Json json{{"task", run.task}, {"kind", run.kind}, {"seed", run.seed}};
  for (const PositionMeasure& m : kPositionMeasures) json[m.name] = run.*m.value;
  return json;
}

PositionRun run_of(const Json& json) {
  PositionRun run{json.at("task").string(), json.at("kind").string(), json.at("seed").get<int64_t>()};
  for (const PositionMeasure& m : kPositionMeasures) run.*m.value = json.at(m.name).get<double>();
  return run;
}

// The settings that determine the results of a run: all but the lists of runs.
std::string header_of(ComparePositionsRequest request) {
  request.tasks = request.kinds = request.positions = request.out = "";
  request.seeds = 0;
  Fields fields = fields_of(request);
  fields.erase("json");
  return to_json(kName, fields);
}

// The runs in the file. BadRequest if they have other settings. An incomplete last line is dropped.
std::vector<PositionRun> read_runs(const fs::path& file, const std::string& header) {
  std::vector<PositionRun> runs;
  if (!is_there(file)) return runs;
  const std::string text = train::read_file(file);
  std::istringstream in(text.substr(0, text.rfind('\n') + 1));
  std::string line;
  if (!std::getline(in, line)) return runs;
  require(line == header, "--out",
          fmt::format("{} has results of other settings (use another folder, or delete the file)", file.string()));
  try {
    while (std::getline(in, line)) runs.push_back(run_of(Json::parse(line)));
  } catch (const JsonError&) {
    fail("compare", fmt::format("{}: expected a run as line {}, got \"{}\" (use another folder, or delete the file)",
                                file.string(), runs.size() + 2, line.substr(0, 80)));
  }
  return runs;
}

// --- table, JSON and picture ---

struct Spread {
  double mean = 0, deviation = 0;  // of a sample: 0 for one value
  double least = INFINITY, most = -INFINITY;
  explicit Spread(const std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    for (const double v : values) {
      mean += v / n;
      least = std::min(least, v);
      most = std::max(most, v);
    }
    for (const double v : values) deviation += (v - mean) * (v - mean);
    deviation = values.size() > 1 ? std::sqrt(deviation / (n - 1)) : 0;
  }
};

// The runs of one kind.
struct Row {
  std::string kind;
  std::vector<PositionRun> runs;  // by seed
  Spread operator()(double PositionRun::*value) const {
    std::vector<double> values;
    for (const PositionRun& run : runs) values.push_back(run.*value);
    return Spread(values);
  }
};

std::vector<Row> rows_of(const ComparePositionsRequest& request, const std::string& task,
                         const std::vector<PositionRun>& runs) {
  std::vector<Row> rows;
  for (const std::string& kind : request.all_kinds()) {
    Row row{kind, {}};
    for (const PositionRun& run : runs)
      if (run.task == task && run.kind == kind && run.seed < request.seeds) row.runs.push_back(run);
    std::sort(row.runs.begin(), row.runs.end(), [](const auto& a, const auto& b) { return a.seed < b.seed; });
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string title_of(const ComparePositionsRequest& r, const ComparedTask& task) {
  const int64_t most = r.*task.size;
  return fmt::format("{}: {}", task.name, fmt::format(fmt::runtime(task.title), most, most + r.longer));
}

// For a terminal of 80 columns.
std::string table_of(const std::string& title, const std::vector<Row>& rows) {
  std::string out = fmt::format("=== {} ===\n", title);
  out += fmt::format("{:<16}{:^13} {:^13} {:^13} {:>7} {:>7}\n", "positions", "exact,", "exact,", "tokens,", "ms per",
                     "ms per");
  out += fmt::format("{:<16}{:^13} {:^13} {:^13} {:>7} {:>7} {:>6}\n", "", "in training", "beyond", "beyond", "step",
                     "answer", "MB");
  for (const Row& row : rows) {
    const auto cell = [&](double PositionRun::*value) {
      const Spread s = row(value);
      return fmt::format("{:.3f} ±{:.3f}", s.mean, s.deviation);
    };
    out += fmt::format("{:<16}{:>13} {:>13} {:>13} {:>7.2f} {:>7.3f} {:>6.1f}\n", row.kind, cell(&PositionRun::trained),
                       cell(&PositionRun::longer), cell(&PositionRun::longer_tokens), row(&PositionRun::step_ms).mean,
                       row(&PositionRun::answer_ms).mean, row(&PositionRun::memory_mb).mean);
  }
  return out;
}

Json json_of(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) {
    Json kind{{"kind", row.kind}};
    for (const PositionMeasure& m : kPositionMeasures) {
      const Spread s = row(m.value);
      kind[std::string(m.name)] = {{"mean", s.mean}, {"deviation", s.deviation}};
      for (const PositionRun& run : row.runs) kind[std::string(m.name)]["runs"].push_back(run.*m.value);
    }
    out.push_back(std::move(kind));
  }
  return out;
}

std::vector<drawing::Drawing> draw_rows(const std::string& title, const std::vector<Row>& rows) {
  std::vector<std::string> labels;
  for (const Row& row : rows) labels.push_back(row.kind);
  const auto bars = [&](std::string name, double PositionRun::*value) {
    drawing::Series series{.name = std::move(name)};
    for (const Row& row : rows) {
      const Spread s = row(value);
      series.y.push_back(s.mean);
      series.low.push_back(s.least);
      series.high.push_back(s.most);
    }
    return series;
  };
  const auto chart = [&](std::string what, std::vector<drawing::Series> series) {
    return draw(drawing::BarChart{.title = fmt::format("{}: {}", title, what),
                                  .labels = labels,
                                  .series = std::move(series),
                                  .width = std::max(400.0, 104.0 * static_cast<double>(rows.size()))});
  };
  return {chart("share of right answers, mean and range over the seeds",
                {bars("exact, as in training", &PositionRun::trained), bars("exact, beyond", &PositionRun::longer),
                 bars("tokens, beyond", &PositionRun::longer_tokens)}),
          chart("milliseconds of processor time per training step", {bars("ms", &PositionRun::step_ms)}),
          chart("memory of training in MB", {bars("MB", &PositionRun::memory_mb)})};
}

// --- the request ---

// The members of these names.
Fields picked(const Fields& fields, std::initializer_list<std::string_view> names) {
  Fields out;
  for (const std::string_view name : names) out.add(*fields.find(name));
  return out;
}

void check(ComparePositionsRequest r) {
  const int64_t width = r.config.hidden_size, heads = r.config.num_attention_heads;
  require(width % heads == 0, "--hidden-size",
          fmt::format("{} is not divisible by --num-attention-heads {}", width, heads));
  for (const std::string& name : r.all_tasks()) {
    const ComparedTask& task = compared_task(name);
    const int64_t size = r.*task.size + r.longer;
    require(size <= task.most, "--longer", fmt::format("expected at most {} {}, got {}", task.most, task.sizes, size));
  }
  for (const std::string& kind : r.all_kinds()) {
    r.positions = kind;
    r.PositionSettings::check(width, width / heads,
                              fmt::format("--hidden-size {} over --num-attention-heads {}", width, heads));
  }
}

// The requested runs that are missing, without measurements.
std::vector<PositionRun> missing(const ComparePositionsRequest& request, const std::vector<PositionRun>& runs) {
  std::vector<PositionRun> out;
  for (int64_t seed = 0; seed < request.seeds; ++seed) {
    for (const std::string& task : request.all_tasks()) {
      for (const std::string& kind : request.all_kinds()) {
        const bool there = std::any_of(runs.begin(), runs.end(), [&](const PositionRun& run) {
          return run.task == task && run.kind == kind && run.seed == seed;
        });
        if (!there) out.push_back({task, kind, seed});
      }
    }
  }
  return out;
}

}  // namespace

ComparePositionsRequest::ComparePositionsRequest() {
  batch_size = 64;
  lr = 1e-3;
  schedule = "warmup-cosine";
  warmup = 100;
  weight_decay = 0.01;
  clip_grad = 1;
}

void ComparePositionsRequest::list(Fields& f) {
  Options in_data(f, Group::data);
  Options in_positions(f, Group::positions);
  Options in_training(f, Group::training);
  Options in_run(f, Group::run);
  in_data("tasks", "addition, parser, or both", tasks).type("NAMES");
  in_positions("kinds",
               "positional encodings to compare, separated by commas (default: all but index, which equals none)",
               kinds)
      .type("NAMES");
  Fields options;
  PositionSettings::list(options);
  options.erase("positions");
  for (const Field& field : options) f.add(field);
  Fields model = model_fields(config), training;
  TrainingSettings::list(training);
  training["lr"].help = "peak learning rate; after the warm-up it falls along half a cosine";
  add_fields(
      f, picked(model, {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "dropout"}));
  ComparedSizes::list(f);
  in_data("count", "test examples of each length", count, kCount);
  in_training("seeds", "runs per positional encoding", seeds, {.least = 1, .most = 1000});
  in_training("steps", "steps per run", steps, kCount);
  add_fields(f, picked(training, {"batch-size", "lr", "warmup"}));
  in_run("out", "folder for the results and the plots", out).type("DIR");
  add_json(f, json);
}

std::vector<std::string> ComparePositionsRequest::all_tasks() const {
  std::vector<std::string> known;
  for (const ComparedTask& task : compared_tasks()) known.emplace_back(task.name);
  return words_of("--tasks", tasks, known);
}
std::vector<std::string> ComparePositionsRequest::all_kinds() const {
  const std::vector<std::string> known(nn::position_names().begin(), nn::position_names().end());
  if (!kinds.empty()) return words_of("--kinds", kinds, known);
  std::vector<std::string> different = known;
  std::erase(different, "index");  // layer normalisation removes it: the runs would be those of none
  return different;
}

int compare_positions(ComparePositionsRequest request) {
  check(request);
  const std::unique_ptr<train::RunFolder> folder = take_folder(request.out);
  for (const std::string_view name : {kResults, kDrawing, kPage})
    as_bad_request("--out", [&] { check_replaceable(folder->file(name)); });
  const fs::path file = folder->path() / kResults;
  const std::string header = header_of(request);
  std::vector<PositionRun> runs = read_runs(file, header);
  std::string text = header + "\n";  // the file again, without an incomplete line
  for (const PositionRun& run : runs) text += json_of(run).dump() + "\n";
  train::replace_file(folder->file(kResults), text);
  train::AppendFile results(folder->file(kResults));
  const std::vector<PositionRun> wanted = missing(request, runs);
  const auto job = [&](int64_t i) {
    const PositionRun& w = wanted[static_cast<std::size_t>(i)];
    return json_of(run_positions(request, w.task, w.kind, w.seed)).dump();
  };
  std::size_t done = 0;
  in_processes(static_cast<int64_t>(wanted.size()), num_threads(), job, [&](int64_t, const std::string& told) {
    runs.push_back(run_of(Json::parse(told)));
    results.append(told + "\n");
    const PositionRun& run = runs.back();
    print_note(fmt::format("{} of {}: {} with {}, seed {}: exact {:.3f}, beyond {:.3f} (tokens {:.3f})\n", ++done,
                           wanted.size(), run.task, run.kind, run.seed, run.trained, run.longer, run.longer_tokens));
    note_progress(static_cast<int64_t>(done), static_cast<int64_t>(wanted.size()), "runs");
  });
  results.sync();

  std::string tables, body = "<h1>Positions</h1>\n";
  std::vector<drawing::Drawing> drawings;
  Json json = Json::parse(header);
  for (const char* key : {"tasks", "kinds", "out"}) json.erase(key);
  json["seeds"] = request.seeds;
  for (const std::string& task : request.all_tasks()) {
    const std::vector<Row> rows = rows_of(request, task, runs);
    const std::string table = table_of(title_of(request, compared_task(task)), rows);
    tables += table + "\n";
    json[task] = json_of(rows);
    body += fmt::format("<h2>{}</h2>\n<div class=\"card\"><pre>{}</pre></div>\n", task, drawing::escape_markup(table));
    for (const drawing::Drawing& d : draw_rows(task, rows)) {
      drawing::card(body, d);
      drawings.push_back(d);
    }
  }
  const fs::path now = folder->now(), svg = now / kDrawing, html = now / kPage;
  train::replace_file(folder->file(kDrawing), drawing::svg_file(drawing::grid(drawings, 1)));
  train::replace_file(folder->file(kPage), drawing::page("tapegrad: positions", body));
  if (request.json) {
    print_now(json.dump() + "\n");
  } else {
    print_text(fmt::format("{}Mean and standard deviation over {} {}.\nPlots: {}, {}\n", tables, request.seeds,
                           request.seeds == 1 ? "seed" : "seeds", svg.string(), html.string()));
  }
  return 0;
}

}  // namespace tapegrad::tasks
