// Csv and JsonLines: columns of all kinds, missing values, datasets, and the error of every kind of damage.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::data {
namespace {

using namespace tests;
using Names = std::vector<std::string>;
using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

class TableFiles : public testing::Test {
 protected:
  Csv csv(const std::string& text, const std::vector<Column>& columns, const CsvOptions& options = {}) const {
    spill(path_, text);
    return Csv(path_, columns, options);
  }
  // The text of the error without its "[csv] PATH".
  std::string csv_error(const std::string& text, const std::vector<Column>& columns,
                        const CsvOptions& options = {}) const {
    return rest("[csv] ", error_of([&] { csv(text, columns, options); }));
  }
  JsonLines lines(const std::string& text, const std::vector<Column>& columns) const {
    spill(path_, text);
    return JsonLines(path_, columns);
  }
  std::string lines_error(const std::string& text, const std::vector<Column>& columns) const {
    return rest("[json_lines] ", error_of([&] { lines(text, columns); }));
  }
  std::string rest(const std::string& where, const std::string& error) const {
    const std::string start = where + path_;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_TRUE(error == "no error" || error.starts_with(start)) << error;
    return error.starts_with(start) ? error.substr(start.size()) : error;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "table";
};

TEST_F(TableFiles, ColumnsOfEveryKind) {
  const Csv table =
      csv("name,age,height,city,skipped\r\n"
          "Ann,31,1.7,Oslo,x\r\n"
          "\"Bo, \"\"the tall\"\"\",45, +2.05\t,Bonn,y\r\n"
          "\"two\nlines\",-7,1e-2,Oslo,z",
          {texts("name"), numbers("age", {.dtype = kInt64}), numbers("height"), classes("city")});
  EXPECT_EQ(table.size(), 3);
  EXPECT_EQ(table.texts("name"), (Names{"Ann", "Bo, \"the tall\"", "two\nlines"}));
  EXPECT_EQ(table["age"].to_vector<int64_t>(), (Ids{31, 45, -7}));
  EXPECT_EQ(table["height"].to_vector<float>(), (Floats{1.7f, 2.05f, 0.01f}));
  EXPECT_EQ(table["city"].to_vector<int64_t>(), (Ids{1, 0, 1}));
  EXPECT_EQ(table.names("city"), (Names{"Bonn", "Oslo"}));
}

TEST_F(TableFiles, NumbersAreRoundedOnce) {
  // The first lies just above the middle of two floats, which rounding to double first would hide.
  const std::string text = "x\n1.00000005960464477540\n0.1\n-0\n1e-50\n1e-42\ninf\n9007199254740993\n";
  const Csv single = csv(text, {numbers("x")}), wide = csv(text, {numbers("x", {.dtype = kFloat64})});
  const Floats x = single["x"].to_vector<float>();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(x, (Floats{0x1.000002p0f, 0.1f, 0, 0, 1e-42f, inf, 9007199254740992.f}));
  EXPECT_TRUE(std::signbit(x[2]));
  EXPECT_EQ(wide["x"].to_vector<double>(),
            (Doubles{1.00000005960464477540, 0.1, 0, 1e-50, 1e-42, inf, 9007199254740992.}));
  EXPECT_EQ(csv("x\n9223372036854775807\n-9223372036854775808\n", {numbers("x", {.dtype = kInt64})})["x"]
                .to_vector<int64_t>(),
            (Ids{kMax, kMin}));
}

TEST_F(TableFiles, MissingValues) {
  const std::string text = "x;n;c;t\n;NA;;\n2;3;b;NA\n";
  const Csv table = csv(text,
                        {numbers("x", {.missing = -1.5}), numbers("n", {.dtype = kInt64, .missing = 7}),
                         classes("c", {.missing = "a"}), texts("t", {.missing = "none"})},
                        {.separator = ';', .missing = {"", "NA"}});
  EXPECT_EQ(table["x"].to_vector<float>(), (Floats{-1.5f, 2}));
  EXPECT_EQ(table["n"].to_vector<int64_t>(), (Ids{7, 3}));
  EXPECT_EQ(table.names("c"), (Names{"a", "b"}));
  EXPECT_EQ(table.texts("t"), (Names{"none", "none"}));
  EXPECT_TRUE(std::isnan(csv("x,y\n,1\n", {numbers("x", {.missing = kNan})})["x"].item()));
  const std::string said = "the value is missing, and the column has no replacement for it";
  for (const Column& column : {numbers("x"), classes("x"), texts("x")})
    EXPECT_EQ(csv_error("y,x\n1,2\n2,\n", {column}), ", line 3, column 2 (\"x\"): " + said);
}

TEST_F(TableFiles, Formats) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(csv(mark + "\"x\",y\n1,2\n", {numbers("x")})["x"].item(), 1);
  EXPECT_EQ(csv("x,y\n\n1,2\n\r\n3,4\n\n", {numbers("y")})["y"].to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(csv("x\n1\n\n", {numbers("x", {.missing = 0})})["x"].to_vector<float>(), (Floats{1, 0}));
  EXPECT_EQ(csv("1\"5\n", {texts("b")}, {.separator = '"', .quotes = false, .header = {"a", "b"}}).texts("b"),
            (Names{"5"}));
  EXPECT_EQ(csv("1\t5'\"\n", {texts("b")}, {.separator = '\t', .quotes = false, .header = {"a", "b"}}).texts("b"),
            (Names{"5'\""}));
  EXPECT_EQ(csv("x,y\n\"\",\"a\r\nb\"\r\n", {texts("x", {.missing = "-"}), texts("y")}).texts("y"), (Names{"a\r\nb"}));
  const Csv none = csv("x,c\n", {numbers("x"), classes("c")});
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none["x"].shape(), (Shape{0}));
  EXPECT_EQ(none.names("c"), Names{});
}

TEST_F(TableFiles, ClassesOfASecondFile) {
  const Csv first = csv("c,x\nb,1\na,2\nb,3\n", {classes("c")});
  const Csv second = csv("c,x\na,1\n", {classes("c", {.names = first.names("c")})});
  EXPECT_EQ(second["c"].to_vector<int64_t>(), (Ids{0}));
  EXPECT_EQ(second.names("c"), (Names{"a", "b"}));
  EXPECT_TEXT(csv_error("c,x\nz,1\n", {classes("c", {.names = {"b", "a"}})}));
  EXPECT_EQ(csv("c\na\nb\n", {classes("c", {.names = {"b", "a"}})})["c"].to_vector<int64_t>(), (Ids{1, 0}));
}

TEST_F(TableFiles, BrokenFiles) {
  const std::vector<Column> x{numbers("x")};
  expect_said("tasks/errors/texts.txt", "csv", [&](const std::string& text) { return csv_error(text, x); });
  EXPECT_TEXT(csv_error("a,b,c,d,e,f,g,h,i,j,k,l\n", x));
  EXPECT_EQ(csv_error("x,y\n1,2\n", {numbers("x"), texts("x")}), ": the column \"x\" is to be read twice");
  EXPECT_EQ(csv_error("x\n1\n", {}), ": expected at least one column to read");
  EXPECT_TEXT(csv_error("1,2\n", x, {.header = {"x"}}));
  EXPECT_EQ(csv_error("x\n1\n" + std::string(50, '7') + "e\n", x),
            ", line 3, column 1 (\"x\"): expected a number, got \"" + std::string(40, '7') + "...\"");
  EXPECT_TEXT(csv_error("y,x\n1,5\" disk\n", x));
  for (const char* text : {"y,x\n1\r2,3\n", "y,x\n1,\"2\"\r", "y,x\n1,2\r"})
    EXPECT_EQ(csv_error(text, x).substr(18), ": a carriage return without a line feed after it") << text;
  const std::string said = ", column 2: a NUL byte (expected a text in UTF-8; is it UTF-16, or damaged?)";
  EXPECT_EQ(csv_error(std::string("y,x\n1,2\0\n", 9), x), ", line 2" + said);
  EXPECT_EQ(csv_error(std::string("y,x\n1,\"\n\0\"\n", 11), x), ", line 3" + said);
  EXPECT_ERROR(Csv(folder_ / "none", x));
}

TEST_F(TableFiles, WrongNumbers) {
  const auto said = [&](const std::string& text, DType dtype) {
    const std::string error = csv_error("x,y\n\"" + text + "\",1\n", {numbers("x", {.dtype = dtype})});
    const std::string start = ", line 2, column 1 (\"x\"): ";
    return error.starts_with(start) ? error.substr(start.size()) : error;
  };
  for (const char* text : {"1,5", "nan", "NaN", "1 2", "0x10", "++1", "+-1", "1e", "-", " "})
    EXPECT_EQ(said(text, kFloat32), "expected a number, got \"" + std::string(text) + "\"");
  for (const char* text : {"1.0", "1e3", "inf"})
    EXPECT_EQ(said(text, kInt64), "expected a whole number, got \"" + std::string(text) + "\"");
  EXPECT_EQ(said("1e39", kFloat32), "\"1e39\" is out of the range of float32");
  EXPECT_EQ(said("-1e400", kFloat64), "\"-1e400\" is out of the range of float64");
  EXPECT_EQ(said("9223372036854775808", kInt64), "\"9223372036854775808\" is out of the range of int64");
  EXPECT_EQ(said("1e39", kFloat64), "no error");
}

TEST_F(TableFiles, WrongOptions) {
  const auto said = [&](const Column& column) { return error_of([&] { csv("x,y\n1,2\n", {column}); }); };
  EXPECT_EQ(said(numbers("x", {.dtype = kBool})), "[csv] column \"x\": expected float32, float64 or int64, got bool");
  EXPECT_TEXT(said(numbers("x", {.dtype = kInt64, .missing = 0.5})));
  EXPECT_TEXT(said(classes("x", {.names = {"a", "a"}})));
  EXPECT_TEXT(said(classes("x", {.names = {"a"}, .missing = "b"})));
  EXPECT_ERROR(csv("x\n", {numbers("x")}, {.separator = '"'}));
}

TEST_F(TableFiles, ColumnsThatWereNotRead) {
  const Csv table =
      csv("x,c,t,n\n1,a,b,3\n", {numbers("x"), classes("c"), texts("t"), numbers("n", {.dtype = kInt64})});
  EXPECT_ERROR(table["y"]);
  EXPECT_ERROR(table["t"]);
  EXPECT_ERROR(table.names("x"));
  EXPECT_ERROR(table.names("t"));
  EXPECT_ERROR(table.texts("c"));
  EXPECT_ERROR(table.matrix({"x", "n"}));
  EXPECT_ERROR(table.dataset({}, "c"));
  const auto tokenizer = train_byte_pairs("a b", 257);
  EXPECT_ERROR(table.encoded("t", "x", *tokenizer));
  EXPECT_ERROR(TensorDataset(ones({2}), ones({3})));
}

// A row of a big file may begin and end anywhere in a piece of it.
TEST_F(TableFiles, BigFilesAreReadInPieces) {
  std::string text = "n,t\n";
  const int64_t rows = 150'000;
  for (int64_t i = 0; i < rows; ++i)
    text += std::to_string(i) + ",\"row \"\"" + std::string(static_cast<std::size_t>(i % 17), 'x') + "\"\"\n\"\r\n";
  ASSERT_GT(text.size(), 3U << 20);
  const Csv table = csv(text, {numbers("n", {.dtype = kInt64}), texts("t")});
  ASSERT_EQ(table.size(), rows);
  for (int64_t i = 0; i < rows; ++i) {
    ASSERT_EQ(table["n"].data<int64_t>()[i], i);
    ASSERT_EQ(table.texts("t")[static_cast<std::size_t>(i)],
              "row \"" + std::string(static_cast<std::size_t>(i % 17), 'x') + "\"\n");
  }
  EXPECT_TEXT(csv_error(text + "x,y\n", {numbers("n", {.dtype = kInt64})}));
  const std::string endless = "t\n\"" + std::string(101'000'000, 'x');
  EXPECT_TEXT(csv_error(endless, {texts("t")}));
  EXPECT_EQ(csv_error("t\n" + std::string(1'000'000, ','), {texts("t")}), ", line 2: expected at most 1000000 fields");
}

// ---- JSON ----

TEST_F(TableFiles, FieldsOfObjects) {
  const JsonLines table = lines(
      "{\"text\":\"a \\u00e9\\n\",\"stars\":4,\"label\":\"good\",\"price\":1.5,\"more\":[{}]}\r\n\n"
      "{\"label\":\"bad\",\"text\":\"\",\"price\":2,\"stars\":null}",
      {texts("text"), numbers("stars", {.dtype = kInt64, .missing = -1}), classes("label"),
       numbers("price", {.dtype = kFloat64}), numbers("year", {.missing = 0})});
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(table.texts("text"), (Names{"a \xc3\xa9\n", ""}));
  EXPECT_EQ(table["stars"].to_vector<int64_t>(), (Ids{4, -1}));
  EXPECT_EQ(table["label"].to_vector<int64_t>(), (Ids{1, 0}));
  EXPECT_EQ(table["price"].to_vector<double>(), (Doubles{1.5, 2}));
  EXPECT_EQ(table["year"].to_vector<float>(), (Floats{0, 0}));
  EXPECT_EQ(lines("", {numbers("x")}).size(), 0);
}

TEST_F(TableFiles, BrokenLines) {
  const std::string good = "{\"x\":1}\n";
  const std::vector<Column> x{numbers("x")}, whole{numbers("x", {.dtype = kInt64})}, text{texts("x")};
  expect_said("tasks/errors/texts.txt", "json lines of numbers",
              [&](const std::string& lines) { return lines_error(lines, x); });
  EXPECT_TEXT(lines_error(std::string("{\"x\":1}\0\n", 9), x));
  EXPECT_TEXT(lines_error("{\"x\":\"\xff\"}\n", text));
  EXPECT_TEXT(lines_error("{\"x\":" + std::string(100, '[') + std::string(100, ']') + "}", x));
  const std::string said = "the value is missing, and the column has no replacement for it";
  expect_said("tasks/errors/texts.txt", "json lines of whole numbers",
              [&](const std::string& lines) { return lines_error(lines, whole); });
  expect_said("tasks/errors/texts.txt", "json lines of texts",
              [&](const std::string& lines) { return lines_error(lines, text); });
  EXPECT_EQ(lines_error("{\"x\":{}}", {classes("x")}), ", line 1, field \"x\": expected a string, got {}");
  EXPECT_EQ(lines_error(good, {numbers("x"), texts("x")}), ": the field \"x\" is to be read twice");
  EXPECT_EQ(lines_error(good, {}), ": expected at least one field to read");
  EXPECT_EQ(lines_error(good + std::string(102'000'000, ' '), x), ", line 2: has more than 100000000 bytes");
}

TEST_F(TableFiles, BooleansAndLargeNumbers) {
  const JsonLines table = lines(
      "{\"y\":true,\"n\":12345678901234567890}\n{\"y\":false,\"n\":1e19}\n{\"y\":true,\"n\":18446743523953737727}\n",
      {numbers("y", {.dtype = kInt64}), numbers("n")});
  EXPECT_EQ(table["y"].to_vector<int64_t>(), (Ids{1, 0, 1}));
  // The last lies just below the middle of two floats, which rounding to double first would hide.
  EXPECT_EQ(table["n"].to_vector<float>(), (Floats{12345678901234567890.f, 1e19f, 18446742974197923840.f}));
  const JsonLines more = lines("{\"y\":true,\"n\":9223372036854775808}\n{\"y\":false,\"n\":-9223372036854775808}\n",
                               {classes("y"), numbers("n", {.dtype = kFloat64})});
  EXPECT_EQ(more["y"].to_vector<int64_t>(), (Ids{1, 0}));
  EXPECT_EQ(more.names("y"), (Names{"false", "true"}));
  EXPECT_EQ(more["n"].to_vector<double>(), (Doubles{0x1p63, -0x1p63}));
  EXPECT_EQ(lines("{\"y\":false}\n{\"y\":true}\n", {numbers("y")})["y"].to_vector<float>(), (Floats{0, 1}));
  EXPECT_TEXT(lines_error("{\"y\":true}\n", {classes("y", {.names = {"no", "yes"}})}));
}

TEST_F(TableFiles, WhatIsNotOneObjectPerLineIsNamed) {
  const std::string good = "{\"x\":1}\n", mark = "\xEF\xBB\xBF";
  const std::vector<Column> x{numbers("x")};
  expect_said("tasks/errors/texts.txt", "not one object per line",
              [&](const std::string& lines) { return lines_error(lines, x); });
  EXPECT_EQ(
      lines_error(good + "{\"y\":\"\\ud83d\",\"x\":1}\n", x),
      ", line 2: has \\ud83d, half of a surrogate pair, in a string (at byte 6; both halves write one character)");
  const std::string goes_on = " that continues in the next line (jq -c ";
  EXPECT_EQ(lines(mark + good, x).size(), 1);
  EXPECT_EQ(lines(mark + "\n" + good, x).size(), 1);
  EXPECT_EQ(lines(mark, x).size(), 0);
  EXPECT_TEXT(lines_error("{\"x\":1}" + mark + good, x));
  const std::string utf16 = "a text in UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)";
  EXPECT_EQ(lines_error(std::string("\xff\xfe{\0}\0\n\0", 8), x), ", line 1: is not JSON, but " + utf16);
  EXPECT_EQ(lines_error(std::string("{\0}\0\n\0", 6), x), ", line 1: is not JSON, but " + utf16);
  EXPECT_EQ(csv_error(std::string("x\0\n\0", 4), x), ", line 1: expected a CSV text, got " + utf16);
  EXPECT_TEXT(lines_error(std::string("\x1f\x8b\x08\0\n", 5), x));
}

// ---- Training ----

TEST_F(TableFiles, ATableTrainsAModel) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 32; ++i) {
    const int a = i % 7 - 3, b = i % 5 - 2;
    text += std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(a - 2 * b) + "\n";
  }
  const Csv table = csv(text, {numbers("a"), numbers("b"), numbers("y")});
  EXPECT_EQ(table.matrix({"b", "a"})[3].to_vector<float>(), (Floats{1, 0}));
  manual_seed(3);
  nn::Linear model(2, 1);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.05});
  DataLoader loader(table.dataset({"a", "b"}, "y"), {.batch_size = 4, .shuffle = true, .prefetch = 2});
  train::Loop loop(model, sgd, loader, [&](const auto& batch) {
    EXPECT_EQ(batch.first.shape(), (Shape{4, 2}));
    return train::BatchLoss{.loss = mse_loss(model(batch.first).reshape({-1}), batch.second)};
  });
  for (int step = 0; step < 200; ++step) loop.step();
  expect_near(round(model.weight->detach() * 1000), {1000, -2000});
}

TEST_F(TableFiles, TextsAreEncodedAndPadded) {
  const JsonLines table = lines("{\"t\":\"a b\",\"c\":\"x\"}\n{\"t\":\"b\",\"c\":\"w\"}\n", {texts("t"), classes("c")});
  const auto tokenizer = train_byte_pairs("a b a b", 257);
  const EncodedTexts encoded = table.encoded("t", "c", *tokenizer);
  EXPECT_EQ(error_of([&] { encoded[2]; }), "[table] row 2 is out of range for 2 texts");
  EXPECT_EQ(error_of([&] { encoded[-1]; }), "[table] row -1 is out of range for 2 texts");
  const DataLoader loader(encoded, {.batch_size = 2}, Pad{0});
  auto iteration = loader.begin();
  const auto batch = iteration.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->first.lengths.to_vector<int64_t>()[0], static_cast<int64_t>(tokenizer->encode("a b").size()));
  EXPECT_EQ(batch->second.to_vector<int64_t>(), (Ids{1, 0}));
}

TEST(TensorDatasets, BatchesAreRows) {
  const Tensor x = arange(0, 12, 1).reshape({4, 3}), y = tensor({5, 6, 7, 8});
  const TensorDataset pairs(x, y);
  EXPECT_EQ(pairs.size(), 4);
  EXPECT_TRUE(same_bits(pairs[2].first, x[2]));
  EXPECT_EQ(pairs[2].second.item<int64_t>(), 7);
  const DataLoader loader(pairs, {.batch_size = 3});
  auto iteration = loader.begin();
  const auto first = iteration.next(), second = iteration.next();
  EXPECT_TRUE(same_bits(first->first, x.slice(0, 0, 3)));
  EXPECT_EQ(second->second.to_vector<int64_t>(), (Ids{8}));
  EXPECT_NE(error_of([&] { pairs.batch(std::vector<int64_t>{4}); }), "no error");
}

}  // namespace
}  // namespace tapegrad::data
