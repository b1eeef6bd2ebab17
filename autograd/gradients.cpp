// Lookup of gradients by leaf, and their sums.
#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>

namespace tapegrad {

namespace {

constexpr std::string_view kGradients = "gradients";

bool before(const TapeIndex& a, const TapeIndex& b) {
  return a.tape != b.tape ? a.tape < b.tape : a.position < b.position;
}

// The place of the gradient of x. A frozen leaf may have one from before it was frozen.
TapeIndex place_of(const Tensor& x) {
  return x.is_leaf() ? TapeIndex{TapeIndex::kLeaf, x.tape_index().position} : x.tape_index();
}

// The first entry that does not come before `place`.
auto first_from(auto& entries, const TapeIndex& place) {
  return std::lower_bound(entries.begin(), entries.end(), place,
                          [](const Gradients::Entry& entry, const TapeIndex& p) { return before(entry.place, p); });
}

std::mutex making_dense;  // threads may read gradients at the same time

}  // namespace

Gradients::Gradients(Entries entries, SparseEntries sparse) : entries_(std::move(entries)), sparse_(std::move(sparse)) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return before(a.place, b.place); });
}

Gradients::Entry* Gradients::entry_of(const Tensor& leaf) const {
  const TapeIndex place = place_of(leaf);
  const auto found = first_from(entries_, place);
  return found != entries_.end() && found->place == place ? &*found : nullptr;
}

const Tensor* Gradients::find(const Tensor& leaf) const {
  Entry* const found = entry_of(leaf);
  return found ? &dense(*found) : nullptr;
}

Gradients::Sparse* Gradients::sparse_of(const Entry& entry) const {
  const auto found = std::ranges::find(sparse_, entry.place, &Sparse::place);
  const bool is_sparse =
      found != sparse_.end() && found->rows.defined() && (!entry.grad.defined() || entry.grad.same(found->made));
  return is_sparse ? &*found : nullptr;
}

RowGradient* Gradients::rows(const Entry& entry) {
  if (sparse_.empty()) return nullptr;
  const std::lock_guard lock(making_dense);
  Sparse* const found = sparse_of(entry);
  return found ? &found->rows : nullptr;
}

const RowGradient* Gradients::rows(const Tensor& leaf) const {
  const Entry* const found = entry_of(leaf);
  return found ? const_cast<Gradients*>(this)->rows(*found) : nullptr;
}

const Tensor& Gradients::dense(Entry& entry) const {
  if (sparse_.empty()) return entry.grad;
  const std::lock_guard lock(making_dense);
  if (Sparse* const found = sparse_of(entry); found && !entry.grad.defined())
    entry.grad = found->made = found->rows.dense();
  return entry.grad;
}

void Gradients::make_dense() const {
  for (Entry& entry : entries_) dense(entry);
}

const Tensor& Gradients::of(const Tensor& leaf, std::string_view name) const {
  if (const Tensor* grad = find(leaf)) return *grad;
  const std::string called = name.empty() ? "" : fmt::format(" \"{}\"", name);
  fail(kGradients,
       leaf.is_leaf()
           ? fmt::format("the leaf{} of shape {} {}", called, str(leaf.shape()),
                         leaf.is_frozen() ? "is frozen" : "took no part in the loss")
           : fmt::format("the tensor of shape {} is not a leaf: BackwardOptions::keep did not name it, or it took no "
                         "part in the loss",
                         str(leaf.shape())));
}

void Gradients::set(const Tensor& leaf, Tensor grad) {
  const TapeIndex place = place_of(leaf);
  require(place.tape != 0, kGradients, "expected a leaf, got a constant of shape {} (make it a leaf by as_leaf())",
          leaf.shape());
  require(grad.shape() == leaf.shape(), kGradients, "expected a gradient of shape {}, got {}", leaf.shape(),
          grad.shape());
  require(grad.dtype() == leaf.dtype(), kGradients, "expected a {} gradient, got {}", leaf.dtype(), grad.dtype());
  const auto at = first_from(entries_, place);
  if (at != entries_.end() && at->place == place) {
    at->grad = std::move(grad);
  } else {
    entries_.insert(at, Entry{place, std::move(grad)});
  }
}

void Gradients::add_to(Entry& sum, Gradients& more, Entry& other) {
  Sparse *const own = sparse_of(sum), *const added = more.sparse_of(other);
  if (own && added) {
    own->rows += added->rows;
    sum.grad = own->made = added->rows.ids = Tensor();
    return;
  }
  dense(sum), more.dense(other);
  for (Sparse* const made : {own, added})
    if (made) *made = {};
  const bool unique = sum.grad.unique() && sum.grad.is_contiguous() && sum.grad.dtype() == other.grad.dtype();
  if (unique && sum.grad.tape_index().tape == 0 && other.grad.tape_index().tape == 0) {
    accumulate_into(sum.grad, other.grad);
  } else {
    sum.grad = sum.grad + other.grad;
  }
}

Gradients& Gradients::operator+=(Gradients&& more) {
  Entries sum;
  sum.reserve(std::max(entries_.size(), more.entries_.size()));
  auto own = entries_.begin(), other = more.entries_.begin();
  while (own != entries_.end() || other != more.entries_.end()) {
    const bool take_other = own == entries_.end() || (other != more.entries_.end() && before(other->place, own->place));
    if (take_other) {
      sum.push_back(std::move(*other++));
      continue;
    }
    if (other != more.entries_.end() && other->place == own->place) add_to(*own, more, *other++);
    sum.push_back(std::move(*own++));
  }
  entries_ = std::move(sum);
  std::ranges::copy_if(more.sparse_, std::back_inserter(sparse_), &RowGradient::defined, &Sparse::rows);
  more = {};
  return *this;
}

Gradients& Gradients::operator*=(double factor) {
  for (Entry& entry : entries_) {
    if (Sparse* const found = sparse_of(entry)) {
      found->rows.values = found->rows.values * factor;
      entry.grad = found->made = Tensor();
    } else {
      entry.grad = entry.grad * factor;
    }
  }
  return *this;
}

}  // namespace tapegrad
