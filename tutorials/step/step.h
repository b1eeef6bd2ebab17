// `explain step`: every number of one training step of the reader's own model, on a page that computes them again.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/nn/watch.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::step {

struct Request {
  std::string model;                    // file, or folder of a run
  std::optional<std::string> text;      // the example; otherwise drawn
  uint64_t seed = 1;                    // of a drawn example
  std::string out;                      // folder for step.html; empty: the model's
  double limit = 5;                     // of the page, in MB
  std::optional<std::string> language;  // of the page; none: by the locale

  void list(Fields& f);
};

/// Writes step.html. BadRequest for a model or text that cannot be shown; Error for a page beyond the limit.
int explain_step(const Request& request);

/// A tensor that the pass was given, and that the reader can edit (tokens) or that follows from such a one.
struct Given {
  std::string op;                    ///< "tokens", or an operation of step.js
  std::string name;                  ///< "source"
  Tensor value;                      ///< the tensor in the pass, or one in the same memory
  Json settings = {};                ///< of tokens "fixed", and "link": which list follows an edit
  std::vector<int64_t> inputs = {};  ///< indices of earlier ones
};

/// A training step: its forward pass with all gradients, and the update.
struct Step {
  nn::Watched pass;                                     ///< with gradients; its result is the loss
  std::vector<Given> given = {};                        ///< the page begins with these
  double own_loss = 0;                                  ///< of the model itself, in float32
  double loss_after = 0;                                ///< one update of all parameters later
  std::function<std::string(int64_t)> token_text = {};  ///< of the ids below vocab_size
  int64_t vocab_size = 0;
  std::string task = {}, what = {};    ///< "copy"; the example in words
  optim::AdamWOptions optimizer = {};  ///< of the run, whatever its update rule
};
/// Of any model: watches loss(), which runs it, in eval mode, and then updates the model once by AdamW.
Step watched_step(nn::AnyModel model, const std::function<Tensor()>& loss, const optim::AdamWOptions& optimizer = {});
/// Of the run whose model this is.
Step read_step(const Request& request);

/// The numbers of a step, which the page shows: JSON with "nodes" (operation, name, inputs, settings, "tensors", which
/// are settings that are nodes, shape, and "at", the place of its values), "values" and "gradients" (base64 of float32,
/// little-endian), "loss", and "loss_after", after one update of all parameters by AdamW.
Json step_json(const Step& step);
/// The page with these numbers. BadRequest for an operation that it cannot compute.
std::string step_page(const Json& json, Language language);

/// The operations that the page can compute: the table of step.js.
std::vector<std::string_view> page_operations();
/// BadRequest for an operation that is not one of them.
void require_on_page(std::string_view operation);

/// base64 of float32, little-endian, and back. Error "[base64] ..." for anything else.
std::string to_base64(const std::vector<float>& values);
std::vector<float> from_base64(std::string_view text);

}  // namespace tapegrad::tasks::step
