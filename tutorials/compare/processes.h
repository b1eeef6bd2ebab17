// Runs in separate processes: each has one thread and its own memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tapegrad::tasks {

/// Calls job(i) for i from 0 to count - 1, each in a child process, up to `at_once` of them at a time, and done(i,
/// text) here with the text that the job returned, of at most 4,096 bytes, in the order in which jobs end. An exception
/// in a job, and a job that a signal ended, are an Error here; the other children are ended then.
void in_processes(int64_t count, int at_once, const std::function<std::string(int64_t)>& job,
                  const std::function<void(int64_t, const std::string&)>& done);

}  // namespace tapegrad::tasks
