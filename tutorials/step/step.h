// `explain step`: every number of one training step of the reader's own model, on a page that computes them again.
#pragma once

#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/tutorials/step/trace.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tapegrad::tasks::step {

struct Request {
  std::string model;                    // file, or folder of a run
  std::optional<std::string> text;      // the example; otherwise drawn
  uint64_t seed = 1;                    // of a drawn example
  std::string out;                      // folder for step.html; empty: the model's
  double limit = 4;                     // of the page, in MB
  std::optional<std::string> language;  // of the page; none: by the locale

  void list(Fields& f);
};

/// Writes step.html. BadRequest for a model or text that cannot be shown; Error for a page beyond the limit.
int explain_step(const Request& request);

/// A training step of one sequence: its forward pass as a trace, all gradients, and the update.
struct Step {
  std::shared_ptr<Parameters> parameters;
  std::function<void(Trace&)> forward;  ///< the last node is the loss
  double own_loss = 0;                  ///< of the model itself, in float32
  std::function<std::string(int64_t)> token_text;
  int64_t vocab_size = 0;
  std::string task, what;              ///< "copy"; the example in words
  optim::AdamWOptions optimizer = {};  ///< of the run
  std::string optimizer_name = {};
};
/// Of the run whose model this is.
Step read_step(const Request& request);

/// The numbers of a step, which the page shows: JSON with "nodes" (operation, name, inputs, settings, shape, and
/// "at", the place of its values), "values" and "gradients" (base64 of float32, little-endian), "loss", and
/// "loss_after", after one update of all parameters by AdamW. Tokens have their ids in "settings".
nlohmann::ordered_json step_json(const Step& step);

/// The operations that the page can compute: the table of step.js.
std::vector<std::string_view> page_operations();
/// BadRequest for an operation that is not one of them.
void require_on_page(std::string_view operation);

/// base64 of float32, little-endian, and back. Error "[base64] ..." for anything else.
std::string to_base64(const std::vector<float>& values);
std::vector<float> from_base64(std::string_view text);

}  // namespace tapegrad::tasks::step
