// Trained decoders in files.
#include <fmt/format.h>
#include <tapegrad/autograd/io/detail/json.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/gpt/decoder.h>
#include <tapegrad/tasks/gpt/start_from.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/train/checked_file.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kDecoder = "model";

// An estimate that does not overflow.
double llama_bytes(const nn::LlamaConfig& c) {
  constexpr double kBlockBytes = 5'000;  // modules and names
  const auto width = static_cast<double>(c.hidden_size), layers = static_cast<double>(c.num_hidden_layers);
  const double heads = static_cast<double>(c.num_attention_heads + c.kv_heads()) * static_cast<double>(c.head_size());
  const double block = 2 * width * heads + 3 * width * static_cast<double>(c.intermediate_size);
  const double tables = (c.tie_word_embeddings ? 1 : 2) * static_cast<double>(c.vocab_size) * width;
  return 4 * (tables + layers * block) + kBlockBytes * layers;
}

nlohmann::json json_of_file(const fs::path& file) {
  return json::parse(train::read_file(file), [&](const std::string& why) { fail(file.string(), why); });
}

// The template of a folder's chats: of a file of its own, or of the tokenizer's settings.
std::string chat_template_of(const fs::path& folder) {
  if (is_there(folder / "chat_template.jinja")) return train::read_file(folder / "chat_template.jinja");
  if (!is_there(folder / "tokenizer_config.json")) return {};
  const nlohmann::json settings = json_of_file(folder / "tokenizer_config.json");
  const auto found = settings.is_object() ? settings.find("chat_template") : settings.end();
  return settings.is_object() && found != settings.end() && found->is_string() ? found->get<std::string>() : "";
}

// The tokens that end a text: those for generation, else those of the configuration.
std::vector<int64_t> ends_of_folder(const fs::path& folder, const std::string& config) {
  const fs::path generation = folder / "generation_config.json";
  std::vector<int64_t> ends;
  if (is_there(generation)) ends = nn::ends_of_hugging_face(train::read_file(generation), generation.string());
  return ends.empty() ? nn::ends_of_hugging_face(config, (folder / "config.json").string()) : ends;
}

TrainedDecoder llama_of_folder(const FoundModel& found, const LoadOptions& o) {
  const fs::path& folder = found.path;
  const WeightType type = o.type;
  require(o.given.empty(), fmt::format("--{}", o.given.empty() ? "" : o.given[0]),
          fmt::format("expected a GPT, got the Llama in {}", folder.string()));
  const nn::LlamaConfig config = nn::llama_config_of_hugging_face(found.config, (folder / "config.json").string());
  std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of_folder(folder, config.vocab_size, o.with_tokenizer);
  require_memory(kDecoder, fmt::format("{}: a model of its sizes", folder.string()),
                 llama_bytes(config) * share_of_memory(type));
  nn::LlamaModel model = [&] {
    const nn::init::Skip skip;
    nn::LlamaModel unfilled(config);
    if (type == WeightType::bfloat16) unfilled.store_in_bfloat16();
    if (type == WeightType::int8) unfilled.store_in_int8();
    nn::eval(unfilled);
    return unfilled;
  }();
  fill_from_folder(model, folder, [&](NamedTensor entry) { return nn::from_hugging_face({std::move(entry)}, config); });
  if (!o.adapter.empty()) {
    as_bad_request("--adapter", [&] { nn::load_adapter(model, o.adapter); });
    nn::eval(model);
  }
  std::vector<int64_t> ends = ends_of_folder(folder, found.config);
  if (ends.empty() && tokenizer && tokenizer->end_of_text()) ends.push_back(*tokenizer->end_of_text());
  return {std::move(model), std::move(tokenizer), std::move(ends), {}};
}

}  // namespace

bool TrainedDecoder::is_end(int64_t id) const { return std::find(ends.begin(), ends.end(), id) != ends.end(); }

std::string TrainedDecoder::text(std::span<const int64_t> ids) const {
  std::vector<int64_t> known;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(known), [&](int64_t id) { return id < tokenizer->size(); });
  return tokenizer->decode(known);
}

TrainedDecoder load_decoder(const std::string& name, const LoadOptions& options) {
  std::optional<FoundModel> folder;
  if (!name.empty()) folder = find_model(options.option, name);
  if (folder && folder->source != ModelSource::hugging_face) folder.reset();
  const auto trained = [&]() -> TrainedDecoder {
    if (folder && folder->model_type == "llama") return llama_of_folder(*folder, options);
    TrainedGPT gpt = load_gpt(name, options);
    std::vector<int64_t> ends;
    if (gpt.end_of_text) ends.push_back(*gpt.end_of_text);
    return {std::move(gpt.model), std::move(gpt.tokenizer), std::move(ends), {}};
  };
  TrainedDecoder found = trained();
  if (folder) found.chat_template = chat_template_of(folder->path);
  return found;
}

void save_llama_folder(const fs::path& folder, const nn::LlamaModel& model, const data::Tokenizer& tokenizer,
                       const std::vector<int64_t>& ends) {
  train::create_folder(folder);
  save_safetensors((folder / train::kModelFile).string(), nn::to_hugging_face(model), {{"format", "pt"}});
  train::replace_file(folder / "config.json",
                      nn::to_hugging_face_config(model.config, tokenizer.begin_of_text(), ends));
  data::save_tokenizer(tokenizer, folder.string());
  nlohmann::ordered_json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                  {"model_max_length", model.config.max_position_embeddings}};
  train::replace_file(folder / "tokenizer_config.json", settings.dump(2) + "\n");
}

}  // namespace tapegrad::tasks
