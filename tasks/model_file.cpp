// model.safetensors: the parameters under PyTorch's names, with settings and a checksum of the whole file beside them.
#include <fmt/format.h>
#include <tapegrad/autograd/safetensors.h>
#include <tapegrad/tasks/trainer.h>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kWhere = "model";
constexpr std::string_view kNoSum = "0000000000000000";
constexpr std::string_view kSumKey = "\"checksum\":\"";

// Where the digits of the checksum stand in the file's text.
std::size_t find_sum(const fs::path& path, std::string_view file) {
  const std::size_t key = file.substr(0, std::min<std::size_t>(file.size(), std::size_t{1} << 20)).find(kSumKey);
  if (key == std::string_view::npos || key + kSumKey.size() + kNoSum.size() > file.size())
    fail(kWhere,
         fmt::format("{}: no checksum stands in its header (altered, or not written by tapegrad)", path.string()));
  return key + kSumKey.size();
}

// Of the file with zeros in the place of its checksum.
std::string sum_of(std::string file, std::size_t at) {
  file.replace(at, kNoSum.size(), kNoSum);
  return fmt::format("{:016x}", checksum(bytes_of(file)));
}

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
    fail(kWhere, fmt::format("{}: the state of its task is not written in hexadecimal digits", path.string()));
  };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(text[i]) * 16 + digit(text[i + 1])));
  return bytes;
}

}  // namespace

void save_model(const fs::path& path, const Trainer& trainer) {
  const fs::path part = path.parent_path() / fmt::format(".{}.part", path.filename().string());
  std::string file;
  try {
    save_safetensors(part.string(), nn::state_dict(trainer.model()),
                     {{"checksum", std::string(kNoSum)},
                      {"config", to_json(trainer.options())},
                      {"format", "pt"},
                      {"steps", std::to_string(trainer.steps())},
                      {"task", trainer.options().task},
                      {"task_state", to_hex(trainer.task().state())}});
    file = read_file(part);
  } catch (...) {
    detail::discard(part);
    throw;
  }
  detail::discard(part);
  const std::size_t at = find_sum(path, file);
  file.replace(at, kNoSum.size(), sum_of(file, at));
  replace_file(path, file);
}

TrainedModel load_model(const fs::path& path, std::string_view task) {
  {
    const std::string file = read_file(path);
    const std::size_t at = find_sum(path, file);
    const std::string stored = file.substr(at, kNoSum.size()), found = sum_of(file, at);
    if (stored != found)
      fail(kWhere,
           fmt::format(
               "{}: damaged: the checksum in its header is {}, that of its {} bytes is {} (truncated or altered)",
               path.string(), stored, file.size(), found));
  }
  const SafeTensors loaded = load_safetensors(path.string());
  const auto config = loaded.metadata.find("config");
  if (config == loaded.metadata.end()) fail(kWhere, fmt::format("{}: its metadata has no \"config\"", path.string()));
  const auto named = loaded.metadata.find("task");
  if (named != loaded.metadata.end() && named->second != task)
    refuse("--model", fmt::format("{} was trained for the task {}, not for {}", path.string(), named->second, task));
  RunOptions options = options_from_json(path.string(), config->second);
  if (options.task != task)
    refuse("--model", fmt::format("{} was trained for the task {}, not for {}", path.string(), options.task, task));
  settle(options);
  TrainedModel trained{options, nn::Transformer(options.model()), make_task(options)};
  nn::load_state_dict(trained.model, loaded.tensors);
  const auto state = loaded.metadata.find("task_state");
  if (state != loaded.metadata.end()) trained.task->set_state(from_hex(path, state->second));
  return trained;
}

void take_example_settings(TrainedModel& trained, const RunOptions& asked, const std::vector<std::string>& given) {
  RunOptions options = trained.options;
  take(options, asked, given);
  settle(options);
  if (to_json(options) == to_json(trained.options)) return;
  trained.options = options;
  trained.task = make_task(options);
}

}  // namespace tapegrad::tasks
