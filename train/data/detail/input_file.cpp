#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/descriptor.h>
#include <tapegrad/train/data/detail/input_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

namespace tapegrad::data::detail {
namespace {

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  fail("file", fmt::format("cannot read {}: {}", path, std::strerror(error)));
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path), file_(open_regular_file(path, size_).release()) {}

InputFile::~InputFile() { ::close(file_); }

std::size_t InputFile::read(uint64_t offset, std::size_t count, char* out) const {
  const int64_t found = read_at(file_, offset, std::as_writable_bytes(std::span(out, count)));
  if (found < 0) fail_to_read(path_, errno);
  return static_cast<std::size_t>(found);
}

}  // namespace tapegrad::data::detail
