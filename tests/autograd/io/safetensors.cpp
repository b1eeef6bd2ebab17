// Safetensors files: round trips, files of other writers, models in several files, bytes and checksums; invalid files,
// each with its error, and writing that fails.
#include <fcntl.h>
#include <sys/resource.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/tests/support/special_files.h>
#include <tapegrad/tests/support/testing.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;

class SafeTensorsTest : public testing::Test {
 protected:
  void write(const std::string& bytes) const { spill(path_, bytes); }
  std::string read() const { return slurp(path_); }
  // A file in the order of the format: length, header, data.
  static std::string compose(const std::string& header, const std::string& data = "") {
    const uint64_t length = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    return file + header + data;
  }
  // The error of load_safetensors for these bytes, without "[safetensors] path: ".
  std::string refusal(const std::string& bytes) const {
    write(bytes);
    return message([&] { load_safetensors(path_); });
  }
  std::string message(const auto& f) const {
    const std::string text = error_of(f), start = "[safetensors] " + path_ + ": ";
    if (text == "no error") return text;
    EXPECT_EQ(text.substr(0, start.size()), start);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text.substr(start.size());
  }

  // Whether load() reads the open file with the byte `bad` at one position; an Error is one line.
  static bool reads_with(int file, std::size_t at, const std::string& good, char bad, const auto& load) {
    EXPECT_EQ(::pwrite(file, &bad, 1, static_cast<off_t>(at)), 1);
    const std::string error = error_of(load);
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(::pwrite(file, &good[at], 1, static_cast<off_t>(at)), 1);
    return error == "no error";
  }

  const TemporaryFolder folder_;
  std::string path_ = folder_ / "model.safetensors";
};

// The header of one float32 tensor [2] with the values 1 and -2, and its data.
const std::string kOne = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
const std::string kOneData("\0\0\x80\x3f\0\0\0\xc0", 8);

TEST_F(SafeTensorsTest, RoundTrips) {
  Generator g(1);
  NamedTensors tensors{{"mask", tensor({true, false, true})},
                       {"encoder.layers.0.weight", randn({4, 6}, kFloat32, &g)},
                       {"turned", randn({3, 5}, kFloat64, &g).t()},
                       {"ids", randint(-9, 9, {2, 2, 2}, &g)},
                       {"scalar", scalar(0.5)},
                       {"nothing", Tensor::empty({0, 3})},
                       {"odd \"name\"\n\xc3\xa9", tensor({kNan, kInf, -kInf, -0.0})}};
  save_safetensors(path_, tensors, {{"format", "pt"}, {"config", R"({"hidden":64})"}});
  const SafeTensors back = load_safetensors(path_);
  EXPECT_EQ(back.metadata.size(), 2u);
  EXPECT_EQ(back.metadata.at("config"), R"({"hidden":64})");
  ASSERT_EQ(back.tensors.size(), tensors.size());
  const char* order[] = {"turned", "ids", "encoder.layers.0.weight", "scalar", "nothing", "odd \"name\"\n\xc3\xa9",
                         "mask"};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, order[i]);
    EXPECT_TRUE(same_bits(back[tensors[i].name], tensors[i].tensor));
  }
  EXPECT_EQ(back.find("bias"), nullptr);
  EXPECT_THROW(back["bias"], Error);
}

TEST_F(SafeTensorsTest, TheSameTensorsGiveTheSameBytesAndTheDataIsAligned) {
  const NamedTensors tensors{{"b", ones({3}, kBool)}, {"a", ones({5})}, {"c", ones({2}, kFloat64)}};
  save_safetensors(path_, tensors, {{"z", "1"}, {"a", "2"}});
  const std::string first = read();
  save_safetensors(path_, tensors, {{"a", "2"}, {"z", "1"}});
  EXPECT_EQ(first, read());
  uint64_t header;
  std::memcpy(&header, first.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  EXPECT_EQ(first.size(), 8 + header + 16 + 20 + 3);
  EXPECT_EQ(first.substr(8, first.find_last_of('}') + 1 - 8),
            R"({"__metadata__":{"a":"2","z":"1"},"c":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
            R"("a":{"dtype":"F32","shape":[5],"data_offsets":[16,36]},)"
            R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[36,39]}})");
}

TEST_F(SafeTensorsTest, NoTensors) {
  save_safetensors(path_, {});
  const SafeTensors back = load_safetensors(path_);
  EXPECT_TRUE(back.tensors.empty());
  EXPECT_TRUE(back.metadata.empty());
  write(compose("{}"));
  EXPECT_TRUE(load_safetensors(path_).tensors.empty());
}

// ---- Files of other writers ----

TEST_F(SafeTensorsTest, AFileMadeByHand) {
  for (const std::string metadata : {"", "\"__metadata__\":null,"}) {
    write(compose("{" + metadata + kOne + "}   ", kOneData));
    const SafeTensors read = load_safetensors(path_);
    EXPECT_EQ(read["x"].to_vector<float>(), (std::vector<float>{1, -2}));
    EXPECT_TRUE(read.metadata.empty());
  }
}

TEST_F(SafeTensorsTest, UnalignedAndUnorderedTensorsAreRead) {
  write(compose(
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]},"b":{"data_offsets":[0,1],"shape":[],"dtype":"BOOL"}})",
      "\x01" + kOneData));
  const SafeTensors read = load_safetensors(path_);
  EXPECT_EQ(read.tensors[0].name, "b");
  EXPECT_TRUE(read["b"].item<bool>());
  EXPECT_EQ(read["x"].to_vector<float>(), (std::vector<float>{1, -2}));
}

TEST_F(SafeTensorsTest, NarrowTypesAreConverted) {
  std::string data, header = "{";
  std::size_t at = 0;
  const auto add = [&](const char* type, auto... values) {
    (data.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    header += std::string(at ? "," : "") + "\"" + type + "\":{\"dtype\":\"" + type + "\",\"shape\":[" +
              std::to_string(sizeof...(values)) + "],\"data_offsets\":[" + std::to_string(at) + "," +
              std::to_string(data.size()) + "]}";
    at = data.size();
  };
  const auto half = [](int bits) { return static_cast<uint16_t>(bits); };
  add("F16", half(0x3c00), half(0xc000), half(0x7bff), half(0x0001), half(0x83ff), half(0x7c00), half(0x8000),
      half(0x7e00));
  add("BF16", half(0x3f80), half(0xc000), half(0x0001), half(0x7f80));
  add("I32", int32_t{-5}, int32_t{2147483647});
  add("I16", int16_t{-5}, int16_t{32767});
  add("I8", int8_t{-5}, int8_t{127});
  add("U64", uint64_t{5}, uint64_t{9223372036854775807});
  add("U32", uint32_t{5}, uint32_t{4294967295});
  add("U16", uint16_t{5}, uint16_t{65535});
  add("U8", uint8_t{5}, uint8_t{255});
  write(compose(header + "}", data));
  const SafeTensors read = load_safetensors(path_);
  const auto h = read["F16"].to_vector<float>();
  EXPECT_EQ(std::vector<float>(h.begin(), h.begin() + 6),
            (std::vector<float>{1, -2, 65504, 0x1p-24f, -0x1.ff8p-15f, std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(h[6] == 0 && std::signbit(h[6]));
  EXPECT_TRUE(std::isnan(h[7]));
  EXPECT_EQ(read["BF16"].to_vector<float>(),
            (std::vector<float>{1, -2, 0x1p-133f, std::numeric_limits<float>::infinity()}));
  using Ints = std::vector<int64_t>;
  EXPECT_EQ(read["I32"].to_vector<int32_t>(), (std::vector<int32_t>{-5, 2147483647}));
  EXPECT_EQ(read["I16"].to_vector<int64_t>(), (Ints{-5, 32767}));
  EXPECT_EQ(read["I8"].to_vector<int64_t>(), (Ints{-5, 127}));
  EXPECT_EQ(read["U64"].to_vector<int64_t>(), (Ints{5, 9223372036854775807}));
  EXPECT_EQ(read["U32"].to_vector<int64_t>(), (Ints{5, 4294967295}));
  EXPECT_EQ(read["U16"].to_vector<int64_t>(), (Ints{5, 65535}));
  EXPECT_EQ(read["U8"].to_vector<uint8_t>(), (std::vector<uint8_t>{5, 255}));
}

TEST_F(SafeTensorsTest, TensorsAreReadOneByOne) {
  save_safetensors(path_, {{"a", ones({2})}, {"b", tensor({1, 2, 3})}}, {{"format", "pt"}});
  const SafeTensorsFile file(path_);
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.find("c"), nullptr);
  const SafeTensorsFile::Entry& b = *file.find("b");
  EXPECT_EQ(b.dtype, "I64");
  EXPECT_EQ(b.shape, (Shape{3}));
  EXPECT_EQ(b.offset + b.bytes + 8, fs::file_size(path_));
  EXPECT_EQ(file.read(b).to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

// ---- Models in several files ----

class Shards : public SafeTensorsTest {
 protected:
  void SetUp() override {
    SafeTensorsTest::SetUp();
    save_safetensors(folder_ / "model-00001-of-00002.safetensors", {{"a", ones({2})}, {"x", ones({9})}},
                     {{"format", "pt"}});
    save_safetensors(folder_ / "model-00002-of-00002.safetensors", {{"b", zeros({3})}});
    path_ = folder_ / "model.safetensors.index.json";
  }
  static std::string index(const std::string& b) {
    return R"({"metadata":{"total_size":20},"weight_map":{"a":"model-00001-of-00002.safetensors","b":)" + b + "}}";
  }
  static constexpr char kSecond[] = "\"model-00002-of-00002.safetensors\"";
};

TEST_F(Shards, AreReadByTheirIndexOrTheirFolder) {
  write(index(kSecond));
  for (const std::string& path : {path_, folder_.path().string()}) {
    const SafeTensors read = load_safetensors(path);
    EXPECT_EQ(read.tensors.size(), 2u) << "what the index does not name is left out";
    EXPECT_EQ(read["a"].numel() + read["b"].numel(), 5);
    EXPECT_EQ(read.metadata.at("format"), "pt");
  }
  save_safetensors(folder_ / "model.safetensors", {{"c", ones({2})}});
  EXPECT_EQ(load_safetensors(folder_.path().string()).tensors[0].name, "c") << "a single file is preferred to an index";
}

TEST_F(Shards, InvalidIndexes) {
  EXPECT_EQ(error_of([&] { load_safetensors(path_); }), "[file] cannot read " + path_ + ": No such file or directory");
  EXPECT_TEXT(refusal(index(kSecond).substr(0, 40)));
  EXPECT_EQ(refusal("[-1e999]"), "holds a number that is too large");
  EXPECT_EQ(refusal("{}"), "has no \"weight_map\" from tensors to files");
  EXPECT_EQ(refusal("[]"), "has no \"weight_map\" from tensors to files");
  EXPECT_EQ(refusal(R"({"weight_map":{}})"), "has no \"weight_map\" from tensors to files");
  for (const char* name : {"3", "\"\"", "\"../x.safetensors\"", "\"..\""})
    EXPECT_EQ(refusal(index(name)), "the weight_map of tensor \"b\" is not the name of a file in its folder");
  EXPECT_TEXT(refusal(index("\"model-00003.safetensors\"")));
  EXPECT_TEXT(refusal(index("\"model-00001-of-00002.safetensors\"")));
  write(index(kSecond));
  const fs::path second = folder_ / "model-00002-of-00002.safetensors";
  fs::resize_file(second, fs::file_size(second) - 5);
  path_ = second.string();
  EXPECT_TEXT(message([&] { load_safetensors(folder_.path().string()); }));
}

// ---- Many tensors ----

// Ten times as many take about ten times as long; with a search per tensor it would be a hundred times.
TEST_F(SafeTensorsTest, HeadersTakeLinearTime) {
  const Tensor one = ones({1});
  const auto seconds = [&](int count) {
    NamedTensors tensors;
    for (int i = 0; i < count; ++i) tensors.push_back({"layers." + std::to_string(i) + ".weight", one});
    double best = 1e9;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::clock_t start = std::clock();
      save_safetensors(path_, tensors);
      const SafeTensorsFile file(path_);
      for (const NamedTensor& t : tensors) EXPECT_NE(file.find(t.name), nullptr);
      best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double few = seconds(2000), many = seconds(20000);
  EXPECT_LT(many, 40 * few) << few << " s for 2,000 tensors, " << many << " s for 20,000";
}

// ---- Bytes and checksums ----

std::vector<std::byte> some_bytes() { return {std::byte{0}, std::byte{255}, std::byte{7}}; }

TEST_F(SafeTensorsTest, BytesAreEntriesOfTypeU8) {
  save_safetensors(path_, {{"x", ones({2})}}, {}, {.bytes = {{"state", some_bytes()}, {"none", {}}}});
  const SafeTensorsFile file(path_);
  ASSERT_EQ(file.entries().size(), 3u);
  const SafeTensorsFile::Entry& state = *file.find("state");
  EXPECT_EQ(state.dtype, "U8");
  EXPECT_EQ(state.shape, (Shape{3}));
  EXPECT_EQ(file.read_bytes(state), some_bytes());
  EXPECT_EQ(file.read(state).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 255, 7}));
  EXPECT_TRUE(file.read_bytes(*file.find("none")).empty());
  EXPECT_FALSE(file.has_checksums());
  EXPECT_TEXT(message([&] { save_safetensors(path_, {{"x", ones({2})}}, {}, {.bytes = {{"x", some_bytes()}}}); }));
}

// The checksums are XXH3 by its specification, at the positions that the format describes.
TEST_F(SafeTensorsTest, ChecksumsAreXxh3) {
  EXPECT_EQ(checksum({}), 0x2d06800538d394c2u);  // of no bytes, from xxHash's own test vectors
  save_safetensors(path_, {{"x", tensor({1.0, -2.0})}}, {{"a", "1"}}, {.checksums = true});
  const std::string file = read();
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  std::string header = file.substr(8, length);
  const std::string start = R"({"__metadata__":{"a":"1","checksum":"xxh3-64:)";
  ASSERT_EQ(header.substr(0, start.size()), start);
  const auto hex = [](uint64_t sum) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
    return std::string(digits);
  };
  const std::string own = header.substr(start.size(), 16), data = file.substr(8 + length);
  header.replace(start.size(), 16, 16, '0');
  EXPECT_EQ(own, hex(checksum(bytes_of(header), length)));
  EXPECT_EQ(header.substr(start.size() + 16, 18), ":" + hex(checksum(bytes_of(data))) + "\"");
  EXPECT_EQ(data.size(), 8u);
}

TEST_F(SafeTensorsTest, WithChecksumsEveryChangedByteIsFound) {
  const auto save = [&](const std::map<std::string, std::string>& metadata) {
    save_safetensors(path_, {{"w", ones({2, 3})}, {"empty", ones({0})}, {"seen", ones({3}, kBool)}}, metadata,
                     {.bytes = {{"state", some_bytes()}}, .checksums = true});
  };
  EXPECT_EQ(message([&] { save({{"checksum", "mine"}}); }), "the metadata has a \"checksum\" already");
  save({{"my\"checksum", "xxh3-64:0000000000000000:"}, {"text", "\"checksum\":\"xxh3-64:0000000000000000"}});
  EXPECT_TRUE(SafeTensorsFile(path_).has_checksums());
  const std::string good = read();
  const int file = ::open(path_.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  for (std::size_t i = 0; i < good.size(); ++i)
    reads_with(file, i, good, static_cast<char>(good[i] ^ (i % 2 == 0 ? 1 : 0x20)), [&] {
      load_safetensors(path_);
      EXPECT_FALSE(SafeTensorsFile(path_).has_checksums()) << "byte " << i;
    });
  ::close(file);
  std::string bad = good;
  bad[bad.size() - 1] ^= 1;
  EXPECT_EQ(refusal(bad).substr(0, 39), "damaged: the checksum of tensor \"state\"");
  bad = good;
  bad[bad.find("  ")] = '\t';  // valid JSON, but not the same bytes
  EXPECT_EQ(refusal(bad).substr(0, 64), "damaged, or changed by another program: the checksum of the head");
}

TEST_F(SafeTensorsTest, InvalidFrames) {
  EXPECT_EQ(message([&] { load_safetensors(path_); }), "cannot open: No such file or directory");
  EXPECT_EQ(refusal(""), "has 0 bytes, expected at least the 8 of the header's length");
  EXPECT_EQ(refusal("1234567"), "has 7 bytes, expected at least the 8 of the header's length");
  EXPECT_TEXT(refusal(std::string("\x01\0\0\0\0\0\0\x01{", 9)));
  EXPECT_TEXT(refusal(compose("{" + kOne + "}").substr(0, 30)));
  EXPECT_EQ(refusal(compose("")), "the header does not start with '{' (is this a safetensors file?)");
  EXPECT_EQ(refusal(compose(" {}")), "the header does not start with '{' (is this a safetensors file?)");
  EXPECT_EQ(refusal(compose("{\"x\":}")), "the header is not JSON (at byte 13)");
  EXPECT_TEXT(refusal(compose("{" + kOne, kOneData)));
  EXPECT_TEXT(refusal(compose("{\"\xff\":1}")));
  EXPECT_EQ(refusal(compose("{\"x\":1e400}")), "the header holds a number that is too large");
  EXPECT_EQ(refusal(compose("{} {}")), "the header is not JSON (at byte 11)");
  for (const std::string& tail : {std::string(1, '\0'), std::string("\0{}", 3), std::string("\0x", 2)})
    EXPECT_TEXT(refusal(compose("{" + kOne + "}" + tail, kOneData)));
  EXPECT_EQ(refusal(compose("{" + kOne + "}  \n", kOneData)), "no error");
  EXPECT_TEXT(refusal(compose("{\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}")));
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(message([&] { SafeTensorsFile file(path_); }), "is not a regular file");
  EXPECT_TEXT(message([&] { load_safetensors(path_); }));
}

TEST_F(SafeTensorsTest, InvalidHeaders) {
  for (const auto& [header, text] : pairs_of_lines("data/safetensors_headers.txt"))
    EXPECT_EQ(refusal(compose(header, kOneData)), text) << header;
}

TEST_F(SafeTensorsTest, FilesOfAnotherKind) {
  const std::string got = "expected a safetensors file, got ";
  EXPECT_EQ(refusal("<!DOCTYPE html><html>"), got + "an HTML page (does its address lead to a page, or need a login?)");
  EXPECT_EQ(refusal(R"({"model_type":"gpt2"})"), got + "a JSON text");
  EXPECT_EQ(refusal("Entry not found"), got + "a text that begins with \"Entry not found\"");
  EXPECT_EQ(refusal("404: Not Found\nmore"), got + "a text that begins with \"404: Not Found\"");
  EXPECT_EQ(refusal("PK\3\4" + std::string(200, '\1')), got + "a ZIP archive (unzip it first)");
  // What is cut is not taken for another file because of the length of its header.
  EXPECT_TEXT(refusal(std::string("\x80\x02\0\0\0\0\0\0{\"x\"", 12)));
  fs::remove(path_);
  spill(folder_ / "model.bin", "x");
  EXPECT_TEXT(message([&] { load_safetensors(path_); }));
  fs::create_directory(path_);
  spill(path_ + "/pytorch_model.bin", "x");
  EXPECT_EQ(message([&] { load_safetensors(path_); }),
            "the folder has neither model.safetensors nor model.safetensors.index.json, but pytorch_model.bin (in "
            "Python: AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(OUT) writes safetensors)");
}

TEST_F(SafeTensorsTest, InvalidData) {
  const auto two = [](const std::string& x, const std::string& y, std::size_t bytes) {
    return compose(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":)" + x +
                       R"(},"y":{"dtype":"U8","shape":[4],"data_offsets":)" + y + "}}",
                   std::string(bytes, '\0'));
  };
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", 8)), "no error");
  EXPECT_EQ(refusal(two("[0,4]", "[3,7]", 8)), "tensors \"x\" and \"y\" overlap at byte 3 of the data");
  EXPECT_EQ(refusal(two("[0,4]", "[0,4]", 4)), "tensors \"x\" and \"y\" overlap at byte 0 of the data");
  EXPECT_EQ(refusal(two("[0,4]", "[6,10]", 10)), "bytes 4 to 5 of the data, before tensor \"y\", belong to no tensor");
  EXPECT_EQ(refusal(two("[5,9]", "[1,5]", 9)), "bytes 0 to 0 of the data, before tensor \"y\", belong to no tensor");
  EXPECT_TEXT(refusal(two("[0,4]", "[4,8]", 7)));
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", 11)), "3 bytes follow the last tensor");
  EXPECT_EQ(refusal(compose("{}", "12")), "2 bytes follow the last tensor");
  EXPECT_TEXT(refusal(compose(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02")));
  EXPECT_TEXT(refusal(compose(R"({"x":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})", std::string(8, '\xff'))));
}

TEST_F(SafeTensorsTest, EveryAlteredByteGivesAnErrorOrAValidFile) {
  save_safetensors(path_, {{"w", ones({2, 3})}, {"steps", ones({2}, kInt64)}, {"seen", ones({3}, kBool)}},
                   {{"format", "pt"}});
  const std::string good = read();
  const int file = ::open(path_.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  int refused = 0, read = 0;
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      const bool whole = reads_with(file, i, good, static_cast<char>(good[i] ^ change), [&] {
        for (const NamedTensor& t : load_safetensors(path_).tensors) t.tensor.to(kFloat64).to_vector<double>();
      });
      ++(whole ? read : refused);
    }
  EXPECT_NO_THROW(load_safetensors(path_));
  for (std::size_t size = good.size(); size-- > 0;) {
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0);
    EXPECT_THROW(load_safetensors(path_), Error) << size;
  }
  ::close(file);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);
}

// ---- Writing that fails ----

TEST_F(SafeTensorsTest, NamesThatCannotBeWritten) {
  const auto refused = [&](const NamedTensors& tensors) { return message([&] { save_safetensors(path_, tensors); }); };
  EXPECT_EQ(refused({{"a", ones({1})}, {"b", ones({1})}, {"a", ones({1})}}), "two tensors are named \"a\"");
  EXPECT_EQ(refused({{"__metadata__", ones({1})}}), "expected another name for a tensor, got __metadata__");
  EXPECT_EQ(refused({{"\xff", ones({1})}}), "a name or a string of the metadata is not UTF-8");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SafeTensorsTest, AFullDiskLeavesTheOldFileUntouched) {
  save_safetensors(path_, {{"x", ones({4})}});
  const std::string before = read();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string said = error_of([&] { save_safetensors(path_, {{"x", ones({100000})}}); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(said, "[file] cannot write " + path_ + ": File too large");
  EXPECT_EQ(before, read());
  EXPECT_EQ(files_in(folder_.path()), 1U) << "a temporary file stayed";
}

TEST_F(SafeTensorsTest, PathsThatCannotBeWritten) {
  const std::string folder = path_, deeper = folder + "/deeper/x.safetensors";
  EXPECT_ERROR(save_safetensors(deeper, {}));
  fs::create_directories(folder + "/full");
  EXPECT_ERROR(save_safetensors(folder, {}));
  EXPECT_EQ(files_in(folder_.path()), 1U) << "a temporary file stayed";
}

}  // namespace
}  // namespace tapegrad::tests
