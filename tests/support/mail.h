// Processes that are threads of this one, and exchange messages in memory.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/distributed/detail/group.h>
#include <tapegrad/distributed/world.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tapegrad::tests {

using distributed::WorldOptions;
using distributed::detail::Exchange;
using distributed::detail::Group;
using distributed::detail::Transport;

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

inline constexpr WorldOptions kPatient{.timeout_s = 60, .warning_s = 0};

// What f(group) throws on each of `size` processes, empty where nothing; and the messages of all.
std::pair<std::vector<std::string>, int64_t> run_together(int size, const WorldOptions& patience, const auto& f) {
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

// The errors of f(world).
std::vector<std::string> errors_of_worlds(int size, const auto& f) {
  return run_together(size, kPatient, [&](Group& group) { f(distributed::World(group)); }).first;
}

inline void expect_no_errors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace tapegrad::tests
