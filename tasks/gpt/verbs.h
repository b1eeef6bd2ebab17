// The verbs of a GPT: train, generate, test. Each returns the exit code: 0 done, 1 failed; a BadRequest thrown is 2,
// any other Error 1.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/settings/run_request.h>

#include <string>

namespace tapegrad::tasks {

struct GPTTrainRequest : RunRequest {
  GPTOptions options = gpt_options(kGPTDefaultPreset);
  Given given;               // the settings named on the command line
  std::string hugging_face;  // folder for the model as Hugging Face's GPT-2; empty: none
  bool keep_best = false;
  bool untrained_losses = false;

  void list(Fields& fields);  // those that are not `options`
};
// Prints the losses of every evaluation and a sample after every epoch to standard output, in the format of chapter 5,
// and nothing else there.
int train_gpt(GPTTrainRequest request);

struct GPTGenerateRequest {
  std::string model;    // file or folder; empty: the last run's
  ReachSettings reach;  // of the model, for inputs longer than those of training
  Given given;          // those named on the command line
  std::string prompt;
  std::string prompt_ids;  // "15496,11" instead
  bool ids = false;        // print token ids
  int64_t max_new_tokens = 50;
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;
  int64_t beams = 1;
  uint64_t seed = 123;
  DType dtype = kFloat32;  // what the matrices are kept in: or bfloat16, half of the memory
};
int generate_gpt(const GPTGenerateRequest& request);

struct GPTTestRequest {
  std::string model;
  std::string text;        // file, a text or tokens
  DType dtype = kFloat32;  // as above
  bool json = false;
};
int test_gpt(const GPTTestRequest& request);

}  // namespace tapegrad::tasks
