// Collective functions on bytes, and waits with a deadline, of threads as processes. ctest: threads
#include <tapegrad/tests/support/mail.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::distributed::detail {
namespace {

using namespace tests;

TEST(Group, GathersFromAnyNumber) {
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 9, 16, 33}) {
    const auto [errors, sent] = run_together(size, kPatient, [size](Group& group) {
      for (const int64_t count : {0, 1, 5}) {
        std::vector<int> own(static_cast<std::size_t>(count), group.rank()),
            all(own.size() * static_cast<std::size_t>(size));
        group.all_gather(own.data(), count * 4, all.data(), "numbers");
        for (std::size_t i = 0; i < all.size(); ++i)
          if (all[i] != static_cast<int>(i) / static_cast<int>(count)) fail("gather", "another order");
      }
    });
    expect_no_errors(errors);
    const int rounds = std::bit_width(static_cast<unsigned>(size - 1));  // log2, rounded up
    EXPECT_EQ(sent, 3 * size * rounds) << size;
  }
}

TEST(Group, BroadcastsFromAnyone) {
  for (const int size : {1, 2, 3, 5, 8, 11}) {
    const auto [errors, sent] = run_together(size, kPatient, [size](Group& group) {
      for (int root = 0; root < size; ++root)
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{3}, (std::size_t{5} << 19) + 1}) {
          std::vector<char> data(bytes, static_cast<char>(group.rank() == root ? root + 1 : 99));
          group.broadcast(data.data(), static_cast<int64_t>(bytes), root);
          if (std::ranges::any_of(data, [&](char c) { return c != root + 1; })) fail("broadcast", "another number");
        }
    });
    expect_no_errors(errors);
    EXPECT_EQ(sent, size * (size - 1) * (1 + 3)) << size;  // pieces of 1 MiB
  }
}

TEST(Group, OtherCallsAndTextsAreTheSameErrorEverywhere) {
  const auto calls = run_together(
      5, kPatient, [](Group& group) { group.meet("here", {.call = group.rank() == 3 ? Call::end : Call::barrier}); });
  for (const std::string& error : calls.first) EXPECT_TEXT(error);
  const auto texts = run_together(6, kPatient, [](Group& group) {
    group.require_equal("here", "options", group.rank() > 3 ? "a 1\nb 2\n" : "a 1\n");
  });
  for (const std::string& error : texts.first)
    EXPECT_EQ(error, "[here] expected the same options on every process, got none on rank 0, b 2 on rank 4");
}

TEST(Group, NamesWhoIsMissing) {
  const auto [errors, sent] = run_together(5, {.timeout_s = 2, .warning_s = 1}, [](Group& group) {
    if (group.rank() == 1 || group.rank() == 4) return;
    group.set_step(7);
    group.meet("here", {.call = Call::step});
  });
  for (const std::size_t rank : {0, 2, 3})
    expect_parts(errors[rank],
                 {"[world] ranks 1 and 4 of 5 are missing: the others have waited 2 s for the gradients of "
                  "step 7"});
}

// Rank 2 sends nothing, but waits: for another message, which is not sent either.
TEST(Group, SaysWhenAllWait) {
  const auto [errors, sent] = run_together(3, {.timeout_s = 2, .warning_s = 1}, [](Group& group) {
    int number = 0;
    const auto exchange = group.exchange();
    exchange->receive(&number, sizeof number, (group.rank() + 1) % 3, 5);
    group.wait(*exchange, group.rank() == 2 ? "the state" : "the parameters");
  });
  for (const std::string& error : errors)
    expect_parts(error, {"no message has arrived for 2 s, though every process waits: rank ", "rank 2 for the state"});
}

TEST(Group, AMessageOfAnotherSizeIsAnError) {
  const auto [errors, sent] = run_together(2, kPatient, [](Group& group) {
    int64_t number = 0;
    const auto exchange = group.exchange();
    exchange->send(&number, group.rank() == 0 ? 4 : 8, 1 - group.rank(), 5);
    exchange->receive(&number, 8, 1 - group.rank(), 5);
    group.wait(*exchange, "a number");
    if (group.rank() == 1) fail("test", "expected an Error");
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_TEXT(errors[1]);
}

}  // namespace
}  // namespace tapegrad::distributed::detail
