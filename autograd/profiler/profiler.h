// The profiler: where the time of a training step goes, per operation and per module, as a table and as a trace.
//
//   Profiler profiler;
//   for (int step = 0; step < 20; ++step) {
//     Tape tape;
//     const Tensor loss = cross_entropy(model(x), y);
//     adam.step(tape.backward(loss));
//   }
//   std::cout << profiler.report();
//   profiler.write_trace("trace.json");  // opens in ui.perfetto.dev and chrome://tracing
#pragma once

#include <tapegrad/autograd/io/destination.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad {

/// Which part of a training step something belongs to.
enum class ProfilePhase {
  forward,     ///< operations outside the other phases
  backward,    ///< Tape::backward
  optimizer,   ///< Optimizer::step, and clipping of gradients
  data,        ///< waiting for the next batch of a data loader
  evaluation,  ///< what runs inside a ProfileScope(ProfilePhase::evaluation)
  other,       ///< everything else, and named scopes
};
/// "forward", "backward", "optimizer", "data", "evaluation" or "other".
std::string_view name(ProfilePhase phase);

/// What the calls of one operation, or everything in one module, took together.
struct ProfileRow {
  std::string name;    ///< the operation: "linear"; or the module's path: "trf_blocks.0.att", "" for the whole model
  std::string within;  ///< of an operation that another one calls: that one's name; its time is part of that one's
  ProfilePhase phase = ProfilePhase::forward;  ///< of an operation
  int64_t calls = 0;                           ///< number of times
  double total_ms = 0;                         ///< with the operations that it calls
  double self_ms = 0;                          ///< without them
  double forward_ms = 0;                       ///< of a module: the parts of total_ms
  double backward_ms = 0;                      ///< the other part
  double worker_ms = 0;                        ///< time of other threads on its loops, added up
  double flops = 0;                            ///< of matrix multiplications and convolutions, as they were computed
  double bytes = 0;                            ///< size of its operands and results, each counted once
  double share = 0;                            ///< total_ms / ProfileReport::wall_ms
  double peak_share = 0;  ///< of the peak of arithmetic, if it has flops; otherwise of the rate of reading memory

  /// per call
  double mean_ms() const { return calls > 0 ? total_ms / static_cast<double>(calls) : 0; }
  double gflops() const { return total_ms > 0 ? flops / total_ms * 1e-6 : 0; }  ///< GFLOP/s
  /// GB/s
  double gb_s() const { return total_ms > 0 ? bytes / total_ms * 1e-6 : 0; }
  /// Average number of threads at work.
  double threads() const { return total_ms > 0 ? 1 + worker_ms / total_ms : 1; }
};

/// The result of a Profiler. Times of rows are sums over all threads that ran operations.
struct ProfileReport {
  /// The longest first; operations that another one calls follow it.
  std::vector<ProfileRow> operations;
  /// Named scopes, and the whole backward. Operations in them are listed as usual.
  std::vector<ProfileRow> scopes;
  /// In the order of their paths, each with everything below it. An operation belongs to the module whose named
  /// parameter it uses; between two such operations, to the innermost module that has both.
  std::vector<ProfileRow> modules;

  double wall_ms = 0;  ///< from the profiler's construction to the report
  /// Of the thread that constructed the profiler; they add up to wall_ms.
  double forward_ms = 0, backward_ms = 0, optimizer_ms = 0, data_ms = 0, evaluation_ms = 0, other_ms = 0;
  int64_t steps = 0;          ///< calls of Optimizer::step
  double first_step_ms = 0;   ///< from the construction to the end of the first of them
  double median_step_ms = 0;  ///< of the later ones
  int threads = 1;            ///< num_threads()
  double peak_gflops = 0;     ///< measured rate of float32 multiply-adds of all threads; 0: not measured
  double read_gb_s = 0;       ///< measured rate of reading memory; 0: not measured
  int64_t peak_bytes = 0;     ///< the most memory of tensors in use at once (blocks above 64 KiB)
  /// The multiplications of matrices, by the code that computed them ("BLIS", "tiles", ...:
  /// docs/contributing/matrix_multiplication.md), of all threads; entries without any are left out.
  std::vector<std::pair<std::string, double>> products;
  int64_t events = 0;           ///< in the trace
  int64_t events_left_out = 0;  ///< after the trace was full; the rows have them
};

/// What is printed of a report.
struct ProfileTable {
  int operations = 20;  ///< most rows of operations, and of modules
  int modules = 20;     ///< as for operations
  /// One row for the equal layers of a list: "trf_blocks.*.att".
  bool merge_layers = true;
};
/// The report as a table of at most 80 columns.
std::string str(const ProfileReport& report, const ProfileTable& table = {});
std::ostream& operator<<(std::ostream& out, const ProfileReport& report);

struct ProfilerOptions {
  /// The trace keeps this many events, 56 bytes each, and leaves out later ones. The report has all.
  int64_t max_events = 1'000'000;
  /// Measure the machine's peak rates at the first report of the process, which takes about a second and 256 MB.
  bool measure_peak = true;
};

/// While one is in scope, every operation of every thread is timed, forward and backward, with optimiser steps, data
/// loaders, and the loops of worker threads. An operation then takes about 0.2 microseconds longer; without a profiler
/// nothing is slower. Error if there is another one.
class Profiler : NonCopyable {
 public:
  explicit Profiler(const ProfilerOptions& options = {});
  ~Profiler();

  /// What has been measured so far; the measurement continues.
  ProfileReport report() const;
  /// Ends the measurement; report() and write_trace() remain.
  void stop();
  /// Writes the events so far as a JSON file in Chrome's trace format, which Perfetto opens, too: one span per
  /// operation and thread, nested, with its module, shapes, flops and bytes. Error "[file] ..." if it cannot be
  /// written.
  void write_trace(const Destination& to) const;

 private:
  const ProfilerOptions options_;
};

/// A part of your program: in the trace and in the report under its name, or as a phase, such as
/// ProfileScope(ProfilePhase::evaluation). It does nothing without a Profiler.
class ProfileScope : NonCopyable {
 public:
  explicit ProfileScope(std::string_view name) : ProfileScope(name, ProfilePhase::other) {}
  explicit ProfileScope(ProfilePhase phase) : ProfileScope(tapegrad::name(phase), phase) {}
  ProfileScope(std::string_view name, ProfilePhase phase);
  ~ProfileScope();

 private:
  bool running_;
};

}  // namespace tapegrad
