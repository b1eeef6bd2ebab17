// Others' models: which kind a path has, and training that starts from one (`--from`).
#pragma once

#include <tapegrad/nn/module.h>
#include <tapegrad/tasks/gpt/model.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// The model that options.from names, with the adapter that they name merged, in float32. BadRequest about --from or
// --adapter, or an Error that names the file.
TrainedGPT load_start(const GPTOptions& options, const Given& given);
// Settings for training that starts from such a model: its own for its sizes and form, fine-tuning's rates, and
// otherwise those of its preset, with those `given` in `asked` over them. BadRequest that names the first one given
// that contradicts the model.
GPTOptions start_with(const TrainedGPT& start, GPTOptions asked, const Given& given);
// The model's own tokenizer, or the one given; it is taken out of `start`. BadRequest where there is none, and where
// its vocabulary is not the model's.
std::unique_ptr<data::Tokenizer> take_tokenizer(TrainedGPT& start, const GPTOptions& options, const Given& given);

// Freezes the parameters that fit the patterns (nn::matches). BadRequest about --freeze for a pattern that fits none,
// and if nothing is left to train.
void freeze_parameters(const std::vector<nn::NamedParameter>& parameters, const std::vector<std::string>& patterns);

}  // namespace tapegrad::tasks
