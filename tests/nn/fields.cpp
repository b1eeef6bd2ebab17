// The declarations of a configuration's members: limits, names, texts, and what follows from them.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

enum class Colour : uint8_t { red, green, blue };
constexpr std::string_view kColours[] = {"red", "green", "blue"}, kWarm[] = {"red"}, kOrders[] = {"pre", "post"};

struct Sample {
  int64_t size = 3, count = 0;
  double share = 0.5, rate = 0.1;
  Colour colour = Colour::red, warm = Colour::red;
  bool flag = false, post = false;
  std::vector<std::string> words = {"a", "b"};
  std::optional<int64_t> limit = {};
  std::optional<std::string> word = {};

  void list(nn::Fields& f) {
    f.add({.name = "size", .help = "of all", .limits = nn::kPositive}, size);
    f.add({.name = "item_count",
           .help = "how many",
           .group = "Data",
           .limits = {.least = 0, .most = 10},
           .special = "0: all"},
          count);
    f.add({.name = "share", .help = "of one", .limits = nn::kShare}, share);
    f.add({.name = "rate", .help = "", .limits = nn::kNotNegative}, rate);
    f.add_named({.name = "colour", .help = ""}, colour, kColours);
    f.add_named({.name = "warm", .help = "", .choices = kWarm}, warm, kColours, colour == Colour::red);
    f.add({.name = "flag", .help = ""}, flag);
    f.add_named({.name = "order", .help = ""}, post, kOrders);
    f.add({.name = "words", .help = ""}, words);
    f.add({.name = "limit", .help = "", .limits = {.least = 2, .open_below = true}, .otherwise = "none"}, limit);
    f.add({.name = "word", .help = "", .choices = kColours, .positional = true}, word);
  }
};

TEST(Fields, TheFirstMemberOutsideOfItsLimitsIsNamed) {
  nn::check_fields("sample", Sample());
  EXPECT_ERROR(nn::check_fields("sample", Sample{.size = 0}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.count = 11}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.share = 1.5}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.rate = -1}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.rate = std::nan("")}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.warm = Colour::blue}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.limit = 2}));
  EXPECT_ERROR(nn::check_fields("sample", Sample{.word = "pink"}));
  EXPECT_EQ((nn::Limits{.least = 0, .most = 1, .open_above = true}.wording()), "in [0, 1)");
  EXPECT_EQ(nn::Limits().wording(), "to be finite");
}

// What is found belongs to the list: a list without a name would be gone when the result is used.
template <class List>
constexpr bool kCanFind = requires {
  std::declval<List>().find("size");
};
static_assert(kCanFind<nn::Fields&> && kCanFind<const nn::Fields&> && !kCanFind<nn::Fields>);

TEST(Fields, NamesAreFoundWhicheverWayTheirWordsAreJoined) {
  Sample sample;
  nn::Fields fields = nn::fields_of(sample);
  ASSERT_NE(fields.find("item-count"), nullptr);
  EXPECT_EQ(fields.find("item-count"), fields.find("item_count"));
  EXPECT_EQ(fields["item-count"].key(), "item_count");
  EXPECT_EQ(fields["item-count"].option(), "--item-count");
  EXPECT_EQ(fields["word"].option(), "word");
  EXPECT_EQ(fields.find("none"), nullptr);
  EXPECT_EQ(error_of([&] { fields["none"]; }), "[fields] expected the name of a member, got \"none\"");
}

TEST(Fields, TextsOfValues) {
  Sample sample{.colour = Colour::green, .post = true};
  const nn::Fields fields = nn::fields_of(sample);
  for (const auto& [name, text] :
       {std::pair{"colour", "green"}, {"order", "post"}, {"words", "a b"}, {"limit", ""}, {"share", "0.5"}})
    EXPECT_EQ(fields.find(name)->text(), text);
  EXPECT_EQ(fields.find("limit")->default_text(), "none");
  EXPECT_EQ(fields.find("item_count")->default_text(), "0, which means all");
  EXPECT_EQ(fields.find("item_count")->report_text(), "how many (0: all)");
  EXPECT_FALSE(fields.find("warm")->used);
  sample.count = 1;
  EXPECT_EQ(fields.find("item_count")->default_text(), "1; 0: all");
}

TEST(Fields, ValuesAreCopiedBetweenStructs) {
  Sample from{.size = 7, .colour = Colour::blue, .post = true, .words = {"c"}, .limit = 5}, to;
  const nn::Fields theirs = nn::fields_of(from), ours = nn::fields_of(to);
  for (const nn::Field& field : ours) field.copy_from(*theirs.find(field.setting.name));
  EXPECT_EQ(to.size, 7);
  EXPECT_EQ(to.colour, Colour::blue);
  EXPECT_TRUE(to.post);
  EXPECT_EQ(to.words, from.words);
  EXPECT_EQ(to.limit, 5);
}

TEST(Fields, WhoUsesADeclarationMaySayWhatDiffers) {
  Sample sample;
  nn::Fields fields = nn::fields_of(sample);
  fields["size"].limits = nn::kNotNegative;
  sample.size = 0;
  nn::check_fields("sample", fields);
  bool more = false;
  nn::Fields others;
  others.add({.name = "more", .help = ""}, more);
  fields.insert_after("size", others);
  fields.erase("share");
  std::string names;
  for (const nn::Field& field : fields) names += std::string(field.setting.name) + " ";
  EXPECT_EQ(names, "size more item_count rate colour warm flag order words limit word ");
}

}  // namespace
}  // namespace tapegrad::tests
