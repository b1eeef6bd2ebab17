// Reads whole models: one safetensors file, the shards that an index names, or whichever of them a folder holds.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/detail/safetensors_file.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>

#include <filesystem>

namespace tapegrad {
namespace {

namespace fs = std::filesystem;
using namespace safetensors;

constexpr std::string_view kOneFile = "model.safetensors", kIndexFile = "model.safetensors.index.json";

// From shard to the tensors that are read from it.
using Shards = std::map<std::string, std::vector<std::string>>;

Shards read_index(const File& file) {
  const auto refuse = [&](const std::string& why) { file.refuse("{}", why); };
  const Json json = json::parse(read_file(file.path(), json::kMaxBytes), refuse);
  const Json& map = json["weight_map"];
  if (!map.is_object() || map.empty()) file.refuse("has no \"weight_map\" from tensors to files");
  Shards shards;
  for (const auto& [tensor, value] : map.items()) {
    const std::string shard = value.is_string() ? value.get<std::string>() : "";
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos) {
      file.refuse("the weight_map of tensor \"{}\" is not the name of a file in its folder", tensor);
    }
    shards[shard].push_back(tensor);
  }
  return shards;
}

using Metadata = std::map<std::string, std::string>;
using Take = InplaceFunction<void(const SafeTensorsFile&, const SafeTensorsFile::Entry&)>;

Metadata read_shards(const std::string& path, Take& take) {
  const File index(path);
  const Shards shards = read_index(index);
  const fs::path folder = fs::path(path).parent_path();
  for (const auto& [shard, tensors] : shards) {
    if (!is_there((folder / shard).string())) {
      index.refuse("the file {}, one of {} that it names, does not exist (was the download interrupted?)", shard,
                   shards.size());
    }
  }
  Metadata metadata;
  for (const auto& [shard, tensors] : shards) {
    const SafeTensorsFile file((folder / shard).string());
    for (const std::string& name : tensors) {
      const SafeTensorsFile::Entry* const entry = file.find(name);
      if (!entry) index.refuse("the tensor \"{}\" is not in {}", name, shard);
      take(file, *entry);
    }
    metadata.insert(file.metadata().begin(), file.metadata().end());
  }
  return metadata;
}

// Each entry of all files, in order.
Metadata for_each_entry(const std::string& path, Take& take) {
  if (kind_of_file(path) == FileKind::folder) {
    for (const std::string_view name : {kOneFile, kIndexFile}) {
      const std::string file = (fs::path(path) / name).string();
      if (is_there(file)) return for_each_entry(file, take);
    }
    for (const char* other :
         {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"}) {
      if (is_there((fs::path(path) / other).string()))
        File(path).refuse(
            "the folder has neither {} nor {}, but {} (in Python: "
            "AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(OUT) writes safetensors)",
            kOneFile, kIndexFile, std::string_view(other));
    }
    File(path).refuse("the folder has neither {} nor {}", kOneFile, kIndexFile);
  }
  if (path.ends_with(".json")) return read_shards(path, take);
  const SafeTensorsFile file(path);
  for (const SafeTensorsFile::Entry& entry : file.entries()) take(file, entry);
  return file.metadata();
}

}  // namespace

const Tensor* SafeTensors::find(std::string_view name) const {
  for (const NamedTensor& t : tensors) {
    if (t.name == name) return &t.tensor;
  }
  return nullptr;
}

const Tensor& SafeTensors::operator[](std::string_view name) const {
  const Tensor* const found = find(name);
  if (!found) fail("safetensors", "no tensor \"{}\" among the {} that were read", name, tensors.size());
  return *found;
}

Metadata read_safetensors(const std::string& path, InplaceFunction<void(NamedTensor)> take) {
  Take read = [&](const SafeTensorsFile& file, const SafeTensorsFile::Entry& e) { take({e.name, file.read(e)}); };
  return for_each_entry(path, read);
}

std::size_t count_safetensors(const std::string& path) {
  std::size_t count = 0;
  Take take = [&](const SafeTensorsFile&, const SafeTensorsFile::Entry&) { ++count; };
  for_each_entry(path, take);
  return count;
}

SafeTensors load_safetensors(const std::string& path) {
  SafeTensors out;
  out.metadata = read_safetensors(path, [&out](NamedTensor t) { out.tensors.push_back(std::move(t)); });
  return out;
}

}  // namespace tapegrad
