// Safetensors files: round trips, files of other writers, and the error for each kind of invalid file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tapegrad/autograd/io/checksum.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace tapegrad {
namespace {

namespace fs = std::filesystem;
using tests::error_of;

class SafeTensorsTest : public testing::Test {
 protected:
  void write(const std::string& bytes) const { tests::spill(path_, bytes); }
  std::string read() const { return tests::slurp(path_); }
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
  template <class F>
  std::string message(const F& f) const {
    try {
      f();
    } catch (const Error& error) {
      const std::string text = error.what(), start = "[safetensors] " + path_ + ": ";
      EXPECT_EQ(text.substr(0, start.size()), start);
      EXPECT_EQ(text.find('\n'), std::string::npos);
      return text.substr(start.size());
    }
    return "no error";
  }

  // Whether load() reads the open file with the byte `bad` at one position; an Error is one line.
  template <class F>
  static bool reads_with(int file, std::size_t at, const std::string& good, char bad, const F& load) {
    EXPECT_EQ(::pwrite(file, &bad, 1, static_cast<off_t>(at)), 1);
    const std::string error = error_of(load);
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(::pwrite(file, &good[at], 1, static_cast<off_t>(at)), 1);
    return error == "no error";
  }

  const tests::TemporaryFolder folder_;
  std::string path_ = folder_ / "model.safetensors";
};

// The header of one float32 tensor [2] with the values 1 and -2.
const std::string kOne = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
const std::string kOneData("\0\0\x80\x3f\0\0\0\xc0", 8);

TEST_F(SafeTensorsTest, RoundTrips) {
  Generator g(1);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  NamedTensors tensors{{"mask", tensor({true, false, true})},
                       {"encoder.layers.0.weight", randn({4, 6}, kFloat32, &g)},
                       {"turned", randn({3, 5}, kFloat64, &g).t()},
                       {"ids", randint(-9, 9, {2, 2, 2}, &g)},
                       {"scalar", scalar(0.5)},
                       {"nothing", Tensor::empty({0, 3})},
                       {"odd \"name\"\n\xc3\xa9", tensor({nan, inf, -inf, -0.0})}};
  save_safetensors(path_, tensors, {{"format", "pt"}, {"config", R"({"hidden":64})"}});
  const SafeTensors back = load_safetensors(path_);
  EXPECT_EQ(back.metadata.size(), 2u);
  EXPECT_EQ(back.metadata.at("config"), R"({"hidden":64})");
  ASSERT_EQ(back.tensors.size(), tensors.size());
  const char* order[] = {"turned", "ids", "encoder.layers.0.weight", "scalar", "nothing", "odd \"name\"\n\xc3\xa9",
                         "mask"};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, order[i]);
    const Tensor& was = tensors[i].tensor;
    const Tensor& is = back[tensors[i].name];
    EXPECT_EQ(is.dtype(), was.dtype());
    EXPECT_EQ(is.shape(), was.shape());
    const Tensor packed = was.contiguous();
    EXPECT_EQ(0, std::memcmp(is.raw_data(), packed.raw_data(),
                             static_cast<std::size_t>(was.numel() * item_size(was.dtype()))));
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
  write(compose("{" + kOne + "}   ", kOneData));
  EXPECT_EQ(load_safetensors(path_)["x"].to_vector<float>(), (std::vector<float>{1, -2}));
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
  EXPECT_EQ(read["I32"].to_vector<int64_t>(), (Ints{-5, 2147483647}));
  EXPECT_EQ(read["I16"].to_vector<int64_t>(), (Ints{-5, 32767}));
  EXPECT_EQ(read["I8"].to_vector<int64_t>(), (Ints{-5, 127}));
  EXPECT_EQ(read["U64"].to_vector<int64_t>(), (Ints{5, 9223372036854775807}));
  EXPECT_EQ(read["U32"].to_vector<int64_t>(), (Ints{5, 4294967295}));
  EXPECT_EQ(read["U16"].to_vector<int64_t>(), (Ints{5, 65535}));
  EXPECT_EQ(read["U8"].to_vector<int64_t>(), (Ints{5, 255}));
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
  EXPECT_EQ(refusal(index(kSecond).substr(0, 40)),
            "is not complete JSON: it ends after 40 bytes (was its download interrupted?)");
  EXPECT_EQ(refusal("[-1e999]"), "holds a number that is too large");
  EXPECT_EQ(refusal("{}"), "has no \"weight_map\" from tensors to files");
  EXPECT_EQ(refusal("[]"), "has no \"weight_map\" from tensors to files");
  EXPECT_EQ(refusal(R"({"weight_map":{}})"), "has no \"weight_map\" from tensors to files");
  for (const char* name : {"3", "\"\"", "\"../x.safetensors\"", "\"..\""}) {
    EXPECT_EQ(refusal(index(name)), "the weight_map of tensor \"b\" is not the name of a file in its folder");
  }
  EXPECT_EQ(refusal(index("\"model-00003.safetensors\"")),
            "the file model-00003.safetensors, one of 2 that it names, does not exist (was the download interrupted?)");
  EXPECT_EQ(refusal(index("\"model-00001-of-00002.safetensors\"")),
            "the tensor \"b\" is not in model-00001-of-00002.safetensors");
  write(index(kSecond));
  const fs::path second = folder_ / "model-00002-of-00002.safetensors";
  fs::resize_file(second, fs::file_size(second) - 5);
  path_ = second.string();
  EXPECT_EQ(message([&] { load_safetensors(folder_.path().string()); }),
            "tensor \"b\" ends at byte 12 of the data, of which there are 7 (truncated?)");
}

// ---- Broken files ----

TEST_F(SafeTensorsTest, InvalidFrames) {
  EXPECT_EQ(message([&] { load_safetensors(path_); }), "cannot open: No such file or directory");
  EXPECT_EQ(refusal(""), "has 0 bytes, expected at least the 8 of the header's length");
  EXPECT_EQ(refusal("1234567"), "has 7 bytes, expected at least the 8 of the header's length");
  EXPECT_EQ(refusal(std::string("\x01\0\0\0\0\0\0\x01{", 9)),
            "the header has 72057594037927937 bytes by its length, at most 100000000 are allowed");
  EXPECT_EQ(refusal(compose("{" + kOne + "}").substr(0, 30)),
            "the header has 54 bytes by its length, only 22 follow (truncated?)");
  EXPECT_EQ(refusal(compose("")), "the header does not start with '{' (is this a safetensors file?)");
  EXPECT_EQ(refusal(compose(" {}")), "the header does not start with '{' (is this a safetensors file?)");
  EXPECT_EQ(refusal(compose("{\"x\":}")), "the header is not JSON (at byte 13)");
  EXPECT_EQ(refusal(compose("{" + kOne, kOneData)),
            "the header is not complete JSON: it ends after 53 bytes (was its download interrupted?)");
  EXPECT_EQ(refusal(compose("{\"\xff\":1}")), "the header is not JSON (at byte 10)");
  EXPECT_EQ(refusal(compose("{\"x\":1e400}")), "the header holds a number that is too large");
  EXPECT_EQ(refusal(compose("{} {}")), "the header is not JSON (at byte 11)");
  EXPECT_EQ(refusal(compose("{\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}")),
            "the header is nested deeper than 8 levels");
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(message([&] { SafeTensorsFile file(path_); }), "is not a regular file");
  EXPECT_EQ(message([&] { load_safetensors(path_); }),
            "the folder has neither model.safetensors nor model.safetensors.index.json");
}

TEST_F(SafeTensorsTest, InvalidHeaders) {
  const auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return compose("{\"x\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
                   kOneData);
  };
  EXPECT_EQ(refusal(one("\"F32\"", "[2]", "[0,8]")), "no error");
  EXPECT_EQ(refusal(compose("{" + kOne + "," + kOne + "}", kOneData)), "the header has the key \"x\" twice");
  EXPECT_EQ(refusal(compose(R"({"x":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", kOneData)),
            "the header has the key \"shape\" twice");
  EXPECT_EQ(refusal(compose(R"({"x":[1]})")), "tensor \"x\" is not an object with dtype, shape and data_offsets");
  EXPECT_EQ(refusal(compose(R"({"x":{"dtype":"F32","shape":[2]}})")), "tensor \"x\" has no data_offsets");
  EXPECT_EQ(refusal(compose(R"({"x":{"dtype":"F32","data_offsets":[0,8]}})")), "tensor \"x\" has no shape");
  EXPECT_EQ(refusal(compose(R"({"x":{"shape":[2],"data_offsets":[0,8]}})")), "tensor \"x\" has no dtype");
  EXPECT_EQ(refusal(one("\"F8_E4M3\"", "[2]", "[0,8]")),
            "tensor \"x\": unknown dtype \"F8_E4M3\" (known: F32, F64, I64, BOOL, F16, BF16, I32, I16, I8, U64, U32, "
            "U16, U8)");
  EXPECT_EQ(refusal(one("32", "[2]", "[0,8]")).substr(0, 28), "tensor \"x\": unknown dtype 32");
  EXPECT_EQ(refusal(one("\"F32\"", "2", "[0,8]")), "tensor \"x\": expected a list of sizes as shape, got 2");
  EXPECT_EQ(refusal(one("\"F32\"", "[-2]", "[0,8]")),
            "tensor \"x\": expected non-negative whole numbers in shape, got -2");
  EXPECT_EQ(refusal(one("\"F32\"", "[2.0]", "[0,8]")),
            "tensor \"x\": expected non-negative whole numbers in shape, got 2.0");
  EXPECT_EQ(refusal(one("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]")),
            "tensor \"x\": shape has 9 axes, at most 8 are supported");
  EXPECT_EQ(refusal(one("\"F32\"", "[4294967296,4294967296]", "[0,8]")),
            "tensor \"x\": shape [4294967296,4294967296] overflows 64 bits");
  EXPECT_EQ(refusal(one("\"F32\"", "[18446744073709551615]", "[0,8]")),
            "tensor \"x\": shape [18446744073709551615] overflows 64 bits");
  EXPECT_EQ(refusal(one("\"F32\"", "[0,4294967296,4294967296]", "[0,0]")),
            "tensor \"x\": shape [0,4294967296,4294967296] overflows 64 bits");
  EXPECT_EQ(refusal(one("\"F32\"", "[2]", "[0,8,9]")),
            "tensor \"x\": expected [begin, end] as data_offsets, got [0,8,9]");
  EXPECT_EQ(refusal(one("\"F32\"", "[2]", "[0,1e3]")),
            "tensor \"x\": expected non-negative whole numbers in data_offsets, got 1000.0");
  EXPECT_EQ(refusal(one("\"F32\"", "[2]", "[8,0]")), "tensor \"x\": data_offsets [8,0] end before they begin");
  EXPECT_EQ(refusal(one("\"F32\"", "[3]", "[0,8]")), "tensor \"x\": F32 [3] needs 12 bytes, data_offsets [0,8] hold 8");
  EXPECT_EQ(refusal(compose(R"({"__metadata__":3})")), "__metadata__ is not an object of strings");
  EXPECT_EQ(refusal(compose(R"({"__metadata__":{"a":3}})")), "__metadata__: expected a string for \"a\", got 3");
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
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", 7)),
            "tensor \"y\" ends at byte 8 of the data, of which there are 7 (truncated?)");
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]", 11)), "3 bytes follow the last tensor");
  EXPECT_EQ(refusal(compose("{}", "12")), "2 bytes follow the last tensor");
  EXPECT_EQ(refusal(compose(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02")),
            "tensor \"x\": element 1 is the byte 2, expected 0 or 1 for BOOL");
  EXPECT_EQ(refusal(compose(R"({"x":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})", std::string(8, '\xff'))),
            "tensor \"x\": element 0 is 2^63 or more, which int64 does not hold");
}

TEST_F(SafeTensorsTest, EveryAlteredByteGivesAnErrorOrAValidFile) {
  save_safetensors(path_, {{"w", ones({2, 3})}, {"steps", ones({2}, kInt64)}, {"seen", ones({3}, kBool)}},
                   {{"format", "pt"}});
  const std::string good = read();
  const int file = ::open(path_.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  int refused = 0, read = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      const bool whole = reads_with(file, i, good, static_cast<char>(good[i] ^ change), [&] {
        for (const NamedTensor& t : load_safetensors(path_).tensors) t.tensor.to(kFloat64).to_vector<double>();
      });
      ++(whole ? read : refused);
    }
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
  EXPECT_EQ(refused({{"__metadata__", ones({1})}}), "a tensor must not be named __metadata__");
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
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1)
      << "a temporary file stayed";
}

TEST_F(SafeTensorsTest, PathsThatCannotBeWritten) {
  const std::string folder = path_, deeper = folder + "/deeper/x.safetensors";
  EXPECT_EQ(error_of([&] { save_safetensors(deeper, {}); }),
            "[file] cannot write " + deeper + ": No such file or directory");
  fs::create_directories(folder + "/full");
  EXPECT_EQ(
      error_of([&] { save_safetensors(folder, {}); }),
      "[file] cannot write " + folder + ": expected a regular file or none there, got a folder (name a file in it)");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1)
      << "a temporary file stayed";
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
  EXPECT_EQ(file.read(state).to_vector<int64_t>(), (std::vector<int64_t>{0, 255, 7}));
  EXPECT_TRUE(file.read_bytes(*file.find("none")).empty());
  EXPECT_FALSE(file.has_checksums());
  EXPECT_EQ(message([&] {
              save_safetensors(path_, {{"x", ones({2})}}, {}, {.bytes = {{"x", some_bytes()}}});
            }),
            "two tensors are named \"x\"");
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
  for (std::size_t i = 0; i < good.size(); ++i) {
    reads_with(file, i, good, static_cast<char>(good[i] ^ (i % 2 == 0 ? 1 : 0x20)), [&] {
      load_safetensors(path_);
      EXPECT_FALSE(SafeTensorsFile(path_).has_checksums()) << "byte " << i;
    });
  }
  ::close(file);
  std::string bad = good;
  bad[bad.size() - 1] ^= 1;
  EXPECT_EQ(refusal(bad).substr(0, 39), "damaged: the checksum of tensor \"state\"");
  bad = good;
  bad[bad.find("  ")] = '\t';  // valid JSON, but not the same bytes
  EXPECT_EQ(refusal(bad).substr(0, 64), "damaged, or changed by another program: the checksum of the head");
}

}  // namespace
}  // namespace tapegrad
