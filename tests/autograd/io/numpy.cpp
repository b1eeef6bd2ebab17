// NumPy's files: those that NumPy wrote, files that must have NumPy's bytes, and damage of every kind.
#include <tapegrad/autograd/io/detail/zip.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/special_files.h>
#include <tapegrad/tests/support/testing.h>

#include <cerrno>

namespace tapegrad::tests {
namespace {

void expect_array(const Tensor& x, const Json& expected, const std::string& what) {
  EXPECT_EQ(name(x.dtype()), expected["dtype"].get<std::string>()) << what;
  Shape shape;
  for (const Json& size : expected["shape"]) shape.push_back(size.get<int64_t>());
  ASSERT_EQ(x.shape(), shape) << what;
  EXPECT_TRUE(x.is_contiguous()) << what;
  with_stored_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    std::vector<T> values;
    for (const Json& value : expected["values"]) {
      if constexpr (std::is_floating_point_v<T>) {
        values.push_back(static_cast<T>(!value.is_string() ? value.get<double>()
                                        : value == "inf"   ? kInf
                                        : value == "-inf"  ? -kInf
                                                           : kNan));
      } else {
        values.push_back(static_cast<T>(value.get<int64_t>()));
      }
    }
    const Tensor stored = Tensor::empty(shape, dtype_of<T>());
    std::copy(values.begin(), values.end(), stored.template mutable_data<T>());
    EXPECT_TRUE(same_bits(x, stored)) << what << ": " << str(x);
  });
}

class NumPy : public testing::Test {
 protected:
  Tensor npy(const std::string& bytes) const {
    spill(path_, bytes);
    return load_npy(path_);
  }
  NamedTensors npz(const std::string& bytes) const {
    spill(path_, bytes);
    return load_npz(path_);
  }
  std::string said(const auto& f) const {
    const std::string error = error_of(f), start = "[numpy] " + path_ + ": ";
    EXPECT_EQ(error.find('\n'), std::string::npos);
    return error.starts_with(start) ? error.substr(start.size()) : error;
  }
  std::string npy_error(const std::string& bytes) const {
    return said([&] { npy(bytes); });
  }
  std::string npz_error(const std::string& bytes) const {
    return said([&] { npz(bytes); });
  }
  // A file of version 1.0 with this dictionary.
  static std::string array(const std::string& header, const std::string& data = "") {
    const auto length = static_cast<uint16_t>(header.size());
    return std::string("\x93NUMPY\x01\x00", 8) + std::string(reinterpret_cast<const char*>(&length), 2) + header + data;
  }
  std::string header_error(const std::string& header) const { return npy_error(array(header)); }

  const Json files_ = stored("numpy.json");
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "array";
};

TEST_F(NumPy, ReadsAndWritesItsArrays) {
  int written = 0;
  for (const auto& [name, file] : files_["npy"].items()) {
    const std::string bytes = bytes_of_digits(file["bytes"]);
    const Tensor x = npy(bytes);
    expect_array(x, file, name);
    if (!file["same"].get<bool>()) continue;
    save_npy(path_, x, {.fortran_order = name.starts_with("fortran")});
    EXPECT_EQ(slurp(path_), bytes) << name;
    ++written;
  }
  EXPECT_EQ(written, 12);
}

TEST_F(NumPy, ReadsItsArchives) {
  for (const auto& [name, file] : files_["npz"].items()) {
    const NamedTensors arrays = npz(bytes_of_digits(file["bytes"]));
    EXPECT_EQ(arrays.size(), file["arrays"].size()) << name;
    for (const NamedTensor& each : arrays) {
      expect_array(each.tensor, file["arrays"].at(each.name), name + "/" + each.name);
      EXPECT_TRUE(same_bits(load_npz(path_, each.name), each.tensor));
    }
  }
  EXPECT_TEXT(said([&] { load_npz(path_, "none "); }).substr(0, 51));
}

TEST_F(NumPy, WritesArchivesThatItReads) {
  const std::string bytes = bytes_of_digits(files_["npz"]["written"]["bytes"]);
  const NamedTensors arrays = npz(bytes);
  const std::string again = folder_ / "again.npz";
  save_npz(again, arrays);
  EXPECT_TRUE(slurp(again) == bytes) << "other bytes than those that NumPy has read";
  save_npz(again, {});
  EXPECT_EQ(slurp(again).size(), 22U);
  EXPECT_TRUE(load_npz(again).empty());
}

TEST_F(NumPy, StridedAndRecordedTensors) {
  Generator g(1);
  const Tensor x = randn({3, 5}, kFloat64, &g).t(), leaf = randn({2, 2}, kFloat32, &g).as_leaf();
  const Tape tape;
  save_npy(path_, x);
  EXPECT_TRUE(same_bits(load_npy(path_), x));
  save_npy(path_, x, {.fortran_order = true});
  EXPECT_TRUE(same_bits(load_npy(path_), x));
  save_npz(path_, {{"x", x}, {"leaf", leaf * 2}});
  EXPECT_TRUE(same_bits(load_npz(path_, "x"), x));
  EXPECT_TRUE(same_bits(load_npz(path_, "leaf"), leaf * 2));
}

// Arrays that do not fit are an error of one line, and those that are there stay whole.
TEST(FullDiskOfArrays, FilesAreKept) {
  const SmallDisk disk;
  // A full disk is made by mounting one, which needs root.
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  const std::string one = disk.path() + "/x.npy", several = disk.path() + "/x.npz";
  save_npy(one, ones({1000}));
  save_npz(several, {{"x", ones({1000})}});
  const std::string before = slurp(one), before_several = slurp(several);
  disk.fill();
  const std::size_t files = files_in(disk.path());
  const std::string why = ": No space left on device";
  for (const int64_t size : {1, 1000, 100'000}) {
    EXPECT_EQ(error_of([&] { save_npy(one, ones({size})); }), "[file] cannot write " + one + why);
    EXPECT_EQ(error_of([&] { save_npz(several, {{"x", ones({size})}}); }), "[file] cannot write " + several + why);
  }
  EXPECT_EQ(slurp(one), before);
  EXPECT_EQ(slurp(several), before_several);
  EXPECT_EQ(files_in(disk.path()), files) << "a temporary file stayed";
}

// Archives of more than 4 GB have 64-bit fields. With a low limit, small ones have them, too.
TEST_F(NumPy, LargeArchives) {
  const std::string first(150, 'a'), second(20, 'b');
  for (const uint64_t limit : {uint64_t{1}, uint64_t{100}, uint64_t{0xFFFFFFFF}}) {
    AtomicFile out(path_);
    zip::Writer writer(out, limit);
    writer.add("long", bytes_of(first), bytes_of(second));
    writer.add("short", {}, bytes_of(second));
    writer.finish();
    out.commit();
    const zip::Archive archive(path_);
    ASSERT_EQ(archive.entries().size(), 2U);
    for (const auto& [entry, expected] :
         {std::pair(archive.entries()[0], first + second), {archive.entries()[1], second}}) {
      std::string bytes(entry.size, '\0');
      const auto source = archive.open(entry);
      source->read(std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
      source->finish();
      EXPECT_EQ(bytes, expected);
    }
    EXPECT_EQ(slurp(path_).find("PK\x06\x06") != std::string::npos, limit < 1000);
  }
}

// ---- Damage ----

const std::string kGood = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";

TEST_F(NumPy, HeadersOfOtherWriters) {
  const std::string data("\0\0\x80\x3f\0\0\0\xc0", 8);
  for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                             "{\"shape\":(2L,),\"fortran_order\":True,\"descr\":\"=f4\"}",
                             " { 'shape' : ( 2 , ) , 'descr' : '<f4' , 'fortran_order' : False } \n"})
    EXPECT_EQ(npy(array(header, data)).to_vector<float>(), (std::vector<float>{1, -2})) << header;
}

TEST_F(NumPy, DamagedArrays) {
  const std::string start = "is not an array of NumPy: expected the bytes \\x93NUMPY at its start";
  EXPECT_EQ(npy_error(""), start);
  EXPECT_EQ(npy_error("\x93NUMPX\x01\x00 and so on"), start);
  EXPECT_EQ(npy_error("\x93NUMPY\x01"), start);
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x04\x00", 8)), "expected version 1.0, 2.0 or 3.0 of the format, got 4.0");
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x01\x01", 8)), "expected version 1.0, 2.0 or 3.0 of the format, got 1.1");
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x02\x00\x10\x00", 10)), "ends after 10 bytes, in its header");
  EXPECT_TEXT(npy_error(std::string("\x93NUMPY\x01\x00\x10\x00{", 11)));
  EXPECT_TEXT(npy_error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13)));
  EXPECT_TEXT(npy_error(array(kGood, "1234567")));
  EXPECT_EQ(npy_error(array(kGood, "123456789")), "the shape [2] of f4 needs 8 bytes, 9 follow the header");
  EXPECT_TEXT(npy_error(array("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\x01\x02")));
  EXPECT_TEXT(npy_error(array("{'descr': '>u8', 'fortran_order': False, 'shape': (), }", "\x80 234567")));
  EXPECT_ERROR(load_npy(folder_ / "none"));
}

TEST_F(NumPy, DamagedHeaders) {
  EXPECT_TEXT(header_error(""));
  for (const auto& [header, text] : pairs_of_lines("data/numpy_headers.txt"))
    EXPECT_EQ(header_error(header), text) << header;
}

// With checksums of all values, and everything else compared, no changed byte of an array is read as another array.
TEST_F(NumPy, EveryChangedByteOfAnArchiveIsFoundOrHarmless) {
  const std::size_t step = long_tests_are_wanted() ? 1 : 41;
  for (const char* kind : {"written", "deflated"}) {
    const std::string good = bytes_of_digits(files_["npz"][kind]["bytes"]);
    const NamedTensors expected = npz(good);
    for (std::size_t i = 0; i < good.size(); i += step) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (i % 2 == 0 ? 1 : 0x40));
      const std::string error = npz_error(bad);
      if (error != "no error") continue;
      const NamedTensors read = load_npz(path_);  // a date, a version, or one more comment
      ASSERT_EQ(read.size(), expected.size()) << i;
      for (std::size_t k = 0; k < read.size(); ++k) ASSERT_TRUE(same_bits(read[k].tensor, expected[k].tensor)) << i;
    }
    for (std::size_t size = 0; size < good.size(); size += step)
      EXPECT_NE(npz_error(good.substr(0, size)), "no error") << size;
  }
}

TEST_F(NumPy, DamagedArchives) {
  save_npz(path_, {{"x", ones({4})}});
  const std::string good = slurp(path_);
  const std::size_t directory = good.find("PK\x01\x02"), end = good.find("PK\x05\x06");
  const auto with = [&](std::size_t at, const std::string& bytes) {
    std::string bad = good;
    return bad.replace(at, bytes.size(), bytes);
  };
  const std::string none = "is not a .npz file, or not a whole one: it has no ZIP directory at its end";
  EXPECT_EQ(npz_error(""), none);
  EXPECT_EQ(npz_error(good.substr(0, good.size() - 1)), none);
  EXPECT_EQ(npz_error(good + "x"), none);
  EXPECT_EQ(npz_error(with(end + 16, "\xff\xff\xff\x7f")),
            "damaged: the directory has 51 bytes at byte 2147483647 of " + std::to_string(good.size()));
  EXPECT_EQ(npz_error(with(end + 16, "\xff\xff\xff\xff")), "damaged: the ZIP64 directory is missing");
  EXPECT_EQ(npz_error(with(end + 4, "\x01")), "expected an archive in one file");
  EXPECT_EQ(npz_error(with(end + 10, "\x02")), "damaged: entry 1 of its directory");
  EXPECT_EQ(npz_error(with(end + 10, std::string(1, '\0'))), "damaged: 51 bytes follow the entries of its directory");
  EXPECT_EQ(npz_error(with(directory, "x")), "damaged: entry 0 of its directory");
  EXPECT_EQ(npz_error(with(directory + 8, "\x01")), "\"x.npy\" is encrypted");
  EXPECT_TEXT(npz_error(with(directory + 10, "\x0c")));
  EXPECT_EQ(npz_error(with(directory + 24, "\x91")), "damaged: \"x.npy\" has 145 bytes, 144 of them in the archive");
  EXPECT_TEXT(npz_error(with(directory + 27, "\x01")));
  EXPECT_EQ(npz_error(with(directory + 10, "\x08")), "damaged: \"x.npy\" has fewer bytes than its entry says");
  EXPECT_EQ(npz_error(with(directory + 42, "\x01")), "damaged: the header of \"x.npy\"");
  EXPECT_EQ(npz_error(with(30, "y")), "damaged: the header of \"x.npy\"");
  EXPECT_EQ(npz_error(with(directory - 1, "\x3e")).substr(0, 36), "damaged: the checksum of \"x.npy\" is ");
  std::string text = with(30 + 2, "txt");
  text.replace(directory + 46 + 2, 3, "txt");
  EXPECT_EQ(npz_error(text), "expected only arrays (NAME.npy) in the archive, got \"x.txt\"");
  std::string inside = with(35 + 1, "X");
  EXPECT_EQ(npz_error(inside), "array \"x\": is not an array of NumPy: expected the bytes \\x93NUMPY at its start");
}

// 4 MB can expand to 4 GB.
TEST_F(NumPy, ExpandedBytesAreLimited) {
  const std::string deflated = bytes_of_digits(files_["npz"]["deflated"]["bytes"]);
  uint64_t bytes = 0;
  spill(path_, deflated);
  const zip::Archive archive(path_);
  zip::Entry one;
  for (const zip::Entry& entry : archive.entries())
    if (entry.deflated) bytes += entry.size, one = entry;
  const std::string name(one.name, 0, one.name.size() - 4);
  EXPECT_EQ(said([&] { load_npz(path_, {.max_expanded_bytes = bytes}); }), "no error");
  EXPECT_EQ(said([&] { load_npz(path_, {.max_expanded_bytes = bytes - 1}); }),
            "its compressed arrays expand to " + std::to_string(bytes) + " bytes, at most " +
                std::to_string(bytes - 1) + " are allowed (raise LoadNpzOptions::max_expanded_bytes)");
  EXPECT_EQ(said([&] { load_npz(path_, name, {.max_expanded_bytes = one.size}); }), "no error");
  EXPECT_NE(said([&] { load_npz(path_, name, {.max_expanded_bytes = one.size - 1}); }), "no error");
  save_npz(path_, {{"x", ones({100})}});  // not compressed
  EXPECT_EQ(said([&] { load_npz(path_, {.max_expanded_bytes = 0}); }), "no error");
  EXPECT_EQ(LoadNpzOptions().max_expanded_bytes, 2147483648U);
}

TEST_F(NumPy, FilesOfAnotherKind) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";
  const std::string kind = "a Git LFS pointer (run `git lfs pull` in its repository, or download the file again)";
  EXPECT_EQ(npy_error(pointer), "expected a NumPy array (.npy), got " + kind);
  EXPECT_EQ(npz_error(pointer), "expected an archive of NumPy arrays (.npz), got " + kind);
  save_npz(path_, {{"x", ones({4})}});
  EXPECT_EQ(npy_error(slurp(path_)), "expected a NumPy array (.npy), got an archive of NumPy arrays (.npz)");
  save_npy(path_, ones({4}));
  EXPECT_EQ(npz_error(slurp(path_)), "expected an archive of NumPy arrays (.npz), got a NumPy array (.npy)");
}

TEST_F(NumPy, WhatCannotBeWritten) {
  const Tensor half = ones({2}).to(kBFloat16), one = ones({1});
  const std::string why = "NumPy has no bfloat16 (convert the tensor with to(kFloat32))";
  EXPECT_EQ(said([&] { save_npy(path_, half); }), why);
  EXPECT_EQ(said([&] { save_npz(path_, {{"x", half}}); }), why);
  EXPECT_EQ(said([&] { save_npz(path_, {{"x", one}, {"x", one}}); }), "two tensors are named \"x\"");
  EXPECT_EQ(said([&] { save_npz(path_, {{std::string("a\0b", 3), one}}); }), "the name \"a\\x00b\" has a NUL byte");
  EXPECT_EQ(said([&] { save_npz(path_, {{"\xff", one}}); }), "a name is not UTF-8");
  EXPECT_TEXT(said([&] { save_npz(path_, {{std::string(60'001, 'x'), one}}); }));
  EXPECT_FALSE(std::filesystem::exists(path_));
  save_npz(path_, {{"x", one}, {"y", one}});
  std::string twice = slurp(path_);
  for (std::size_t at = 0; (at = twice.find("y.npy", at)) != std::string::npos;) twice[at] = 'x';
  EXPECT_EQ(npz_error(twice), "two arrays are named \"x\"");
}

}  // namespace
}  // namespace tapegrad::tests
