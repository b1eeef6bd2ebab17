// Writes and reads checkpoints.
// build: fuzzed
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/train/checkpoint.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/files/internal/checked_file.h>
#include <tapegrad/train/files/internal/shards.h>
#include <utf8.h>

#include <charconv>

namespace tapegrad::train {
namespace {

constexpr std::string_view kCheckpoint = "checkpoint";
constexpr const char *kKind = "kind", *kThisKind = "tapegrad checkpoint", *kInShards = "tapegrad checkpoint in shards";
constexpr const char* kShards = "shards";
// The first bytes of the format before this one, which was not safetensors.
constexpr std::string_view kOldMagic = "tapegrad checkpoint 1\n";

bool is_old(const std::string& path) {
  return kind_of_file(path) == FileKind::file && read_start_of_file(path, kOldMagic.size()) == kOldMagic;
}

// --- model files ---

// The checksum of tapegrad 0.1.0: 16 hexadecimal digits and nothing else.
bool has_old_checksum(const SafeTensorsFile& file) {
  const auto found = file.metadata().find("checksum");
  return found != file.metadata().end() && found->second.size() == 16 &&
         found->second.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

void Checkpoint::add(std::string_view prefix, const NamedTensors& named) {
  for (const NamedTensor& entry : named) tensors.push_back({std::string(prefix) + entry.name, entry.tensor});
}

NamedTensors Checkpoint::with_prefix(std::string_view prefix) const {
  NamedTensors out;
  for (const NamedTensor& entry : tensors)
    if (entry.name.starts_with(prefix)) out.push_back({entry.name.substr(prefix.size()), entry.tensor});
  if (shards) shards->read_whole(prefix, out);
  return out;
}

void Checkpoint::add(std::string_view name, const Generator& generator) {
  bytes.insert_or_assign(std::string(name), generator.state());
}

void Checkpoint::restore(std::string_view name, Generator& generator) const { generator.set_state(bytes_named(name)); }

const std::vector<std::byte>& Checkpoint::bytes_named(std::string_view name) const {
  const auto found = bytes.find(name);
  if (found == bytes.end()) fail(kCheckpoint, "it has no bytes named \"{}\"", name);
  return found->second;
}

void Checkpoint::set_text(std::string_view name, std::string_view value) {
  for (const std::string_view text : {name, value})
    if (!utf8::is_valid(text.begin(), text.end()))
      fail(kCheckpoint, "expected the field \"{}\" in UTF-8 (put other bytes into `bytes`)", data::valid_utf8(name));
  fields.insert_or_assign(std::string(name), std::string(value));
}

std::string Checkpoint::text_of(double value) { return fmt::format("{}", value); }

template <class T>
T Checkpoint::get(std::string_view name) const {
  const auto found = fields.find(std::string(name));
  if (found == fields.end()) fail(kCheckpoint, "it has no field \"{}\"", name);
  const std::string& text = found->second;
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(kCheckpoint, "expected {} as field \"{}\", got \"{}\"",
           std::is_integral_v<T> ? "a whole number" : "a number", name, text.substr(0, 80));
    }
    return value;
  }
}
template int64_t Checkpoint::get(std::string_view) const;
template uint64_t Checkpoint::get(std::string_view) const;
template double Checkpoint::get(std::string_view) const;
template std::string Checkpoint::get(std::string_view) const;

void Checkpoint::save(const Destination& to) const {
  std::map<std::string, std::string> metadata = fields;
  const auto add = [&](const char* name, const std::string& text) {
    if (!metadata.emplace(name, text).second) fail(kCheckpoint, "expected another name for a field, got \"{}\"", name);
  };
  add(kKind, shards ? kInShards : kThisKind);
  if (shards) add(kShards, shards->text());
  save_safetensors(to, tensors, metadata, {.bytes = bytes, .checksums = true});
}

Checkpoint Checkpoint::load(const std::string& path) {
  Checkpoint out = open(path);
  if (out.shards) out.shards->read_whole("", out.tensors);
  out.shards = nullptr;
  return out;
}

Checkpoint Checkpoint::open(const std::string& path) {
  if (is_old(path)) {
    fail(kCheckpoint,
         "{}: written by tapegrad 0.1.0 in the format before safetensors, which this version does not read (finish the "
         "run with that version, or start a new one)",
         path);
  }
  const SafeTensorsFile file(path);
  const auto kind = file.metadata().find(kKind);
  const bool in_shards = kind != file.metadata().end() && kind->second == kInShards;
  if (!file.has_checksums() || kind == file.metadata().end() || (!in_shards && kind->second != kThisKind))
    fail(kCheckpoint, "{}: not a checkpoint of tapegrad, or damaged in its header", path);
  Checkpoint out;
  out.fields = file.metadata();
  out.fields.erase(kKind);
  out.fields.erase("checksum");
  if (in_shards) out.shards = std::make_shared<detail::Shards>(path, out.get<std::string>(kShards));
  if (in_shards) out.fields.erase(kShards);
  for (const SafeTensorsFile::Entry& entry : file.entries()) {
    if (entry.dtype == "U8") {
      out.bytes.emplace(entry.name, file.read_bytes(entry));
    } else {
      out.tensors.push_back({entry.name, file.read(entry)});
    }
  }
  return out;
}

// --- model files ---

void save_checked(const Destination& to, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  save_safetensors(to, tensors, metadata, {.checksums = true});
}

SafeTensors load_checked(const std::string& path) {
  const SafeTensorsFile file(path);
  if (!file.has_checksums() && !has_old_checksum(file))
    fail("model", "{}: its header has no checksum (damaged, or not written by tapegrad?)", path);
  SafeTensors out{{}, file.metadata()};
  for (const SafeTensorsFile::Entry& entry : file.entries()) out.tensors.push_back({entry.name, file.read(entry)});
  return out;
}

}  // namespace tapegrad::train
