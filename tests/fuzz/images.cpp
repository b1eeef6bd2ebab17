// Images: what is read as PNG or JPEG has numbers from 0 to 255, and is the same when it is written as PNG and read
// again.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/data/image.h>

using namespace tapegrad::fuzz;

void fuzz(std::string_view input) {
  static const MemoryFile file;
  static const std::string again = new_folder() + "/again.png";
  file.fill(input);
  reads_or_throws([&] {
    const tapegrad::Tensor image = tapegrad::data::load_image(file.path());
    if (image.numel() > 1'000'000 || image.size(1) > 65'535 || image.size(2) > 65'535) return;
    tapegrad::data::save_image(again, image);
    need(same(tapegrad::data::load_image(again), image));
  });
}
