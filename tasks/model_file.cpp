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
                      {"task", trainer.options().task}});
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
  RunOptions options = options_from_json(path.string(), config->second);
  if (options.task != task)
    refuse("--model", fmt::format("{} was trained for the task {}, not for {}", path.string(), options.task, task));
  settle(options);
  TrainedModel trained{options, nn::Transformer(options.model())};
  nn::load_state_dict(trained.model, loaded.tensors);
  return trained;
}

void set_length(RunOptions& options, std::int64_t seq_length) {
  options.seq_length = seq_length;
  settle(options);
}

}  // namespace tapegrad::tasks
