// The gradient of a convolution for its weight, with several channels per group.
//
// For each element of the weight, a sum over the pixels of y: rows of x, shifted by the element's place in the kernel,
// times y. The rows are read in place (autograd/kernels/product/run_product.h), or from a copy surrounded by zeros if x
// is padded; y is copied into panels, so that the sums of several output channels are vectors. Images are divided into
// blocks that depend on the sizes only, and the sums of the blocks are added in order.
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/run_product.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_inside.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

using runs::Run;

constexpr int64_t kMostBlocks = 16;       // blocks of images
constexpr int64_t kMostSums = 4 << 20;    // elements of the sums of all blocks
constexpr int64_t kLeastPieces = 8;       // for threads, if the weight is too large for blocks of images
constexpr int64_t kCachedSums = 1 << 15;  // elements of sums that stay in the second-level cache, with as many more

template <class T>
class WeightProduct {
 public:
  WeightProduct(const ConvShape& shape, const T* x, const T* y)
      : shape_(shape),
        x_(x),
        y_(y),
        padded_(shape.rows.padded() || shape.cols.padded() || shape.volumes()),
        out_rows_(shape.rows.out),
        out_cols_(shape.cols.out),
        elements_(shape.c * shape.taps()),
        panels_{shape.o, use_.lanes},
        elements_at_(elements_),
        sums_at_(2 * elements_) {
    choose_blocks();
    list_elements();
  }

  void run(T* weight) {
    const int64_t size = panels_.padded() * elements_;  // the sums of a group
    const int64_t read = panels_.count() * shape_.n * shape_.c * shape_.image();
    if (!padded_ && blocks_ * size > std::max(kMostSums / 4, read / 2)) return run_by_panels(weight);
    const Scratch<T> sums(blocks_ * shape_.groups * size);
    const int64_t across = pieces_of(panels_.count(), panel_block_);
    const int64_t work = shape_.n * out_rows_ * out_cols_ * size / (blocks_ * across);
    parallel_for_each(blocks_ * shape_.groups * across,
                      std::max<int64_t>(1, kConvPieceWork / std::max<int64_t>(1, work)), [&](int64_t i) {
                        const int64_t block = i / across / shape_.groups, group = i / across % shape_.groups;
                        const int64_t first = i % across * panel_block_;
                        multiply_block(
                            group, block, {first, std::min(panels_.count(), first + panel_block_)}, {0, elements_},
                            sums.get() + (block * shape_.groups + group) * size + panels_.first(first) * elements_);
                      });
    const int64_t all = shape_.groups * size;
    parallel_for(all, std::max<int64_t>(1024, 65536 / blocks_), [&](int64_t begin, int64_t end) {
      for (int64_t block = 1; block < blocks_; ++block) {
        for (int64_t at = begin; at < end; ++at) sums.get()[at] += sums.get()[block * all + at];
      }
    });
    parallel_for(
        shape_.groups * panels_.count(), std::max<int64_t>(1, 8192 / (elements_ * panels_.most_pitch())),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t group = i / panels_.count(), panel = i % panels_.count();
            store(group, panel, {0, elements_}, sums.get() + group * size + panels_.first(panel) * elements_, weight);
          }
        });
  }

 private:
  // Sums of several blocks that no cache holds, and which are more than is read for them: all blocks of some elements
  // and one panel, one after the other, in the same order.
  void run_by_panels(T* weight) const {
    const int64_t ranges = pieces_of(elements_ * panels_.most_pitch(), kCachedSums);
    const int64_t range = pieces_of(elements_, ranges);
    parallel_for_each(shape_.groups * panels_.count() * ranges, 1, [&](int64_t i) {
      const int64_t group = i / ranges / panels_.count(), panel = i / ranges % panels_.count();
      const int64_t pitch = panels_.pitch(panel);
      const Range elements = range_of(i % ranges, range, elements_);
      const Scratch<T> sums(elements_ * pitch), more(elements_ * pitch);
      multiply_block(group, 0, {panel, panel + 1}, elements, sums.get());
      for (int64_t block = 1; block < blocks_; ++block) {
        multiply_block(group, block, {panel, panel + 1}, elements, more.get());
        for (int64_t at = elements.begin * pitch; at < elements.end * pitch; ++at) sums.get()[at] += more.get()[at];
      }
      store(group, panel, elements, sums.get(), weight);
    });
  }

  // From the sums of a panel to some elements of the weight.
  void store(int64_t group, int64_t panel, const Range& elements, const T* sums, T* weight) const {
    const int64_t pitch = panels_.pitch(panel);
    T* const to = weight + (group * shape_.o + panels_.first(panel)) * elements_ + elements.begin;
    use_.separate(panels_.width(panel), elements.size(), sums + elements.begin * pitch, pitch, nullptr, to, elements_);
  }

  void choose_blocks() {
    // The widest vectors' panels, whatever these are: blocks of images are sums of their own.
    constexpr int64_t kPanel = 128 / sizeof(T);
    const int64_t pixels = out_rows_ * out_cols_;
    const int64_t sums = shape_.groups * pieces_of(shape_.o, kPanel) * kPanel * elements_;
    const int64_t wanted = pieces_of(shape_.n * pixels * sums, kConvPieceWork);  // pieces with enough work
    blocks_ = std::clamp<int64_t>(kMostSums / sums, 1, kMostBlocks);
    blocks_ = std::clamp<int64_t>(std::min(wanted, shape_.n), 1, blocks_);
    const int64_t pieces = std::min(kLeastPieces, wanted), now = blocks_ * shape_.groups;
    panel_block_ = now >= pieces ? panels_.count() : std::max<int64_t>(1, panels_.count() / pieces_of(pieces, now));
    const int64_t most = use_.depth;  // pixels of y in a panel
    cols_ = std::min(out_cols_, most);
    cols_ = pieces_of(out_cols_, pieces_of(out_cols_, cols_));
    rows_ = cols_ < out_cols_ ? 1 : std::clamp<int64_t>(most / out_cols_, 1, out_rows_);
    rows_ = pieces_of(out_rows_, pieces_of(out_rows_, rows_));
    images_ = rows_ < out_rows_ || cols_ < out_cols_ ? 1 : std::clamp<int64_t>(most / pixels, 1, shape_.n);
    plane_rows_ = padded_ ? (rows_ - 1) * shape_.rows.stride + shape_.rows.reach() + 1 : shape_.rows.size;
    plane_cols_ = padded_ ? (cols_ - 1) * shape_.cols.stride + shape_.cols.reach() + 1 : shape_.cols.size;
  }

  // For each element of a filter [c, kernel], the offsets of its first pixel and of its sums: in a panel of three
  // vectors, in another one.
  void list_elements() {
    int64_t at = 0;
    for (int64_t c = 0; c < shape_.c; ++c) {
      for (int64_t p = 0; p < shape_.rows.kernel; ++p) {
        for (int64_t q = 0; q < shape_.cols.kernel; ++q, ++at) {
          const int64_t row = p * shape_.rows.dilation, col = q * shape_.cols.dilation;
          elements_at_.get()[at] = (c * plane_rows_ + row) * plane_cols_ + col;
          sums_at_.get()[at] = at * panels_.most_pitch();
          sums_at_.get()[elements_ + at] = at * panels_.pitch(panels_.count() - 1);
        }
      }
    }
  }

  // Copies the part of image n that y reads from row `row` and column `col` on, surrounded by zeros.
  void copy_padded(int64_t n, int64_t group, int64_t row, int64_t col, T* to) const {
    const ConvAxis &down = shape_.rows, &across = shape_.cols;
    const int64_t first = col * across.stride - across.padding;
    const int64_t left = std::clamp<int64_t>(-first, 0, plane_cols_);
    const int64_t right = std::clamp<int64_t>(across.size - first, left, plane_cols_);
    for (int64_t c = 0; c < shape_.c; ++c) {
      const T* const plane = shape_.x_plane(x_, n, group, c);
      for (int64_t i = 0; i < plane_rows_; ++i, to += plane_cols_) {
        const int64_t from_row = row * down.stride - down.padding + i;
        if (plane == nullptr || from_row < 0 || from_row >= down.size) {
          std::fill_n(to, plane_cols_, T(0));
          continue;
        }
        std::fill_n(to, left, T(0));
        std::copy_n(plane + from_row * across.size + first + left, right - left, to + left);
        std::fill_n(to + right, plane_cols_ - right, T(0));
      }
    }
  }

  // The sums over a block of images of a group, for some panels and elements.
  void multiply_block(int64_t group, int64_t block, const Range& some, const Range& elements, T* sums) const {
    const int64_t begin = shape_.n * block / blocks_, end = shape_.n * (block + 1) / blocks_;
    const bool one_pixel = out_rows_ * out_cols_ == 1;  // then the images are one run
    const int64_t plane = plane_rows_ * plane_cols_;
    const Scratch<T> copy(padded_ ? images_ * shape_.c * plane : 0);
    const Scratch<T> panel(images_ * rows_ * cols_ * panels_.most_pitch() + use_.lanes);
    const Scratch<Run> runs(images_ * rows_);
    bool add = false;
    for (int64_t n = begin; n < end; n += images_) {
      const int64_t images = std::min(images_, end - n);
      for (int64_t row = 0; row < out_rows_; row += rows_) {
        const int64_t rows = std::min(rows_, out_rows_ - row);
        for (int64_t col = 0; col < out_cols_; col += cols_) {
          const int64_t cols = std::min(cols_, out_cols_ - col);
          const T* const x = x_ + (n * shape_.groups + group) * shape_.c * shape_.image();
          const int64_t stride = padded_ ? shape_.c * plane : shape_.groups * shape_.c * plane;  // of images
          const int64_t corner = padded_ ? 0 : row * shape_.rows.stride * plane_cols_ + col * shape_.cols.stride;
          for (int64_t i = 0; i < images; ++i) {
            if (padded_) copy_padded(n + i, group, row, col, copy.get() + i * stride);
            for (int64_t r = 0; r < rows; ++r) {
              runs.get()[i * rows + r] = {i * stride + corner + r * shape_.rows.stride * plane_cols_, cols};
            }
          }
          if (one_pixel) runs.get()[0].length = images;
          for (int64_t p = some.begin; p < some.end; ++p) {
            const int64_t pitch = panels_.pitch(p);
            for (int64_t i = 0; i < images; ++i) {
              const T* const y = shape_.y_plane(y_, n + i, group) + panels_.first(p) * shape_.y_step();
              const bool whole = cols == out_cols_;  // rows without gaps between them
              const int64_t line = whole ? rows * cols : cols;
              for (int64_t r = 0; r < (whole ? 1 : rows); ++r) {
                use_.interleave(panels_.width(p), line, y + (row + r) * out_cols_ + col, shape_.y_step(),
                                panel.get() + (i * rows + r) * cols * pitch, pitch);
              }
            }
            runs::multiply<T>({.runs = runs.get(),
                               .count = one_pixel ? 1 : images * rows,
                               .step = one_pixel ? stride : shape_.cols.stride,
                               .a = padded_ ? copy.get() : x,
                               .a_rows = elements_at_.get() + elements.begin,
                               .rows = elements.size(),
                               .panel = panel.get(),
                               .vectors = panels_.vectors(p),
                               .c = sums + (panels_.first(p) - panels_.first(some.begin)) * elements_,
                               .c_rows = sums_at_.get() + (p < panels_.wide() ? 0 : elements_) + elements.begin,
                               .add = add});
          }
          add = true;
        }
      }
    }
  }

  const runs::Kernels<T>& use_ = runs::kernels<T>();
  const ConvShape& shape_;
  const T* const x_;
  const T* const y_;
  const bool padded_;
  const int64_t out_rows_, out_cols_;
  const int64_t elements_;  // of a filter
  const runs::Panels panels_;
  const Scratch<int64_t> elements_at_, sums_at_;
  int64_t blocks_ = 1, panel_block_ = 1;      // of images; panels in a piece of work
  int64_t images_ = 1, rows_ = 1, cols_ = 1;  // of y at a time
  int64_t plane_rows_ = 0, plane_cols_ = 0;   // of x, or of its copy
};

}  // namespace

template <class T>
void convolve_weight(const ConvShape& shape, const T* x, const T* y, T* weight) {
  const int64_t size = shape.groups * shape.o * shape.c * shape.taps();
  if (size == 0) return;
  if (shape.n * shape.out_image() == 0) {
    std::fill_n(weight, size, T(0));
  } else if (shape.depthwise()) {
    convolve_planes_weight(shape, x, y, weight);
  } else {
    ConvShape flat = shape;
    if (shape.depth.whole()) flat.depth = {};  // the depths are channels of an image
    WeightProduct<T>(flat, x, y).run(weight);
  }
}

template void convolve_weight<float>(const ConvShape&, const float*, const float*, float*);
template void convolve_weight<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace tapegrad
