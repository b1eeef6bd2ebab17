// config.json of Hugging Face's GPT-2 and Llama.
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tests/fuzz/fuzz.h>

using namespace tapegrad::fuzz;

void fuzz(std::string_view text) {
  reads_or_throws([&] { tapegrad::nn::gpt_config_of_hugging_face(text, "config.json").parameter_count(); });
  reads_or_throws([&] {
    const tapegrad::nn::LlamaConfig config = tapegrad::nn::llama_config_of_hugging_face(text, "config.json");
    const std::string written = tapegrad::nn::to_hugging_face_config(config);
    need(tapegrad::nn::to_hugging_face_config(tapegrad::nn::llama_config_of_hugging_face(written, "again")) == written);
  });
  reads_or_throws([&] { tapegrad::nn::ends_of_hugging_face(text, "config.json"); });
}
