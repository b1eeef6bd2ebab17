// NumPy's files: .npy, or .npz for what begins like an archive. What is read, written and read again, must be equal.
#include <tapegrad/autograd/io/numpy.h>
#include <tapegrad/tests/fuzz/fuzz.h>

#include <cstring>

namespace {

using namespace tapegrad::fuzz;
using tapegrad::Tensor;

bool same(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape() || x.dtype() != y.dtype()) return false;
  const auto bytes = static_cast<std::size_t>(x.numel() * tapegrad::item_size(x.dtype()));
  return bytes == 0 || std::memcmp(x.raw_data(), y.raw_data(), bytes) == 0;
}

void check_array(const std::string& path) {
  static const std::string again = new_folder() + "/again.npy";
  const Tensor read = tapegrad::load_npy(path);
  for (const bool fortran_order : {false, true}) {
    tapegrad::save_npy(again, read, {.fortran_order = fortran_order});
    need(same(read, tapegrad::load_npy(again)));
  }
}

void check_archive(const std::string& path) {
  static const std::string again = new_folder() + "/again.npz";
  const tapegrad::NamedTensors read = tapegrad::load_npz(path);
  try {
    tapegrad::save_npz(again, read);
  } catch (const tapegrad::Error&) {
    return;  // names that are not written
  }
  const tapegrad::NamedTensors back = tapegrad::load_npz(again);
  need(back.size() == read.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    need(back[i].name == read[i].name && same(back[i].tensor, read[i].tensor));
    need(same(tapegrad::load_npz(again, read[i].name), read[i].tensor));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  file.fill(bytes);
  reads_or_throws([&] { bytes.starts_with("PK") ? check_archive(file.path()) : check_array(file.path()); });
  return 0;
}
