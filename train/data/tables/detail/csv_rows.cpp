#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/train/data/tables/detail/column_builder.h>
#include <tapegrad/train/data/tables/detail/csv_rows.h>

#include <algorithm>

namespace tapegrad::data::detail {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20, kMostOfRow = 100'000'000, kMostFields = 1'000'000;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }

}  // namespace

CsvRows::CsvRows(const std::string& path, char separator, bool quotes)
    : file_(path), separator_(separator), buffer_(kPiece, '\0') {
  if (separator == '\0' || separator == '\n' || separator == '\r' || (quotes && separator == '"')) {
    fail("csv", "expected a separator that is not a line end, a NUL byte or a quote, got \"{}\"",
         std::string_view(&separator, 1));
  }
  for (const char c : {separator, '\n', '\r', '\0'}) ends_run_[byte_of(c)] = true;
  if (quotes) ends_run_[byte_of('"')] = true;
  fill();
  const std::string_view start = std::string_view(buffer_).substr(0, std::min<std::size_t>(end_, 512));
  if (const std::string kind = foreign_kind(start); !kind.empty()) refuse(1, "expected a CSV text, got " + kind);
  if (start.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

void CsvRows::refuse(int64_t line, std::string_view why) const {
  fail("csv", "{}, line {}: {}", file_.path(), line, why);
}

void CsvRows::refuse(int64_t line, std::size_t column, std::string_view why) const {
  fail("csv", "{}, line {}, column {}: {}", file_.path(), line, column + 1, why);
}

bool CsvRows::fill() {
  if (text_.size() > kMostOfRow)
    refuse(first_line_, fmt::format("expected a row of at most {} bytes (is a quote missing?)", kMostOfRow));
  at_ = 0;
  end_ = file_.read(offset_, kPiece, buffer_.data());
  offset_ += end_;
  return end_ > 0;
}

// Takes the bytes of the field that have no meaning.
void CsvRows::take_run(State state) {
  std::size_t stop = at_;
  if (state == State::quoted) {
    while (stop < end_ && buffer_[stop] != '"' && buffer_[stop] != '\n' && buffer_[stop] != '\0') ++stop;
  } else {
    while (stop < end_ && !ends_run_[byte_of(buffer_[stop])]) ++stop;
  }
  text_.append(buffer_, at_, stop - at_);
  at_ = stop;
}

void CsvRows::end_field() {
  if (fields_.size() == kMostFields) refuse(first_line_, fmt::format("expected at most {} fields", kMostFields));
  fields_.push_back({field_begin_, text_.size() - field_begin_, field_line_});
  field_begin_ = text_.size();
  field_line_ = line_;
}

CsvRows::State CsvRows::step_plain(char c, State state) {
  if (c == separator_) {  // a quote, too, if it has no other meaning
    end_field();
    return State::start;
  }
  if (c == '"') {
    if (state == State::start) return State::quoted;
    refuse(line_, fields_.size(),
           "expected a field with quotes to be in quotes, got a quote inside (write \"\" for each)");
  }
  return_pending_ = c == '\r';
  return state == State::start ? State::start : State::plain;
}

CsvRows::State CsvRows::step_after_quote(char c) {
  if (c == '"') {
    text_ += c;
    return State::quoted;
  }
  if (c == separator_) {
    end_field();
    return State::start;
  }
  if (c != '\r') {
    refuse(line_, fields_.size(),
           fmt::format("expected a separator or the end of the line after a closing quote, got {}",
                       in_quotes(std::string_view(&c, 1))));
  }
  return_pending_ = true;
  return State::after_quote;
}

// One byte that has a meaning; true at the end of the row.
bool CsvRows::step(char c, State& state) {
  if (c == '\0') refuse(line_, fields_.size(), "a NUL byte (expected a text in UTF-8; is it UTF-16, or damaged?)");
  if (c == '\n' && state != State::quoted) {
    return_pending_ = false;
    ++line_;
    blank_ = state == State::start && fields_.empty();
    end_field();
    return true;
  }
  if (return_pending_) refuse(line_, fields_.size(), "a carriage return without a line feed after it");
  if (state == State::quoted) {
    if (c == '"') {
      state = State::after_quote;
    } else {
      ++line_;
      text_ += c;
    }
  } else {
    state = state == State::after_quote ? step_after_quote(c) : step_plain(c, state);
  }
  return false;
}

bool CsvRows::next() {
  fields_.clear();
  text_.clear();
  field_begin_ = 0;
  first_line_ = field_line_ = line_;
  blank_ = false;
  if (at_ == end_ && !fill()) return false;
  State state = State::start;
  while (at_ < end_ || fill()) {
    if (state != State::after_quote && !return_pending_) {
      const std::size_t before = at_;
      take_run(state);
      if (at_ > before && state == State::start) state = State::plain;
      if (at_ == end_) continue;
    }
    if (step(buffer_[at_++], state)) return true;
  }
  if (state == State::quoted) refuse(field_line_, fields_.size(), "the quote that begins this field is never closed");
  if (return_pending_) refuse(line_, fields_.size(), "a carriage return without a line feed after it");
  end_field();  // the last line needs no end
  return true;
}

}  // namespace tapegrad::data::detail
