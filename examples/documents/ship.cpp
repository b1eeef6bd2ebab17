// A GPT in the folder that `tapegrad train gpt --save-hugging-face gpt` writes, in a program of its own: docs/ship.md.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace tg = tapegrad;
namespace nn = tg::nn;

namespace {

// A small untrained GPT, in such a folder.
void write_folder() {
  const auto tokenizer = tg::data::make_character_tokenizer("abcdefghijklmnopqrstuvwxyz ");
  tg::manual_seed(0);
  const nn::GPTModel small({.vocab_size = tokenizer->size(),
                            .context_length = 32,
                            .emb_dim = 16,
                            .n_heads = 2,
                            .n_layers = 1,
                            .qkv_bias = true,
                            .tied_head = true});
  std::filesystem::create_directory("gpt");
  std::ofstream("gpt/config.json") << nn::to_hugging_face_config(small.config);
  tg::save_safetensors("gpt/model.safetensors", nn::to_hugging_face(small));
  tg::data::save_tokenizer(*tokenizer, "gpt");
}

// [load]
nn::GPTModel load(const std::string& folder) {
  std::ifstream file(folder + "/config.json");
  const std::string config(std::istreambuf_iterator<char>(file), {});
  const nn::init::Skip no_random_values;  // the weights are loaded next
  nn::GPTModel model(nn::gpt_config_of_hugging_face(config, folder + "/config.json"));
  nn::load_state_dict(model, nn::from_hugging_face(tg::load_safetensors(folder + "/").tensors, model.config));
  nn::eval(model);
  return model;
}
// [/load]

}  // namespace

int main() {
  write_folder();
  // [generate]
  const nn::GPTModel model = load("gpt");
  const auto tokenizer = tg::data::load_tokenizer("gpt");
  const std::vector<std::vector<int64_t>> prompts{tokenizer->encode("one and two"), tokenizer->encode("three")};
  const nn::Generated made = nn::generate_each(model, prompts, {.max_new_tokens = 10}, /*seed=*/0);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto row = made.tokens(static_cast<int64_t>(i)).to_vector<int64_t>();
    std::cout << tokenizer->decode(prompts[i]) << "|" << tokenizer->decode(row) << "\n";
  }
  // [/generate]
}
