// The fixture of tests of safetensors files.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace tapegrad::tests {

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
inline const std::string kOne = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
inline const std::string kOneData("\0\0\x80\x3f\0\0\0\xc0", 8);

}  // namespace tapegrad::tests
