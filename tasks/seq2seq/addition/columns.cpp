// Draws a sum in columns while its digits are written.
#include <fmt/format.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr double kDigitWidth = 34, kRowHeight = 28, kDigits = 84, kFirstRow = 22;

// How the digit of column i comes about: "10^1: 5 + 9 + 1 = 15, write 5, carry 1".
std::string reason_of(std::span<const int64_t> first, std::span<const int64_t> second,
                      const std::vector<int64_t>& carries, std::size_t i) {
  const int64_t sum = first[i] + second[i] + carries[i];
  const std::string terms =
      carries[i] == 1 ? fmt::format("{} + {} + 1", first[i], second[i]) : fmt::format("{} + {}", first[i], second[i]);
  const std::size_t power = first.size() - 1 - i;
  return sum > 9 ? said("10^{}: {} = {}, write {}, carry 1", power, terms, sum, sum % 10)
                 : said("10^{}: {} = {}, no carry", power, terms, sum);
}

void digit_text(std::string& out, std::size_t column, int row, std::string_view text, std::string_view more = "") {
  drawing::write_text(out, kDigits + kDigitWidth * (static_cast<double>(column) + 0.5),
                      kFirstRow + kRowHeight * row + 18, "middle", text, drawing::Type::normal, more);
}

}  // namespace

std::vector<int64_t> carries_into(std::span<const int64_t> first, std::span<const int64_t> second) {
  std::vector<int64_t> out(first.size());
  for (std::size_t i = first.size(); i-- > 1;) out[i - 1] = first[i] + second[i] + out[i] > 9 ? 1 : 0;
  return out;
}

std::optional<drawing::Drawing> AdditionTask::picture_of_part(const Answer& answer, std::size_t written) const {
  const std::size_t width = answer.input.size() / 2;
  const std::span<const int64_t> all(answer.input), first = all.first(width), second = all.last(width);
  const std::vector<int64_t> carries = carries_into(first, second);
  drawing::Drawing out{kDigits + kDigitWidth * static_cast<double>(width) + 14, kFirstRow + kRowHeight * 4 + 40, {}};
  const std::string names[] = {said("carries"), "", "+", said("answer")};
  if (written < width) {
    out.body += fmt::format(
        "<rect class=\"heat\" fill-opacity=\"0.2\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n",
        kDigits + kDigitWidth * static_cast<double>(written), kFirstRow, kDigitWidth, 4 * kRowHeight);
  }
  for (int row = 0; row < 4; ++row)
    drawing::write_text(out.body, kDigits - 6, kFirstRow + kRowHeight * row + 18, "end", names[row]);
  out.body += fmt::format("<path class=\"branch\" d=\"M{:g} {:g}H{:g}\"/>\n", kDigits, kFirstRow + 3 * kRowHeight,
                          kDigits + kDigitWidth * static_cast<double>(width));
  for (std::size_t i = 0; i < width; ++i) {
    if (carries[i] == 1) {
      out.body += fmt::format("<circle class=\"node\" cx=\"{:g}\" cy=\"{:g}\" r=\"10\"/>\n",
                              kDigits + kDigitWidth * (static_cast<double>(i) + 0.5), kFirstRow + 14);
      digit_text(out.body, i, 0, "1", " class=\"label\"");
    }
    digit_text(out.body, i, 1, token_text(first[i]), " class=\"label\"");
    digit_text(out.body, i, 2, token_text(second[i]), " class=\"label\"");
    if (i >= std::min(written, answer.output.size())) continue;
    const bool wrong = answer.output[i] != (first[i] + second[i] + carries[i]) % 10;
    digit_text(out.body, i, 3, token_text(answer.output[i]),
               wrong ? " class=\"warm\" font-weight=\"600\"" : " class=\"label\"");
  }
  if (written < width) {
    const std::string reason = reason_of(first, second, carries, written);
    out.width = std::max(out.width, 14 + drawing::text_width(reason));
    drawing::write_text(out.body, 6, kFirstRow + 4 * kRowHeight + 26, "start", reason);
  }
  return out;
}

}  // namespace tapegrad::tasks
