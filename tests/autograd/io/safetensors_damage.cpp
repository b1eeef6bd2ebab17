// Invalid safetensors files, each with its error, and writing that fails.
#include <fcntl.h>
#include <sys/resource.h>
#include <tapegrad/tests/support/safetensors_test.h>
#include <tapegrad/tests/support/testing.h>
#include <unistd.h>

#include <csignal>

namespace tapegrad {
namespace {

namespace fs = std::filesystem;
using namespace tests;

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
  EXPECT_EQ(message([&] { load_safetensors(path_); }),
            "there is no such file, only model.bin, a file of torch.save (save it as safetensors in Python)");
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

}  // namespace
}  // namespace tapegrad
