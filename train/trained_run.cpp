// Makes the model that the settings in a model file describe, and fills it.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/nn/lora.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/files.h>
#include <tapegrad/train/files/internal/checked_file.h>
#include <tapegrad/train/internal/settings_json.h>
#include <tapegrad/train/trained_run.h>

#include <algorithm>

namespace tapegrad::train {
namespace {

constexpr std::string_view kLoadRun = "load_run";

// A model file, and what it says about itself.
struct ModelFile {
  std::string path;
  SafeTensors contents;
  std::string task = {};
  Json settings = {};

  const std::string& text(const std::string& key) const {
    const auto found = contents.metadata.find(key);
    if (found == contents.metadata.end())
      fail(kLoadRun,
           "{}: its metadata has no \"{}\" (if your own program wrote it, load it with nn::load_state_dict into the "
           "same struct)",
           path, key);
    return found->second;
  }
  void read(const nn::Fields& fields) const { read_settings("config", settings, fields); }
};

ModelFile open_model(const fs::path& path) {
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  const fs::path file = folder ? path / kModelFile : path;
  if (folder && fs::exists(path / "config.json", none))
    fail(kLoadRun,
         "expected the folder of a run, got {}, a Hugging Face folder (nn::from_hugging_face reads its weights)",
         path.string());
  if (!fs::exists(file, none))
    fail(kLoadRun, "there is no {} (train first: tapegrad train gpt --out {})", file.string(),
         folder ? path.string() : "DIR");
  ModelFile model{file.string(), load_checked(file.string())};
  model.task = task_of_json(model.path, model.text("config"));
  model.settings = parse_settings(model.path, model.text("config"), model.task);
  return model;
}

// The positions and the form of attention, which all kinds of models have.
void read_positions_and_attention(const ModelFile& file, auto& config) {
  std::string positions = "learned", attention = "full";
  std::vector<nn::AttentionChoice> forms = nn::attention_forms();
  nn::Fields fields;
  fields.add({.name = "positions"}, positions);
  fields.add({.name = "attention"}, attention);
  nn::list_positions(positions, config.position_options, fields);
  for (nn::AttentionChoice& form : forms) form.list(fields);
  file.read(fields);
  config.positions = nn::positions_named(positions);
  config.attention = nn::attention_named(attention);
  for (const nn::AttentionChoice& form : forms)
    if (form.name() == attention) config.attention = form;
}

// Error for more layers than the file has tensors: they would be made for nothing.
void require_layers(const ModelFile& file, int64_t layers) {
  const std::size_t tensors = file.contents.tensors.size();
  if (layers > static_cast<int64_t>(tensors))
    fail("config", "expected at most {} layers, the number of tensors, got {}", tensors, layers);
}

// The low-rank updates of a run that kept them apart from the weights.
void add_lora(const ModelFile& file, nn::AnyDecoder& model) {
  nn::LoraOptions lora;
  bool merged = false;
  lora.rank = 0;
  nn::Fields fields;
  fields.add({.name = "lora-rank"}, lora.rank);
  fields.add({.name = "lora-alpha"}, lora.alpha);
  fields.add({.name = "lora-targets"}, lora.targets);
  fields.add({.name = "lora-merge"}, merged);
  file.read(fields);
  if (lora.rank > 0 && !merged)
    nn::lora(model, lora, model.as<nn::GPTModel>() != nullptr ? nn::gpt2_adapter_names : nn::AdapterNames());
}

nn::AnyDecoder decoder_of(const ModelFile& file, int64_t tokens, std::vector<int64_t>& ends) {
  nn::AnyDecoder model = [&]() -> nn::AnyDecoder {
    if (const Json& llama = file.settings["llama"]; llama.is_string()) {
      const auto text = llama.get<std::string>();
      const nn::LlamaConfig config = nn::llama_config_of_hugging_face(text, "config");
      ends = nn::ends_of_hugging_face(text, "config");
      require_layers(file, config.num_hidden_layers);
      return nn::LlamaModel(config);
    }
    nn::GPTConfig config{.vocab_size = 0, .context_length = 256};
    file.read(nn::fields_of(config));
    read_positions_and_attention(file, config);
    if (config.vocab_size == 0) config.vocab_size = tokens;
    require_layers(file, config.n_layers);
    return nn::GPTModel(config);
  }();
  add_lora(file, model);
  if (const WeightFormat* quantised = nn::quantized_format(file.contents.tensors)) nn::store(model, quantised->name);
  return model;
}

nn::Transformer transformer_of(const ModelFile& file) {
  nn::TransformerConfig config;
  nn::Fields fields = nn::fields_of(config);
  fields["dropout_prob"].name = "dropout";
  file.read(fields);
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = config.dropout_prob;
  read_positions_and_attention(file, config);
  require_layers(file, config.num_hidden_layers);
  return nn::Transformer(config);
}

}  // namespace

TrainedRun load_run(const fs::path& folder) {
  const ModelFile file = open_model(folder);
  const bool gpt = file.task == "gpt";
  std::unique_ptr<data::Tokenizer> tokenizer = gpt ? data::parse_tokenizer(file.text("tokenizer"), file.path) : nullptr;
  const nn::init::Skip no_random_values;
  try {
    if (gpt) {
      std::vector<int64_t> ends;
      if (const auto end = tokenizer->end_of_text()) ends.push_back(*end);
      nn::AnyDecoder model = decoder_of(file, tokenizer->size(), ends);
      nn::load_state_dict(model, nn::stored_state(nn::without_masks(file.contents.tensors), model));
      nn::eval(model);
      TrainedRun run(file.task, std::move(model));
      run.tokenizer_ = std::move(tokenizer);
      run.ends_ = std::move(ends);
      return run;
    }
    const NamedTensors& tensors = file.contents.tensors;
    if (std::ranges::find(tensors, "generator.weight", &NamedTensor::name) != tensors.end()) {
      nn::Transformer model = transformer_of(file);
      nn::load_state_dict(model, tensors);
      nn::eval(model);
      TrainedRun run(file.task, std::move(model));
      // The setting of a task whose token 0 is no padding.
      run.hides_padding_ = file.settings["tutorial_masks"] != Json(false);
      return run;
    }
  } catch (const Error& e) {
    fail(kLoadRun, "{}: {}", file.path, e.what());
  }
  fail(kLoadRun, "{}: expected the run of a GPT, a Llama or an encoder-decoder Transformer, got a run of {}", file.path,
       file.task);
}

template <class T>
const T& TrainedRun::as(std::string_view expected) const {
  if (const T* model = std::get_if<T>(&model_)) return *model;
  fail("TrainedRun", "expected the run of {}, got a run of {}", expected, task_);
}

const nn::Decoder& TrainedRun::decoder() const { return *as<nn::AnyDecoder>("a GPT or Llama"); }

const data::Tokenizer& TrainedRun::tokenizer() const {
  decoder();
  return *tokenizer_;
}

std::vector<int64_t> TrainedRun::encode(std::string_view prompt) const {
  std::vector<int64_t> ids = tokenizer().encode(prompt);
  if (const auto begin = tokenizer_->begin_of_text()) {
    ids.insert(ids.begin(), *begin);
  } else if (ids.empty() && tokenizer_->end_of_text()) {
    ids.push_back(*tokenizer_->end_of_text());
  }
  return ids;
}

std::string TrainedRun::generate(std::string_view prompt, nn::GenerateOptions options) const {
  const std::vector<int64_t> ids = encode(prompt);
  if (ids.empty()) fail("TrainedRun", "expected a prompt of at least one token, got none");
  const auto is_end = [this](int64_t id) { return std::ranges::find(ends_, id) != ends_.end(); };
  if (!ends_.empty() && !options.end_token) options.end_token = ends_[0];
  auto stop = std::move(options.stop);
  options.stop = [&](std::span<const int64_t> row) { return is_end(row.back()) || (stop && stop(row)); };
  nn::DecoderNext next(decoder());
  const nn::Generated found = nn::generate(next, tensor(ids, {1, static_cast<int64_t>(ids.size())}), options);
  std::vector<int64_t> tokens = found.tokens.slice(1, 0, found.lengths[0]).contiguous().to_vector<int64_t>();
  // The tokens that end a text, and those that only pad the model's vocabulary, have no text.
  std::erase_if(tokens, [&](int64_t id) { return is_end(id) || id >= tokenizer_->size(); });
  return tokenizer_->decode(tokens);
}

const nn::Transformer& TrainedRun::transformer() const { return as<nn::Transformer>("an encoder-decoder Transformer"); }

Tensor TrainedRun::answers(const Tensor& source, int64_t length) const {
  return nn::greedy_decode(transformer(), source, hides_padding_ ? nn::padding_mask(source) : Tensor(), length);
}

}  // namespace tapegrad::train
