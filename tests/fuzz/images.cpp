// Images: what is read as PNG or JPEG has numbers from 0 to 255, and is the same when it is written as PNG and read
// again.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/data/image.h>

#include <cstring>

using namespace tapegrad::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  static const std::string again = new_folder() + "/again.png";
  file.fill({reinterpret_cast<const char*>(data), size});
  reads_or_throws([&] {
    const tapegrad::Tensor image = tapegrad::data::load_image(file.path());
    if (image.numel() > 1'000'000 || image.size(1) > 65'535 || image.size(2) > 65'535) return;
    tapegrad::data::save_image(again, image);
    const tapegrad::Tensor back = tapegrad::data::load_image(again);
    need(back.shape() == image.shape());
    need(std::memcmp(back.raw_data(), image.raw_data(), static_cast<std::size_t>(4 * image.numel())) == 0);
  });
  return 0;
}
