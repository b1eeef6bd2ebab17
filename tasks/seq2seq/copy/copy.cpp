// Draws batches of the copy task, and reads an example.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/data/utf8.h>

#include <algorithm>
#include <charconv>

namespace tapegrad::tasks {

const TaskInfo CopyTask::kInfo = info_of<CopyTask>();

void CopyTask::Settings::list(Fields& f) {
  Options{f, Group::data}("seq-length", "tokens per sequence", seq_length, kCount).example();
}

Batch CopyTask::draw(int64_t count, Generator& generator) const {
  const Tensor tokens = Tensor::empty({count, seq_length_}, kInt64);
  generator.randint(tokens.mutable_data<int64_t>(), tokens.numel(), 1, vocab_size_);
  return {tokens, tokens};
}

Batch CopyTask::read_text(std::string_view text) const {
  std::string spaced(text);
  std::ranges::replace(spaced, ',', ' ');
  std::vector<int64_t> ids;
  for (const std::string_view word : parts_of(spaced, ' ')) {
    int64_t id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    require(error == std::errc() && stop == word.data() + word.size() && id > 0 && id < vocab_size_, "--text",
            fmt::format("expected tokens from 1 to {}, such as \"1 2 3\", got \"{}\"", vocab_size_ - 1,
                        data::valid_utf8(text)));
    ids.push_back(id);
  }
  const auto count = static_cast<int64_t>(ids.size());
  require(count > 0 && count <= most_tokens_, "--text",
          fmt::format("expected 1 to {} tokens, got {}", most_tokens_, count));
  const Tensor source = tensor(ids, {1, count});
  return {source, source};
}

}  // namespace tapegrad::tasks
