// Tables, charts and verdicts from the figures of heads.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/attention/analysis.h>

#include <algorithm>
#include <limits>

namespace tapegrad::tasks {
namespace {

using drawing::LineChart;
using drawing::Series;

// The minimum and the maximum over the heads.
template <class F>
std::string range(const std::vector<HeadFigures>& figures, const char* format, F value) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const HeadFigures& f : figures) low = std::min(low, value(f)), high = std::max(high, value(f));
  const std::string a = fmt::format(fmt::runtime(format), low), b = fmt::format(fmt::runtime(format), high);
  return a == b ? a : said("{} to {}", a, b);
}

template <class F>
int64_t count(const std::vector<HeadFigures>& figures, F holds) {
  return std::count_if(figures.begin(), figures.end(), holds);
}

// The name of a head's series: "encoder", "decoder", "cross"; "heads" where all are of one kind.
std::string series_of(const HeadFigures& f) {
  const std::string first = f.name.substr(0, f.name.find(' '));
  return first == "layer" ? said("heads") : said(first);
}

// One chart of dots: a value of every head over its layer.
template <class F>
drawing::Drawing dots(const std::vector<HeadFigures>& figures, std::string title, std::string y, double y_high,
                      double line, F value) {
  LineChart chart{.title = std::move(title), .x_label = said("layer"), .y_label = std::move(y)};
  double layers = 0;
  for (const HeadFigures& f : figures) {
    const std::string name = series_of(f);
    auto at = std::find_if(chart.series.begin(), chart.series.end(), [&](const Series& s) { return s.name == name; });
    if (at == chart.series.end()) {
      chart.series.push_back({.name = name, .mark = Series::Mark::dots});
      at = chart.series.end() - 1;
    }
    // Kinds are drawn next to each other, so that no dot hides another.
    const auto kind = static_cast<double>(at - chart.series.begin());
    at->add(static_cast<double>(f.layer) + 0.08 * kind, value(f));
    layers = std::max(layers, static_cast<double>(f.layer));
  }
  chart.x_low = -0.5;
  chart.x_high = layers + 0.7;
  if (line > 0)
    chart.series.push_back(
        {.name = said("claim"), .x = {chart.x_low, chart.x_high}, .y = {line, line}, .mark = Series::Mark::dashes});
  chart.y_high = y_high;
  chart.width = 460;
  return draw(chart);
}

// Curves of every head, and their mean.
drawing::Drawing head_curves(LineChart chart, const std::vector<std::vector<double>>& heads) {
  std::size_t longest = 0;
  for (const std::vector<double>& y : heads) longest = std::max(longest, y.size());
  Series all{.name = said("mean of the heads; pale: one head")};
  for (std::size_t i = 0; i < longest; ++i) {
    double sum = 0, known = 0;
    for (const std::vector<double>& y : heads)
      if (i < y.size()) sum += y[i], ++known;
    all.add(static_cast<double>(i), sum / known);
  }
  for (const std::vector<double>& y : heads) {
    chart.series.push_back(Series::numbered("", y));
    chart.series.back().faint = true;
  }
  chart.series.push_back(std::move(all));
  chart.width = 460;
  return draw(chart);
}

std::vector<drawing::Drawing> charts(const std::vector<HeadFigures>& figures) {
  std::vector<std::vector<double>> held, falling;
  for (const HeadFigures& f : figures) {
    double squares = 0, sum = 0;
    for (const double s : f.map.singular_values) squares += s * s;
    held.push_back({0});
    for (const double s : f.map.singular_values) held.back().push_back((sum += s * s) / squares);
    if (!f.has_vectors) continue;
    const std::vector<double>& e = f.hopfield.energies;
    falling.emplace_back();
    for (const double energy : e) falling.back().push_back(energy - e.front());
  }
  std::vector<drawing::Drawing> out{head_curves({.title = said("Share of the squared singular values"),
                                                 .x_label = said("number of singular values"),
                                                 .y_label = said("share"),
                                                 .y_low = 0,
                                                 .y_high = 1},
                                                held)};
  if (!falling.empty())
    out.push_back(head_curves({.title = said("Energy of the Hopfield update, minus the energy of the query"),
                               .x_label = said("updates"),
                               .y_label = said("energy")},
                              falling));
  out.push_back(dots(figures, said("Effective rank / n"), said("share"), 1, 0.1,
                     [](const HeadFigures& f) { return f.map.effective_rank / static_cast<double>(f.n); }));
  out.push_back(dots(figures, said("Low frequencies"), said("share"), 1, 0.8,
                     [](const HeadFigures& f) { return f.map.low_frequencies; }));
  out.push_back(
      dots(figures, said("Entropy of a row / entropy of uniform weights"), said("share"), 1, 0,
           [](const HeadFigures& f) { return f.n < 2 ? 0 : f.map.entropy / fixed::log(static_cast<double>(f.n)); }));
  out.push_back(dots(figures, said("Mutual information of query and key position"), said("nats"), 0, 0,
                     [](const HeadFigures& f) { return f.map.information; }));
  return out;
}

std::string distance_text(const HeadFigures& f) { return f.self ? fmt::format("{:.1f}", f.map.distance) : "-"; }

}  // namespace

std::vector<HeadFigures> analyse(const std::vector<HeadMap>& heads) {
  std::vector<HeadFigures> out(heads.size());
  parallel_for(static_cast<int64_t>(heads.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const HeadMap& head = heads[static_cast<std::size_t>(i)];
      HeadFigures& f = out[static_cast<std::size_t>(i)];
      f.name = head.name;
      f.label = head.label;
      f.group = head.group;
      f.heading = head.heading;
      f.layer = head.layer;
      f.n = std::min(head.rows(), head.columns());
      f.self = head.self;
      const Tensor weights = tensor(head.weights, {head.rows(), head.columns()});
      f.map = figures_of(weights);
      f.has_vectors = head.queries.defined();
      if (!f.has_vectors) continue;
      const Tensor seen = head.seen.defined() ? head.seen : weights > 0.0;
      f.hopfield = hopfield_figures(head.queries, head.keys, seen);
      f.distances = pair_distances(head.queries, head.keys, weights, seen);
    }
  });
  return out;
}

std::string Claim::verdict() const {
  if (holds == heads) return said("holds for every head");
  if (holds == 0) return said("holds for no head");
  return said("holds for {} of {} heads", holds, heads);
}

std::vector<Claim> claims_about(const std::vector<HeadFigures>& figures) {
  const auto heads = static_cast<int64_t>(figures.size());
  const auto low_rank = [](const HeadFigures& f) { return f.map.effective_rank <= 0.1 * static_cast<double>(f.n); };
  std::vector<Claim> out{
      {"rank_at_most_a_tenth", "rank(A) <= 0.1 n",
       said("effective rank / n: {}; rank up to rounding / n: {}",
            range(figures, "{:.2f}", [](auto& f) { return f.map.effective_rank / static_cast<double>(f.n); }),
            range(figures, "{:.2f}",
                  [](auto& f) { return static_cast<double>(f.map.rank) / static_cast<double>(f.n); })),
       count(figures, low_rank), heads},
      {"first_tenth_explains_most", said("a few singular values explain 0.9"),
       said("the first tenth holds {} of the sum of squares; 0.9 of it takes {} of {} values",
            range(figures, "{:.2f}", [](auto& f) { return f.map.first_tenth; }),
            range(figures, "{:.0f}", [](auto& f) { return static_cast<double>(f.map.for_most); }),
            range(figures, "{:.0f}", [](auto& f) { return static_cast<double>(f.n); })),
       count(figures, [](auto& f) { return f.map.first_tenth >= 0.9; }), heads},
      {"low_frequencies_hold_most", said("low frequencies hold over 80 %"),
       said("{} of the spectrum; a flat one would have {}",
            range(figures, "{:.2f}", [](auto& f) { return f.map.low_frequencies; }),
            range(figures, "{:.2f}", [](auto& f) { return f.map.low_if_flat; })),
       count(figures, [](auto& f) { return f.map.low_frequencies > 0.8; }), heads}};
  std::vector<HeadFigures> known = figures;
  std::erase_if(known, [](const HeadFigures& f) { return !f.has_vectors; });
  if (known.empty()) return out;
  const auto all = static_cast<int64_t>(known.size());
  out.push_back({"energy_falls", said("attention lowers an energy (Hopfield)"),
                 said("the energy falls for a share of {} of the queries at each of {} updates",
                      range(known, "{:.2f}", [](auto& f) { return f.hopfield.energy_falls; }),
                      known[0].hopfield.energies.size() - 1),
                 count(known, [](auto& f) { return f.hopfield.energy_falls == 1; }), all});
  out.push_back({"distance_falls", said("the distance to the fixed point falls (Lyapunov)"),
                 said("for a share of {} of the queries; the last update moves them by {}",
                      range(known, "{:.2f}", [](auto& f) { return f.hopfield.distance_falls; }),
                      range(known, "{:.1e}", [](auto& f) { return f.hopfield.step; })),
                 count(known, [](auto& f) { return f.hopfield.distance_falls == 1; }), all});
  out.push_back({"attended_keys_are_nearer", said("attention finds the keys near the query"),
                 said("mean |q - k| of attended pairs / of all pairs: {}",
                      range(known, "{:.2f}", [](auto& f) { return f.distances.attended / f.distances.all; })),
                 count(known, [](auto& f) { return f.distances.attended < f.distances.all; }), all});
  return out;
}

std::string analysis_text(const std::vector<HeadFigures>& figures) {
  std::string out = said("                              n  rank   0.9  tenth entropy  info   low  |i-j|\n");
  std::string group;
  for (const HeadFigures& f : figures) {
    if (f.group != group) out += fmt::format("{}\n", f.heading);
    group = f.group;
    out += fmt::format("  {:<24} {:>4} {:>5.1f} {:>5} {:>6.2f} {:>7.2f} {:>5.2f} {:>5.2f} {:>6}\n", f.label, f.n,
                       f.map.effective_rank, f.map.for_most, f.map.first_tenth, f.map.entropy, f.map.information,
                       f.map.low_frequencies, distance_text(f));
  }
  out += said(
      "\nn: number of queries or of keys, whichever is smaller. rank: effective rank.\n"
      "0.9: number of singular values that hold 0.9 of the sum of squares.\n"
      "tenth: share of this sum in the first n / 10 of them. entropy: mean entropy of\n"
      "a row; info: mutual information of query and key position; both in nats.\n"
      "low: share of the spectrum up to a quarter of the highest frequency.\n"
      "|i-j|: mean distance between query and key in tokens.\n\n"
      "Claims of tutorial 003, section 8.2.3, and results for this model:\n");
  for (const Claim& claim : claims_about(figures))
    out += drawing::wrapped(fmt::format("  {}: {}\n    {}\n", claim.claim, claim.verdict(), claim.found), 4);
  return out;
}

std::string analysis_html(const std::vector<HeadFigures>& figures) {
  std::string out = fmt::format(
      "<h2>{}</h2>\n<p>{}</p>\n<div class=\"card\"><table>\n<tr><th>{}</th><th>{}</th><th></th></tr>\n",
      said("Analysis of the heads"),
      said("Claims of tutorial 003 about attention matrices (section 8.2.3, deep dive), and results for the heads of "
           "this model on this example."),
      said("the tutorial"), said("this model"));
  for (const Claim& claim : claims_about(figures))
    out += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>\n", drawing::escape_markup(claim.claim),
                       2 * claim.holds >= claim.heads ? "good" : "wrong", drawing::escape_markup(claim.verdict()),
                       drawing::escape_markup(claim.found));
  out += "</table></div>\n<div class=\"maps\">\n";
  for (const drawing::Drawing& chart : charts(figures)) drawing::card(out, chart);
  out += fmt::format(
      "</div>\n<div class=\"card\"><table>\n<tr><th>{}</th><th>n</th><th>{}</th><th>{}</th><th>{}</th><th>{}</th>"
      "<th>{}</th><th>{}</th><th>{}</th><th>|i - j|</th><th>{}</th><th>{}</th></tr>\n",
      said("head"), said("rank"), said("effective rank"), said("values for 0.9"), said("first tenth"),
      said("entropy (nats)"), said("information (nats)"), said("low frequencies"), said("|q - k| attended, all"),
      said("energy, first and last"));
  for (const HeadFigures& f : figures) {
    const MapFigures& m = f.map;
    const std::string vectors =
        f.has_vectors ? fmt::format("<td>{:.2f}, {:.2f}</td><td>{:.3f}, {:.3f}</td>", f.distances.attended,
                                    f.distances.all, f.hopfield.energies.front(), f.hopfield.energies.back())
                      : "<td>-</td><td>-</td>";
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td>"
        "<td>{:.3f}</td><td>{}</td>{}</tr>\n",
        drawing::escape_markup(f.label), f.n, m.rank, m.effective_rank, m.for_most, m.first_tenth, m.entropy,
        m.information, m.low_frequencies, distance_text(f), vectors);
  }
  return out + "</table></div>\n";
}

drawing::Drawing draw_analysis(const std::vector<HeadFigures>& figures) { return drawing::grid(charts(figures), 2); }

Json analysis_json(const std::vector<HeadFigures>& figures) {
  Json heads = Json::array(), claims;
  for (const HeadFigures& f : figures) {
    Json head{{"name", f.name},
              {"group", f.group},
              {"layer", f.layer},
              {"n", f.n},
              {"singular_values", f.map.singular_values},
              {"rank", f.map.rank},
              {"effective_rank", f.map.effective_rank},
              {"first_tenth", f.map.first_tenth},
              {"values_for_0.9", f.map.for_most},
              {"entropy", f.map.entropy},
              {"information", f.map.information},
              {"low_frequencies", f.map.low_frequencies},
              {"low_frequencies_if_flat", f.map.low_if_flat}};
    if (f.self) head["distance"] = f.map.distance;
    if (f.has_vectors) {
      head["energies"] = f.hopfield.energies;
      head["energy_falls"] = f.hopfield.energy_falls;
      head["distance_falls"] = f.hopfield.distance_falls;
      head["last_step"] = f.hopfield.step;
      head["vector_distance"] = f.distances.all;
      head["vector_distance_attended"] = f.distances.attended;
    }
    heads.push_back(std::move(head));
  }
  for (const Claim& c : claims_about(figures)) claims[c.key] = {{"holds", c.holds}, {"heads", c.heads}};
  return {{"heads", heads}, {"claims", claims}};
}

}  // namespace tapegrad::tasks
