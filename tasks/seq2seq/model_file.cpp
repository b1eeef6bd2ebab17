// model.safetensors: the parameters under PyTorch's names, with settings and a checksum.
#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/model_file.h>
#include <tapegrad/tasks/train/checked_file.h>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kModel = "model";

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[(std::to_integer<int>(b) >> shift) & 15];
  return text;
}

std::vector<std::byte> from_hex(const fs::path& path, std::string_view text) {
  const auto digit = [&](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    fail(kModel, fmt::format("{}: the state of its task is not written in hexadecimal digits", path.string()));
  };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(text[i]) * 16 + digit(text[i + 1])));
  return bytes;
}

}  // namespace

void save_model(const fs::path& path, const Trainer& trainer) {
  train::save_checked(path, nn::state_dict(trainer.model()),
                      {{"config", to_json(trainer.options())},
                       {"format", "pt"},
                       {"steps", std::to_string(trainer.steps())},
                       {"task", std::string(trainer.options().info->name)},
                       {"task_state", to_hex(trainer.task().state())}});
}

TrainedModel load_model(const fs::path& path, const TaskInfo& task, ReachSettings reach, const Given& given) {
  const SafeTensors loaded = train::load_checked(path);
  const auto config = loaded.metadata.find("config");
  if (config == loaded.metadata.end()) fail(kModel, fmt::format("{}: its metadata has no \"config\"", path.string()));
  const std::string trained_for = task_of_json(path.string(), config->second);
  require(trained_for == task.name, "--model",
          fmt::format("{} was trained for the task {}, not for {}", path.string(), trained_for, task.name));
  RunOptions options = options_from_json(path.string(), config->second, task);
  override_with(fields_of(options), fields_of(reach), given);
  resolve(options);
  TrainedModel trained{options, nn::Transformer(options.model()), task.make(options)};
  nn::load_state_dict(trained.model, loaded.tensors);
  const auto state = loaded.metadata.find("task_state");
  if (state != loaded.metadata.end()) trained.task->set_state(from_hex(path, state->second));
  return trained;
}

void override_examples(TrainedModel& trained, RunOptions asked, const Given& given) {
  RunOptions options = trained.options;
  override_with(fields_of(options), example_fields(asked), given);
  resolve(options);
  if (to_json(options) == to_json(trained.options)) return;
  trained.task = options.info->make(options);
  trained.options = std::move(options);
}

}  // namespace tapegrad::tasks
