// Writes safetensors files: u64 length of the header, the header in JSON, the tensors' bytes without gaps.
#include <tapegrad/autograd/io/detail/safetensors_file.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>

namespace tapegrad {
namespace {

using namespace safetensors;

std::string_view type_name(DType dtype) { return tapegrad::detail::row_of(dtype).safetensors; }

// What becomes an entry: a tensor, or bytes.
struct Piece {
  std::string_view name;
  const Tensor* tensor;
  std::span<const std::byte> bytes;

  std::string_view type() const { return tensor ? type_name(tensor->dtype()) : "U8"; }
  int64_t width() const { return tensor ? item_size(tensor->dtype()) : 1; }
  int64_t size() const { return tensor ? tensor->numel() * width() : static_cast<int64_t>(bytes.size()); }
  Shape shape() const { return tensor ? tensor->shape() : Shape{size()}; }
  // Calls use(bytes) with the values in row-major order.
  void with_bytes(const auto& use) const {
    if (!tensor || tensor->numel() == 0) return use(bytes);
    const Tensor packed = tensor->detach().contiguous();
    use({static_cast<const std::byte*>(packed.raw_data()), static_cast<std::size_t>(size())});
  }
};

// In the order of the file.
std::vector<Piece> pieces_of(const File& file, const NamedTensors& tensors, const NamedBytes& bytes) {
  std::vector<Piece> pieces;
  for (const NamedTensor& t : tensors) pieces.push_back({t.name, &t.tensor, {}});
  for (const auto& [name, values] : bytes) pieces.push_back({name, nullptr, values});
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.width() > b.width(); });
  std::unordered_set<std::string_view> names;
  for (const Piece& p : pieces) {
    if (p.name == kMetadata) file.refuse("expected another name for a tensor, got {}", kMetadata);
    if (!names.insert(p.name).second) file.refuse("two tensors are named \"{}\"", p.name);
  }
  return pieces;
}

std::string header_of(const std::vector<Piece>& pieces, const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (text.size() > 1) text += ',';
    text.append(Json(name).dump()).append(":").append(value);
  };
  if (!metadata.empty()) add(kMetadata, Json(metadata).dump());
  int64_t offset = 0;
  std::string sizes;
  for (const Piece& p : pieces) {
    sizes.clear();
    for (const int64_t n : p.shape()) fmt::format_to(std::back_inserter(sizes), "{}{}", sizes.empty() ? "" : ",", n);
    const int64_t begin = std::exchange(offset, offset + p.size());
    add(p.name, fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", p.type(), sizes, begin, offset));
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins aligned
  return text;
}

// The value of "checksum", with zeros where the header's own belongs.
std::string checksums_of(const std::vector<Piece>& pieces) {
  std::string sums = std::string(kXxh3) + std::string(kDigits, '0') + ":";
  for (const Piece& p : pieces)
    p.with_bytes([&](std::span<const std::byte> bytes) { sums += digits_of(checksum(bytes)); });
  return sums;
}

}  // namespace

void save_safetensors(const Destination& to, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata, const SaveOptions& options) {
  const std::string path = to.path();
  const File file(path);
  const std::vector<Piece> pieces = pieces_of(file, tensors, options.bytes);
  std::map<std::string, std::string> strings = metadata;
  if (options.checksums && !strings.emplace(kChecksum, checksums_of(pieces)).second)
    file.refuse("the metadata has a \"{}\" already", kChecksum);
  std::string header;
  try {
    header = header_of(pieces, strings);
  } catch (const JsonError&) {
    file.refuse("a name or a string of the metadata is not UTF-8");
  }
  if (header.size() > json::kMaxBytes)
    file.refuse("the header would have {} bytes, at most {} are allowed", header.size(), json::kMaxBytes);
  if (options.checksums) {
    const std::size_t at = find_checksum(header);
    header.replace(at, kDigits, checksum_of_header(header, at));
  }
  const uint64_t length = header.size();
  AtomicFile out(to);
  out.write(std::as_bytes(std::span(&length, 1)));
  out.write(header);
  for (const Piece& p : pieces) p.with_bytes([&](std::span<const std::byte> bytes) { out.write(bytes); });
  out.commit();
}

}  // namespace tapegrad
