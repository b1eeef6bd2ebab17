// Beam search: for every row of a prompt, searches of all widths up to the requested one run together.
// build: -O3
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/decoding/detail/decoding.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace tapegrad::nn::detail {

namespace {

struct Choice {
  int64_t token;
  double log_probability;
};

// The most likely tokens of every row of logits [N, V], at most `count`; among equals the lower token comes first.
std::vector<std::vector<Choice>> most_likely(const Tensor& logits, int64_t count) {
  const std::vector<double> values = logits.to(kFloat64).to_vector<double>();
  const auto vocabulary = static_cast<std::size_t>(logits.size(1));
  std::vector<int64_t> order(vocabulary);
  std::vector<std::vector<Choice>> out;
  for (std::size_t row = 0; row * vocabulary < values.size(); ++row) {
    const std::span<const double> x(values.data() + row * vocabulary, vocabulary);
    const double whole = log_sum_exp(x);
    const auto value = [&](int64_t token) { return x[static_cast<std::size_t>(token)]; };
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, vocabulary));
    std::partial_sort(order.begin(), end, order.end(),
                      [&](int64_t a, int64_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
    std::vector<Choice>& choices = out.emplace_back();
    for (auto token = order.begin(); token != end; ++token) choices.push_back({*token, value(*token) - whole});
  }
  return out;
}

struct Sequence {
  std::vector<int64_t> tokens;
  double sum = 0;  // of log-probabilities
  bool ended = false;
  std::size_t parent = 0;  // its index among the sequences of the previous step
};

// One search of one width: the indices of its sequences among those that continue.
struct Beam {
  std::size_t room;  // its width minus the sequences that have ended
  std::vector<std::size_t> sequences;
};

// All searches from one row of the prompt.
struct Search {
  std::vector<Beam> beams;  // width 1, 2, ...
  std::vector<int64_t> best;
  double best_score = -std::numeric_limits<double>::infinity();
};

class Searches {
 public:
  Searches(int64_t rows, const GenerateOptions& options) : options_(options) {
    for (int64_t row = 0; row < rows; ++row) {
      Search& search = searches_.emplace_back();
      for (int64_t width = 1; width <= options.beams; ++width) {
        search.beams.push_back({static_cast<std::size_t>(width), {static_cast<std::size_t>(row)}});
      }
      live_.emplace_back();
    }
  }

  std::size_t live() const { return live_.size(); }

  // logits [N, V] of the live sequences; afterwards these are the ones of the next step.
  void advance(const Tensor& logits, bool last) {
    const std::vector<std::vector<Choice>> choices = most_likely(logits, options_.beams);
    std::vector<Sequence> next;
    for (Search& search : searches_) {
      const std::size_t first = next.size();  // rows do not share sequences
      for (Beam& beam : search.beams) extend(beam, search, choices, next, first, last);
    }
    drop_hopeless(next);
  }

  // [N]: which sequence of the previous step each one continues, and with which token, [N, 1].
  std::pair<Tensor, Tensor> moves() const {
    const auto count = static_cast<int64_t>(live_.size());
    std::pair<Tensor, Tensor> out{Tensor::empty({count}, kInt64), Tensor::empty({count, 1}, kInt64)};
    for (std::size_t i = 0; i < live_.size(); ++i) {
      out.first.mutable_data<int64_t>()[i] = static_cast<int64_t>(live_[i].parent);
      out.second.mutable_data<int64_t>()[i] = live_[i].tokens.back();
    }
    return out;
  }

  Generated result() const {
    std::vector<std::vector<int64_t>> rows;
    std::vector<double> scores;
    for (const Search& search : searches_) {
      rows.push_back(search.best);
      scores.push_back(search.best.empty() ? 0 : search.best_score);
    }
    return generated(rows, std::move(scores), options_.pad_token);
  }

 private:
  // The beam keeps its most likely continuations. One that ends, and every one at the last step, may be the best.
  void extend(Beam& beam, Search& search, const std::vector<std::vector<Choice>>& choices, std::vector<Sequence>& next,
              std::size_t first, bool last) {
    struct Candidate {
      double sum;
      std::size_t parent;
      int64_t token;
    };
    std::vector<Candidate> candidates;
    for (const std::size_t parent : beam.sequences) {
      for (const Choice& c : choices[parent]) {
        candidates.push_back({live_[parent].sum + c.log_probability, parent, c.token});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.sum > b.sum; });
    if (candidates.size() > beam.room) candidates.resize(beam.room);
    beam.sequences.clear();
    for (const Candidate& c : candidates) {
      const std::size_t at = index_of(next, first, c.parent, c.token, c.sum);
      if (next[at].ended || last) {
        --beam.room;
        const double score = next[at].sum / penalty(options_, next[at].tokens.size());
        if (score > search.best_score || search.best.empty()) {
          search.best_score = score;
          search.best = next[at].tokens;
        }
      } else {
        beam.sequences.push_back(at);
      }
    }
  }

  // The index of the sequence among the next ones: searches that find the same sequence share it.
  std::size_t index_of(std::vector<Sequence>& next, std::size_t first, std::size_t parent, int64_t token,
                       double sum) const {
    for (std::size_t i = first; i < next.size(); ++i) {
      if (next[i].parent == parent && next[i].tokens.back() == token) return i;
    }
    Sequence& fresh = next.emplace_back(live_[parent]);
    fresh.parent = parent;
    fresh.tokens.push_back(token);
    fresh.sum = sum;
    fresh.ended = ends(options_, fresh.tokens);
    return next.size() - 1;
  }

  // Log-probabilities only fall: a search is over when all of its sequences score below the best one already, even
  // divided by the largest penalty that they can reach. Sequences that no search holds any more are dropped.
  void drop_hopeless(std::vector<Sequence>& next) {
    constexpr std::size_t kGone = std::numeric_limits<std::size_t>::max();
    const double largest = penalty(options_, static_cast<std::size_t>(options_.max_new_tokens));
    std::vector<std::size_t> kept(next.size(), kGone);
    live_.clear();
    for (Search& search : searches_) {
      for (Beam& beam : search.beams) {
        const bool hope = std::any_of(beam.sequences.begin(), beam.sequences.end(), [&](std::size_t i) {
          return search.best.empty() || next[i].sum / largest > search.best_score;
        });
        if (!hope) beam.sequences.clear();
        for (std::size_t& i : beam.sequences) {
          if (kept[i] == kGone) {
            kept[i] = live_.size();
            live_.push_back(std::move(next[i]));
          }
          i = kept[i];
        }
      }
    }
  }

  const GenerateOptions& options_;
  std::vector<Search> searches_;
  std::vector<Sequence> live_;  // of all rows: the rows of the model's batch
};

}  // namespace

Generated beam_search(NextTokenLogits& model, const Tensor& prompt, const GenerateOptions& options) {
  Searches searches(prompt.size(0), options);
  Tensor ids = prompt;  // [N, T]
  for (int64_t n = 1; n <= options.max_new_tokens && searches.live() > 0; ++n) {
    const Tensor logits = model.logits(ids);
    check_logits(logits, ids.size(0));
    searches.advance(logits, n == options.max_new_tokens);
    if (searches.live() == 0) break;
    const auto [parents, tokens] = searches.moves();
    model.reorder(parents);
    ids = cat({index_select(ids, 0, parents), tokens}, 1);
  }
  return searches.result();
}

}  // namespace tapegrad::nn::detail
