// From a table, and from a folder of images, to a model: the blocks of docs/data.md, which are read from the page
// (tests/comments/blocks.py).
// arguments: {source}/leaves.csv
#include <comments/blocks.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace fs = std::filesystem;
namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

#include "comments/docs/data_1.inc"

void table(const std::string& file) {
#include "comments/docs/data_2.inc"

#include "comments/docs/data_3.inc"
}

// Stripes, across or along, with noise.
void write_images() {
  tg::manual_seed(0);
  for (int i = 0; i < 200; ++i) {
    const std::string folder = i % 2 == 0 ? "images/across" : "images/along";
    fs::create_directories(folder);
    const tg::Tensor wave = 90 * tg::sin(tg::arange(16, tg::kFloat32) * (1 + 0.01 * i)).reshape({16, 1});
    const tg::Tensor image = 128 + (i % 2 == 0 ? wave : wave.t()) + 30 * tg::clamp(tg::randn({16, 16}), -1, 1);
    tg::data::save_image(folder + "/" + std::to_string(i) + ".png", image);
  }
}

void images() {
#include "comments/docs/data_4.inc"
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: data_model leaves.csv\n"), 2;
  table(argv[1]);
  std::fflush(stdout);
  write_images();
  images();
}
