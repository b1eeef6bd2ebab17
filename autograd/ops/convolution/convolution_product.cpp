// Convolutions and transposed convolutions of several channels per group.
//
// A block of the source is copied with its channels last, so that a row of the kernel reads one run of memory; a window
// is then a few runs, and the result a product of windows with panels of the weight
// (autograd/kernels/product/run_product.h). No matrix of windows is made; taps outside of the source are left out. A
// transposed convolution with a stride is one product per class of elements (ConvPass), without zeros in the source.
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/run_product.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_inside.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>

namespace tapegrad {
namespace {

using runs::Run;

constexpr int64_t kSourceBlock = 64 << 10;  // elements of a block of the source: it stays in the second-level cache
constexpr int64_t kMostPixels = 1024, kLeastPixels = 24;  // of the result in a block
constexpr int64_t kMostPieces = 16;                       // blocks of a result that is large enough
constexpr int64_t kFullRows = 4;   // images of a block, if possible: an edge has few pixels, and kernels 4 to 10 rows
constexpr int64_t kMoveWork = 12;  // multiplications that take as long as moving one element: transposed, 0.3 ns

// An element of the kernel: its offset in a plane of the weight, and the source position for the first element of its
// class.
struct Tap {
  int64_t weight, row, col;
};

// Elements of the result that are combined from the same taps.
struct TapClass {
  int64_t row, col;      // residues
  int64_t first, count;  // of its taps
};

template <class T>
class TapProduct {
 public:
  // skips: the taps outside of the source are left out instead of multiplied by zeros; for a finite weight.
  TapProduct(const ConvShape& shape, bool transposed, bool skips)
      : shape_(shape),
        rows_{shape.rows, transposed},
        cols_{shape.cols, transposed},
        skips_(skips),
        channels_(transposed ? shape.o : shape.c),
        columns_(transposed ? shape.c : shape.o),
        channel_stride_(transposed ? shape.c * shape.taps() : shape.taps()),
        column_stride_(transposed ? shape.taps() : shape.c * shape.taps()),
        panels_{columns_, use_.lanes},
        row_taps_(rows_),
        col_taps_(cols_),
        taps_(shape.taps()),
        classes_(classes_count()),
        channel_lists_(shape, transposed, skips),
        weight_(shape.groups * panels_.padded() * shape.taps() * channel_lists_.total()) {
    list_taps();
    choose_blocks();
  }

  void run(const T* from, const T* weight, const T* bias, T* to) {
    const int64_t depth = shape_.taps() * channels_;
    const int64_t panels = panels_.count(), all = shape_.groups * panels;
    parallel_for(channel_lists_.count() * all,
                 std::max<int64_t>(1, (32 << 10) / std::max<int64_t>(1, depth * panels_.most_pitch())),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     pack_panel(weight, channel_lists_[i / all], i % all / panels, i % panels);
                   }
                 });
    const int64_t across = pieces_of(cols_.to(), block_cols_), down = pieces_of(rows_.to(), block_rows_);
    const int64_t blocks = pieces_of(shape_.n, block_images_) * down * across * shape_.groups;
    const int64_t parts = pieces_of(panels, panel_block_);
    const int64_t work = block_images_ * block_rows_ * block_cols_ * work_per_pixel() / parts;
    parallel_for(blocks * parts, std::max<int64_t>(1, kConvPieceWork / std::max<int64_t>(1, work)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t block = i % blocks / shape_.groups;
                     const Range some = range_of(i / blocks, panel_block_, panels);
                     const Range images = range_of(block / across / down, block_images_, shape_.n);
                     for (int64_t first = images.begin, last; first < images.end; first = last) {
                       const Channels& channels = channel_lists_.of(first);
                       for (last = first + 1; last < images.end && &channel_lists_.of(last) == &channels;) ++last;
                       multiply_block(channels, i % shape_.groups, some, {first, last},
                                      range_of(block / across % down, block_rows_, rows_.to()),
                                      range_of(block % across, block_cols_, cols_.to()), from, bias, to);
                     }
                   }
                 });
  }

 private:
  // The taps of each class in the order of the source, so that adjacent ones form one run.
  void list_taps() {
    const auto tap_of = [](const ConvTaps& taps, const ConvPass& pass, const ConvTaps::Class& one, int64_t i) {
      return taps.tap(one.first + (pass.transposed ? one.count - 1 - i : i));
    };
    int64_t count = 0;
    for (int64_t at = 0; at < classes_count(); ++at) {
      const ConvTaps::Class &down = row_taps_[at / col_taps_.count()], &across = col_taps_[at % col_taps_.count()];
      classes_.get()[at] = {down.residue, across.residue, count, down.count * across.count};
      for (int64_t i = 0; i < down.count; ++i) {
        const int64_t p = tap_of(row_taps_, rows_, down, i), row = rows_.source(down.residue, p);
        for (int64_t j = 0; j < across.count; ++j) {
          const int64_t q = tap_of(col_taps_, cols_, across, j);
          taps_.get()[count++] = {p * cols_.axis.kernel + q, row, cols_.source(across.residue, q)};
        }
      }
    }
  }

  // Multiplications, and what moves: elements of the source into its copy, and of the result to panels and planes.
  int64_t work_per_pixel() const {
    const int64_t multiplied = channels_ * pieces_of(shape_.taps(), rows_.classes() * cols_.classes());
    const int64_t copied = pieces_of(channels_ * rows_.advance() * cols_.advance(), rows_.classes() * cols_.classes());
    return multiplied * panels_.padded() + kMoveWork * (copied + panels_.padded() + columns_);
  }

  // The number of result elements in a piece of work; depends on the sizes only.
  void choose_blocks() {
    const int64_t image = rows_.to() * cols_.to(), total = shape_.n * shape_.groups * image;
    const int64_t spread = rows_.advance() * cols_.advance();  // elements of the source per element of the result
    const int64_t wanted = std::clamp<int64_t>(total * work_per_pixel() / kConvPieceWork, 1, kMostPieces);
    const int64_t room =
        std::clamp(kSourceBlock / std::max<int64_t>(1, channels_ * spread), 2 * kLeastPixels, kMostPixels);
    const int64_t pixels = std::clamp(pieces_of(total, wanted), kLeastPixels, room);
    const auto even = [](int64_t size, int64_t most) {  // blocks of nearly equal sizes
      return std::max<int64_t>(1, pieces_of(size, std::max<int64_t>(1, pieces_of(size, std::max<int64_t>(1, most)))));
    };
    block_images_ = image == 0 ? 1 : even(shape_.n, pixels / image);
    panel_block_ = panels_.count();
    if (skips_ && shape_.padded() && block_images_ < kFullRows && image <= pixels && kFullRows * image <= room) {
      block_images_ = even(shape_.n, kFullRows);
      const int64_t blocks = pieces_of(shape_.n, block_images_) * shape_.groups;
      panel_block_ = std::max<int64_t>(1, panels_.count() / pieces_of(wanted, blocks));
    }
    block_rows_ = image <= pixels ? std::max<int64_t>(1, rows_.to()) : even(rows_.to(), pixels / cols_.to());
    block_cols_ = cols_.to() <= pixels ? std::max<int64_t>(1, cols_.to()) : even(cols_.to(), pixels);
  }

  // The rows of a panel, class after class.
  T* panel(const Channels& channels, int64_t group, int64_t panel) const {
    return weight_.get() + ((channels.before * shape_.groups + group * channels.count) * panels_.padded() +
                            panels_.first(panel) * channels.count) *
                               shape_.taps();
  }

  void pack_panel(const T* weight, const Channels& channels, int64_t group, int64_t index) const {
    const int64_t width = panels_.width(index), pitch = panels_.pitch(index);
    const T* const from = weight + group * shape_.o * shape_.c * shape_.taps() + panels_.first(index) * column_stride_;
    T* const to = panel(channels, group, index);
    const Scratch<T> rows(shape_.taps() * pitch + use_.lanes);  // of one channel, tap by tap
    for (int64_t channel = 0; channel < channels.count; ++channel) {
      use_.interleave(width, shape_.taps(), from + channel_lists_.channel(channels, channel) * channel_stride_,
                      column_stride_, rows.get(), pitch);
      for (int64_t at = 0; at < classes_count(); ++at) {
        const TapClass& one = classes_.get()[at];
        for (int64_t t = one.first; t < one.first + one.count; ++t) {
          std::copy_n(rows.get() + taps_.get()[t].weight * pitch, pitch, to + (t * channels.count + channel) * pitch);
        }
      }
    }
  }

  // The rows and columns of the source that a block needs; outside of it are zeros, unless they are left out.
  struct Window {
    Range rows, cols;
    int64_t image;  // elements of a copy with channels last
  };

  Range needed(const ConvPass& pass, const Range& result) const {
    const Range all{pass.first(result.begin), pass.end(result.end)};
    if (!skips_) return all;
    return {std::clamp<int64_t>(all.begin, 0, pass.from()), std::clamp<int64_t>(all.end, 0, pass.from())};
  }

  void copy_source(const Channels& channels, const Window& window, int64_t group, const Range& images, const T* from,
                   T* to) const {
    const int64_t height = rows_.from(), width = cols_.from(), count = channels.count;
    const int64_t row_size = window.cols.size() * count;
    const int64_t left = std::clamp<int64_t>(0, window.cols.begin, window.cols.end);
    const int64_t right = std::clamp<int64_t>(width, left, window.cols.end);
    const Scratch<const T*> planes(count), line(count);
    const Scratch<T> zeros(shape_.depth.padded() ? right - left : 0);
    std::fill_n(zeros.get(), shape_.depth.padded() ? right - left : 0, T(0));
    for (int64_t n = images.begin; n < images.end; ++n) {
      for (int64_t c = 0; c < count; ++c) {
        planes.get()[c] = rows_.transposed ? shape_.y_plane(from, n, group) + c * shape_.y_step()
                                           : shape_.x_plane(from, n, group, channel_lists_.channel(channels, c));
      }
      for (int64_t row = window.rows.begin; row < window.rows.end; ++row, to += row_size) {
        if (row < 0 || row >= height || left >= right) {
          std::fill_n(to, row_size, T(0));
          continue;
        }
        T* const begin = to + (left - window.cols.begin) * count;
        for (int64_t c = 0; c < count; ++c) {
          const T* const plane = planes.get()[c];
          line.get()[c] = plane == nullptr ? zeros.get() : plane + row * width + left;
        }
        use_.interleave_list(count, right - left, line.get(), begin, count);
        std::fill(to, begin, T(0));
        std::fill(begin + (right - left) * count, to + row_size, T(0));
      }
    }
  }

  // Elements of a class that are combined from the same taps, inside of the source.
  struct Part {
    const TapClass& one;
    int64_t across;  // columns of the class's taps
    const Stretch &down, &cols;
  };

  // Calls use(part) for all parts of a block.
  void each_part(const Range& down, const Range& across, const auto& use) const {
    const Scratch<Stretch> rows(down.size()), cols(across.size());
    row_taps_.each(down.begin, down.end, [&](int64_t i) {
      col_taps_.each(across.begin, across.end, [&](int64_t j) {
        const TapClass& one = classes_.get()[i * col_taps_.count() + j];
        const Tap* const taps = taps_.get() + one.first;
        const int64_t wide = col_taps_[j].count;
        const int64_t high = list_stretches(
            rows_, skips_, one.row, row_taps_[i].count, down, [&](int64_t tap) { return taps[tap * wide].row; },
            rows.get());
        const int64_t broad = list_stretches(
            cols_, skips_, one.col, wide, across, [&](int64_t tap) { return taps[tap].col; }, cols.get());
        for (int64_t p = 0; p < high; ++p) {
          for (int64_t q = 0; q < broad; ++q) use(Part{one, wide, rows.get()[p], cols.get()[q]});
        }
      });
    });
  }

  // The runs of a part in a copy of the source, cut after every `depth` elements; returns their number.
  int64_t list_runs(const Part& part, int64_t channels, const Window& window, int64_t depth, Run* runs) const {
    int64_t count = 0, room = depth, next = 0;
    for (int64_t i = part.down.taps.begin; i < part.down.taps.end; ++i) {
      for (int64_t j = part.cols.taps.begin; j < part.cols.taps.end; ++j) {
        const int64_t t = i * part.across + j;
        const Tap& tap = taps_.get()[part.one.first + t];
        int64_t at = ((tap.row - window.rows.begin) * window.cols.size() + tap.col - window.cols.begin) * channels;
        int64_t skip = (t - next) * channels;
        for (int64_t left = channels; left > 0;) {
          const int64_t some = std::min(left, room);
          if (room < depth && skip == 0 && count > 0 && runs[count - 1].at + runs[count - 1].length == at) {
            runs[count - 1].length += some;
          } else {
            runs[count++] = {at, some, skip};
          }
          skip = 0;
          at += some;
          left -= some;
          room = room == some ? depth : room - some;
        }
        next = t + 1;
      }
    }
    return count;
  }

  // A block of the result, with the offsets in the copy of its source.
  struct Block {
    const Range &images, &down, &across;
    const Window& window;
  };

  // Offsets of the elements of a part: of their windows in the copy, and of their rows in a panel of the result.
  int64_t list_pixels(const Part& part, int64_t channels, const Block& block, int64_t* a_rows, int64_t* c_rows) const {
    const int64_t pitch = panels_.most_pitch(), line = block.window.cols.size() * channels;
    const Range &rows = part.down.elements, &cols = part.cols.elements;
    const int64_t first_col = (cols.begin - part.one.col) / cols_.classes() * cols_.advance() * channels;
    const int64_t step = cols_.advance() * channels, c_step = cols_.classes() * pitch;
    int64_t count = 0;
    for (int64_t n = 0; n < block.images.size(); ++n) {
      for (int64_t i = rows.begin; i < rows.end; i += rows_.classes()) {
        const int64_t row = (i - part.one.row) / rows_.classes() * rows_.advance();
        int64_t from = n * block.window.image + row * line + first_col;
        int64_t to = (n * block.down.size() + i - block.down.begin) * block.across.size() + cols.begin;
        to = (to - block.across.begin) * pitch;
        for (int64_t j = cols.begin; j < cols.end; j += cols_.classes(), ++count, from += step, to += c_step) {
          a_rows[count] = from;
          c_rows[count] = to;
        }
      }
    }
    return count;
  }

  // For some of the panels.
  void multiply_block(const Channels& channels, int64_t group, const Range& some, const Range& images,
                      const Range& down, const Range& across, const T* from, const T* bias, T* to) const {
    const int64_t count = channels.count;
    Window window{needed(rows_, down), needed(cols_, across), 0};
    window.image = window.rows.size() * window.cols.size() * count;
    const int64_t pixels = images.size() * down.size() * across.size();
    const Scratch<T> source(images.size() * window.image + use_.lanes), result(pixels * panels_.most_pitch());
    copy_source(channels, window, group, images, from, source.get());

    const Scratch<int64_t> a_rows(pixels), c_rows(pixels);
    int64_t parts = 0, most_runs = 0;
    each_part(down, across,
              [&](const Part& part) { ++parts, most_runs += part.one.count * (2 + count / use_.depth) + 1; });
    const Scratch<Run> runs(most_runs);
    const Scratch<PartWork> work(parts);
    int64_t pixels_before = 0, runs_before = 0;
    parts = 0;
    each_part(down, across, [&](const Part& part) {
      PartWork& todo = work.get()[parts++];
      const int64_t k = part.down.taps.size() * part.cols.taps.size() * count;
      todo.taps = part.one.first;
      todo.depth = std::max<int64_t>(1, pieces_of(k, std::max<int64_t>(1, pieces_of(k, use_.depth))));
      todo.runs = runs.get() + runs_before;
      todo.run_count = list_runs(part, count, window, todo.depth, runs.get() + runs_before);
      todo.first = pixels_before;
      todo.count = list_pixels(part, count, {images, down, across, window}, a_rows.get() + pixels_before,
                               c_rows.get() + pixels_before);
      runs_before += todo.run_count;
      pixels_before += todo.count;
    });
    if (pixels_before < pixels) std::fill_n(result.get(), pixels * panels_.most_pitch(), T(0));  // some have no taps

    for (int64_t p = some.begin; p < some.end; ++p) {
      for (int64_t at = 0; at < parts; ++at) {
        const PartWork& todo = work.get()[at];
        multiply_part(todo, {.runs = todo.runs,
                             .count = 0,
                             .step = 1,
                             .a = source.get(),
                             .a_rows = a_rows.get() + todo.first,
                             .rows = todo.count,
                             .panel = panel(channels, group, p) + todo.taps * count * panels_.pitch(p),
                             .vectors = panels_.vectors(p),
                             .c = result.get(),
                             .c_rows = c_rows.get() + todo.first,
                             .add = false});
      }
      store_panel(group, p, images, down, across, result.get(), bias, to);
    }
  }

  // The work of a block for one part.
  struct PartWork {
    const Run* runs;
    int64_t run_count, depth;
    int64_t taps;          // the first one of the class
    int64_t first, count;  // of the elements
  };
  int64_t classes_count() const { return row_taps_.count() * col_taps_.count(); }

  // All runs of a part, some of the same depth at a time; `product` is the first of these, without its runs.
  void multiply_part(const PartWork& todo, runs::Product<T> product) const {
    int64_t run = 0;
    do {  // at least once: without channels or taps the result is zero
      int64_t depth = 0, skipped = 0;
      product.count = 0;
      product.runs = todo.runs + run;
      for (; run < todo.run_count && depth < todo.depth; ++run, ++product.count) {
        depth += todo.runs[run].length;
        skipped += todo.runs[run].skip;
      }
      runs::multiply(product);
      product.panel += (depth + skipped) * product.vectors * use_.lanes;
      product.add = true;
    } while (run < todo.run_count);
  }

  // Panel p of a block's result, with the bias, to planes.
  void store_panel(int64_t group, int64_t p, const Range& images, const Range& down, const Range& across,
                   const T* result, const T* bias, T* to) const {
    const int64_t plane = rows_.to() * cols_.to(), first = panels_.first(p), pitch = panels_.most_pitch();
    const int64_t step = rows_.transposed ? plane : shape_.y_step();
    const bool whole = across.size() == cols_.to();  // the rows of the block are contiguous in the result
    const int64_t lines = whole ? images.size() : images.size() * down.size();
    const int64_t line = whole ? down.size() * across.size() : across.size();
    for (int64_t at = 0; at < lines; ++at) {
      const int64_t n = images.begin + (whole ? at : at / down.size());
      const int64_t row = down.begin + (whole ? 0 : at % down.size());
      T* const image =
          rows_.transposed ? to + (n * shape_.groups + group) * columns_ * plane : shape_.y_plane(to, n, group);
      use_.separate(panels_.width(p), line, result + at * line * pitch, pitch,
                    bias == nullptr ? nullptr : bias + group * columns_ + first,
                    image + first * step + row * cols_.to() + across.begin, step);
    }
  }

  const runs::Kernels<T>& use_ = runs::kernels<T>();
  const ConvShape& shape_;
  const ConvPass rows_, cols_;
  const bool skips_;
  const int64_t channels_, columns_;              // of the source and of the result, per group
  const int64_t channel_stride_, column_stride_;  // in the weight
  const runs::Panels panels_;
  const ConvTaps row_taps_, col_taps_;
  const Scratch<Tap> taps_;
  const Scratch<TapClass> classes_;
  const ChannelLists channel_lists_;
  const Scratch<T> weight_;
  int64_t block_images_ = 1, block_rows_ = 1, block_cols_ = 1, panel_block_ = 1;
};

template <class T>
void product(const ConvShape& shape, bool transposed, bool finite, const T* from, const T* weight, const T* bias,
             T* to) {
  const int64_t result = transposed ? shape.c * shape.image() : shape.o * shape.out_image();
  if (shape.n * shape.groups * result == 0) return;
  if (shape.depthwise() && shape.volumes()) {
    convolve_volumes(shape, from, weight, bias, to);
  } else if (shape.depthwise()) {
    convolve_planes(shape, transposed, from, weight, bias, to);
  } else if (shape.pointwise()) {
    multiply_planes(shape, transposed, from, weight, bias, to);
  } else if (transposed && shape.patches()) {
    multiply_patches(shape, from, weight, bias, to);
  } else {
    TapProduct<T>(shape, transposed, finite).run(from, weight, bias, to);
  }
}

}  // namespace

template <class T>
void convolve(const ConvShape& shape, const T* x, const T* weight, const T* bias, T* y, bool finite) {
  product(shape, false, finite, x, weight, bias, y);
}
template <class T>
void convolve_transposed(const ConvShape& shape, const T* y, const T* weight, const T* bias, T* x) {
  product(shape, true, true, y, weight, bias, x);
}

template void convolve<float>(const ConvShape&, const float*, const float*, const float*, float*, bool);
template void convolve<double>(const ConvShape&, const double*, const double*, const double*, double*, bool);
template void convolve_transposed<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void convolve_transposed<double>(const ConvShape&, const double*, const double*, const double*, double*);

}  // namespace tapegrad
