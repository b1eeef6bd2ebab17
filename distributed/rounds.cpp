// The rounds in which gradients are summed and parameters return (rounds.h).
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/distributed/detail/share.h>

#include <algorithm>
#include <cstring>

namespace tapegrad::distributed::detail {
namespace {

constexpr int64_t kMostBytes = sizeof(double);

}  // namespace

void Share::post_receives() {
  posted = true;
  for (std::size_t k = 0; k < rounds.count(); ++k) {
    nodes[k].exchange = group().exchange();
    for (int64_t i = 0; i < rounds.partners(k); ++i) {
      const Terms theirs = nodes_of(k, i);
      if (i != rounds.number(k, rank()) && theirs.size() > 0)
        nodes[k].exchange->receive(nodes[k].most.data() + theirs.begin, theirs.size() * kMostBytes,
                                   static_cast<int>(rounds.partner(k, rank(), i)), kMostTag);
    }
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const int64_t n = elements(b, k + 1).size();
      const Tensor& to = moving[b].received.emplace_back(
          Tensor::empty({(std::ssize(nodes[k].nodes) - own_nodes(k).size()) * n}, wire_of(buckets[b])));
      Exchange& exchange = *moving[b].exchanges.emplace_back(group().exchange());
      int64_t at = 0;
      for (int64_t i = 0; i < rounds.partners(k); ++i) {
        if (i == rounds.number(k, rank())) continue;
        for (int64_t row = nodes_of(k, i).size(); row > 0 && n > 0; --row, at += n)
          exchange.receive(bytes_at(to, at), n * item_size(to.dtype()), static_cast<int>(rounds.partner(k, rank(), i)),
                           static_cast<int>(2 * b));
      }
    }
  }
  for (std::size_t b = 0; b < buckets.size(); ++b)
    moving[b].mine = Tensor::empty({own_nodes(0).size() * buckets[b].total}, buckets[b].dtype);
  const Terms own = own_nodes(0);
  for (int64_t i = own.begin; i < own.end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    nodes[0].most[at] = sums.most(nodes[0].nodes[at]);
  }
  send_most(0);
}

// The partners of a round learn the most terms of a batch in the nodes of this process.
void Share::send_most(std::size_t k) {
  const Terms own = own_nodes(k);
  if (own.size() == 0) return;
  for (int64_t i = 0; i < rounds.partners(k); ++i)
    if (i != rounds.number(k, rank()))
      nodes[k].exchange->send(nodes[k].most.data() + own.begin, own.size() * kMostBytes,
                              static_cast<int>(rounds.partner(k, rank(), i)), kMostTag);
}

void Share::learn_most() {
  for (; known < rounds.count() && nodes[known].exchange->done() && nodes[known].exchange->failure().empty(); ++known) {
    if (known + 1 == rounds.count()) continue;
    const Nodes& from = nodes[known];
    Nodes& to = nodes[known + 1];
    const Terms own = own_nodes(known + 1);
    std::size_t part = 0;  // both lists are in order, and each node of the first is in one of the second
    for (auto i = static_cast<std::size_t>(own.begin); i < static_cast<std::size_t>(own.end); ++i)
      for (; part < from.nodes.size() && to.nodes[i].has(from.nodes[part]); ++part)
        to.most[i] = std::max(to.most[i], from.most[part]);
    send_most(known + 1);
  }
}

// The sums of a bucket leave.
void Share::start(std::size_t b) {
  moving[b].started = true;
  send(b);
}

// Those of the elements that the partners of the next round continue with.
void Share::send(std::size_t b) {
  Moving& from = moving[b];
  const std::size_t k = from.round;
  from.sent = from.mine.to(wire_of(buckets[b]));
  const Terms all = elements(b, k);
  for (int64_t step = 1; step < rounds.partners(k); ++step) {  // each process to another one at first
    const int64_t to = rounds.partner(k, rank(), (rounds.number(k, rank()) + step) % rounds.partners(k));
    const Terms theirs = elements_of(b, k + 1, to);
    const int64_t bytes = theirs.size() * item_size(from.sent.dtype());
    for (int64_t row = 0; row < own_nodes(k).size() && bytes > 0; ++row) {
      from.exchanges[k]->send(bytes_at(from.sent, row * all.size() + theirs.begin - all.begin), bytes,
                              static_cast<int>(to), static_cast<int>(2 * b));
      times.bytes_sent += bytes;
    }
  }
}

// Adds up what has arrived, and sends what follows. Whether all rounds are complete.
bool Share::advance(std::size_t b) {
  Moving& one = moving[b];
  learn_most();
  while (one.round < known && one.exchanges[one.round]->done() && one.exchanges[one.round]->failure().empty()) {
    add_up(b);
    if (++one.round < rounds.count()) send(b);
  }
  return one.round == rounds.count();
}

// Messages of the oldest bucket that is under way move on.
void Share::progress() {
  for (std::size_t b = 0; b < buckets.size(); ++b)
    if (moving[b].started && !advance(b)) return;
}

// The sums of the nodes that this process has after a round.
void Share::add_up(std::size_t b) {
  const DType dtype = buckets[b].dtype;
  Moving& one = moving[b];
  const std::size_t k = one.round;
  const Terms before = elements(b, k), after = elements(b, k + 1);
  const int64_t n = after.size();
  // The sums of this process are rounded like those of the others.
  const Tensor own = one.sent.to(dtype), others = one.received[k].to(dtype);
  std::vector<Terms> whole{sums.all};
  if (k + 1 < rounds.count()) {
    const Terms left = own_nodes(k + 1);
    whole.assign(nodes[k + 1].nodes.begin() + left.begin, nodes[k + 1].nodes.begin() + left.end);
  }
  one.mine = Tensor::empty({std::ssize(whole) * n}, dtype);
  if (n > 0)
    with_floating_type(dtype, [&](auto t) {
      using T = decltype(t);
      struct Sum {
        Terms node;
        double most;
        T* at;
        explicit operator bool() const { return at != nullptr; }
      };
      std::vector<Sum> summands;
      T* mine = static_cast<T*>(own.mutable_raw_data()) + after.begin - before.begin;
      T* received = static_cast<T*>(others.mutable_raw_data());
      const Terms here = own_nodes(k);
      for (int64_t i = 0; i < std::ssize(nodes[k].nodes); ++i) {
        const bool is_own = here.begin <= i && i < here.end;
        const auto at = static_cast<std::size_t>(i);
        T*& next = is_own ? mine : received;
        summands.push_back({nodes[k].nodes[at], nodes[k].most[at], next});
        next += is_own ? before.size() : n;
      }
      const auto given = [&](const Terms& node) -> Sum {
        const auto found = std::ranges::find(summands, node, &Sum::node);
        return found == summands.end() ? Sum{node, 0, nullptr} : *found;
      };
      T* to = static_cast<T*>(one.mine.mutable_raw_data());
      for (const Terms& node : whole) {
        const auto total = fold<Sum>(node, given, [n](const Sum& a, const Sum& b) {
          const auto [factor, other] = Accumulated::factors(a.most, b.most);
          multiply(a.at, factor, n);
          multiply(b.at, other, n);
          add(a.at, b.at, n);
          return Sum{{a.node.begin, b.node.end}, std::max(a.most, b.most), a.at};
        });
        std::memcpy(to, total.at, static_cast<std::size_t>(n) * sizeof(T));
        to += n;
      }
    });
  one.sent = {};
  one.received[k] = {};
}

// The rounds backwards: each process sends its elements to its partners of the last round, then all that it has to its
// partners of the round before, and so on. Each bucket starts one round later than the previous bucket.
void Share::send_parameters(const std::vector<uint8_t>& present) {
  const ProfileScope scope("all_gather parameters", ProfilePhase::optimizer);
  struct Packed {
    Tensor all;
    std::unique_ptr<Exchange> exchange;
  };
  std::vector<Packed> packed(buckets.size());
  const auto copy = [&](std::size_t b, const Piece& piece, bool out) {
    const Tensor& leaf = parameters[piece.parameter].tensor;
    char *const whole = bytes_at(leaf, piece.begin), *const part = bytes_at(packed[b].all, piece.at);
    std::memcpy(out ? part : whole, out ? whole : part,
                static_cast<std::size_t>(piece.size() * item_size(leaf.dtype())));
  };
  const auto begin_round = [&](std::size_t b, std::size_t k) {
    packed[b].exchange = group().exchange();
    const auto bytes = [&](const Terms& part) { return part.size() * item_size(buckets[b].dtype); };
    const Terms own = elements(b, k + 1);
    for (int64_t step = 1; step < rounds.partners(k); ++step) {
      const auto other = [&](int64_t by) {
        return rounds.partner(k, rank(), (rounds.number(k, rank()) + by) % rounds.partners(k));
      };
      const int64_t to = other(step), from = other(rounds.partners(k) - step);
      const Terms theirs = elements_of(b, k + 1, from);
      const int tag = static_cast<int>(2 * b + 1);
      if (theirs.size() > 0)
        packed[b].exchange->receive(bytes_at(packed[b].all, theirs.begin), bytes(theirs), static_cast<int>(from), tag);
      if (own.size() > 0) {
        packed[b].exchange->send(bytes_at(packed[b].all, own.begin), bytes(own), static_cast<int>(to), tag);
        times.bytes_sent += bytes(own);
      }
    }
  };
  const auto stage = [&](std::size_t b, std::size_t i) {
    if (i == 0) {
      packed[b].all = Tensor::empty({buckets[b].total}, buckets[b].dtype);
      for (const Piece& piece : own_pieces(b)) copy(b, piece, true);
    } else {
      const Stopwatch waiting(times.parameters_s);
      group().wait(*packed[b].exchange, "the parameters");
    }
    if (i < rounds.count()) return begin_round(b, rounds.count() - 1 - i);
    const int64_t own = rounds.positions(i, rank()).begin;
    for (const Piece& piece : buckets[b].pieces)
      if (piece.position != own && present[piece.parameter]) copy(b, piece, false);
    packed[b] = {};
  };
  for (std::size_t time = 0; time < buckets.size() + rounds.count(); ++time)
    for (std::size_t i = 0; i <= std::min(time, rounds.count()); ++i)
      if (time - i < buckets.size()) stage(time - i, i);
}

}  // namespace tapegrad::distributed::detail
