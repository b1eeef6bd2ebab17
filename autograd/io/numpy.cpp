// Single arrays in NumPy's format.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/detail/npy.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/numpy.h>

#include <cerrno>
#include <cstring>

namespace tapegrad {
namespace {

class WholeFile : public numpy::Source {
 public:
  explicit WholeFile(const std::string& path) : file_(path) {}
  uint64_t size() const override { return file_.size(); }
  void read(std::span<std::byte> to) override {
    file_.read(at_, to);
    at_ += to.size();
  }

 private:
  numpy::File file_;
  uint64_t at_ = 0;
};

}  // namespace

void numpy::refuse(const std::string& path, std::string_view why) { fail("numpy", "{}: {}", path, why); }

void numpy::File::read(uint64_t offset, std::span<std::byte> to) const {
  const int64_t count = read_at(descriptor_.get(), offset, to);
  if (count < 0) refuse(path_, "cannot read: {}", std::strerror(errno));
  if (const auto found = static_cast<std::size_t>(count); found < to.size())
    refuse(path_, "ended at byte {} while it was read", offset + found);
}

Tensor load_npy(const std::string& path) {
  WholeFile file(path);
  const std::string start = read_start_of_file(path, 512), kind = foreign_kind(start);
  if (!kind.empty() && !start.starts_with("\x93NUMPY"))
    numpy::refuse(path, "expected a NumPy array (.npy), got " + kind);
  return numpy::read_array(file, path);
}

void save_npy(const std::string& path, const Tensor& tensor, const SaveNpyOptions& options) {
  const bool turn = options.fortran_order && tensor.dim() > 1;
  const std::string header = numpy::array_header(tensor, turn, path);
  const Tensor values = (turn ? numpy::turned(tensor.detach()) : tensor.detach()).contiguous();
  AtomicFile out(path);
  out.write(header);
  out.write(numpy::values_of(values));
  out.commit();
}

}  // namespace tapegrad
