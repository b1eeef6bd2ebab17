// Collective functions on bytes, and waits with a deadline: processes are threads of this one, which exchange messages
// in memory.
#include <tapegrad/distributed/detail/group.h>
#include <tapegrad/tests/support/testing.h>

#include <deque>
#include <mutex>

namespace tapegrad::distributed::detail {
namespace {

using namespace tests;

// What is on its way between threads.
struct Mail {
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<char>>> messages;  // by sender, receiver and tag
  std::atomic<int64_t> sent = 0;
};

class MailExchange : public Exchange {
 public:
  MailExchange(Mail& mail, int rank) : mail_(mail), rank_(rank) {}
  void send(const void* data, int64_t bytes, int to, int tag) override {
    const auto* const from = static_cast<const char*>(data);
    const std::lock_guard lock(mail_.mutex);
    mail_.messages[{rank_, to, tag}].emplace_back(from, from + bytes);
    ++mail_.sent;
    ++moved_;
  }
  void receive(void* data, int64_t bytes, int from, int tag) override {
    expected_.push_back({static_cast<char*>(data), bytes, from, tag});
  }
  bool done() override {
    const std::lock_guard lock(mail_.mutex);
    std::erase_if(expected_, [&](const Expected& one) {
      auto& waiting = mail_.messages[{one.from, rank_, one.tag}];
      if (waiting.empty()) return false;
      const std::vector<char> found = std::move(waiting.front());
      waiting.pop_front();
      if (static_cast<int64_t>(found.size()) != one.bytes) failure_ = "another size";
      std::copy_n(found.begin(), std::min<std::size_t>(found.size(), static_cast<std::size_t>(one.bytes)), one.data);
      ++moved_;
      return true;
    });
    return expected_.empty() || !failure_.empty();
  }
  int64_t moved() const override { return moved_; }
  const std::string& failure() const override { return failure_; }

 private:
  struct Expected {
    char* data;
    int64_t bytes;
    int from, tag;
  };
  Mail& mail_;
  const int rank_;
  std::deque<Expected> expected_;
  int64_t moved_ = 0;
  std::string failure_;
};

class MailTransport : public Transport {
 public:
  MailTransport(Mail& mail, int rank, int size) : mail_(mail), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Exchange> exchange() override { return std::make_unique<MailExchange>(mail_, rank_); }
  void stop() override {}
  void finish() override {}
  void abort() override { std::abort(); }

 private:
  Mail& mail_;
  const int rank_, size_;
};

// What f(group) throws on each of `size` processes, empty where nothing; and the messages of all.
template <class F>
std::pair<std::vector<std::string>, int64_t> run(int size, const WorldOptions& patience, const F& f) {
  Mail mail;
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> processes;
  for (int rank = 0; rank < size; ++rank)
    processes.emplace_back([&, rank] {
      MailTransport transport(mail, rank, size);
      Group group(transport);
      group.set_patience(patience);
      try {
        f(group);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& one : processes) one.join();
  return {errors, mail.sent};
}

constexpr WorldOptions kPatient{.timeout_s = 60, .warning_s = 0};

void expect_no_errors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Group, GathersFromAnyNumber) {
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 9, 16, 33}) {
    const auto [errors, sent] = run(size, kPatient, [size](Group& group) {
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
    const auto [errors, sent] = run(size, kPatient, [size](Group& group) {
      for (int root = 0; root < size; ++root) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{3}, (std::size_t{5} << 19) + 1}) {
          std::vector<char> data(bytes, static_cast<char>(group.rank() == root ? root + 1 : 99));
          group.broadcast(data.data(), static_cast<int64_t>(bytes), root);
          if (std::ranges::any_of(data, [&](char c) { return c != root + 1; })) fail("broadcast", "another number");
        }
      }
    });
    expect_no_errors(errors);
    EXPECT_EQ(sent, size * (size - 1) * (1 + 3)) << size;  // pieces of 1 MiB
  }
}

TEST(Group, OtherCallsAndTextsAreTheSameErrorEverywhere) {
  const auto calls = run(
      5, kPatient, [](Group& group) { group.meet("here", {.call = group.rank() == 3 ? Call::end : Call::barrier}); });
  for (const std::string& error : calls.first) EXPECT_TEXT(error);
  const auto texts = run(6, kPatient, [](Group& group) {
    group.require_equal("here", "options", group.rank() > 3 ? "a 1\nb 2\n" : "a 1\n");
  });
  for (const std::string& error : texts.first)
    EXPECT_EQ(error, "[here] expected the same options on every process, got none on rank 0, b 2 on rank 4");
}

TEST(Group, NamesWhoIsMissing) {
  const auto [errors, sent] = run(5, {.timeout_s = 2, .warning_s = 1}, [](Group& group) {
    if (group.rank() == 1 || group.rank() == 4) return;
    group.set_step(7);
    group.meet("here", {.call = Call::step});
  });
  for (const std::size_t rank : {0, 2, 3})
    EXPECT_NE(
        errors[rank].find("[world] ranks 1 and 4 of 5 are missing: the others have waited 2 s for the gradients of "
                          "step 7"),
        std::string::npos)
        << errors[rank];
}

// Rank 2 sends nothing, but waits: for another message, which is not sent either.
TEST(Group, SaysWhenAllWait) {
  const auto [errors, sent] = run(3, {.timeout_s = 2, .warning_s = 1}, [](Group& group) {
    int number = 0;
    const auto exchange = group.exchange();
    exchange->receive(&number, sizeof number, (group.rank() + 1) % 3, 5);
    group.wait(*exchange, group.rank() == 2 ? "the state" : "the parameters");
  });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("no message has arrived for 2 s, though every process waits: rank "), std::string::npos)
        << error;
    EXPECT_NE(error.find("rank 2 for the state"), std::string::npos) << error;
  }
}

TEST(Group, AMessageOfAnotherSizeIsAnError) {
  const auto [errors, sent] = run(2, kPatient, [](Group& group) {
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
