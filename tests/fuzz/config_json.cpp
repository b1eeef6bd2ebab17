// config.json of Hugging Face's GPT-2.
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/tests/fuzz/fuzz.h>

using namespace tapegrad::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  reads_or_throws([&] {
    tapegrad::nn::gpt_config_of_hugging_face(text, "config.json").parameter_count();
    tapegrad::nn::end_of_text_of_hugging_face(text);
  });
  return 0;
}
