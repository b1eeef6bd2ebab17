// NumPy's files: .npy, or .npz for what begins like an archive. What is read, written and read again, must be equal.
#include <tapegrad/autograd/io/numpy.h>
#include <tapegrad/tests/fuzz/fuzz.h>

namespace {

using namespace tapegrad::fuzz;
using tapegrad::Tensor;

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

void fuzz(std::string_view bytes) {
  static const MemoryFile file;
  file.fill(bytes);
  reads_or_throws([&] { bytes.starts_with("PK") ? check_archive(file.path()) : check_array(file.path()); });
}
