// Profiles as JSON.
#pragma once

#include <tapegrad/autograd/profiler.h>

#include <string>

namespace tapegrad::train {

/// The whole report as one line: {"steps", "wall_ms", "first_step_ms", "median_step_ms", "threads", "phases": {...},
/// "peak_gflops", "read_gb_s", "peak_bytes", "products": {"BLIS": multiplications, ...}, "operations": [...], "scopes":
/// [...], "modules": [...]}. Rows have "name", "calls", "total_ms", "self_ms", "mean_ms", "share", "threads", and where
/// they are known "gflops" (per second), "gb_s" and "peak_share"; operations "phase", and "within" if another one calls
/// them; modules "forward_ms" and "backward_ms".
std::string profile_json(const ProfileReport& report);

}  // namespace tapegrad::train
