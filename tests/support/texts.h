// Texts that tests expect, mostly of errors: tests/nn/hooks.txt has those of tests/nn/hooks.cpp. Below "# Suite.Test"
// are lines with the code of that test, and below each, with two spaces before it, its text. Of several lines, each
// ends with a line break. {folder} is any TemporaryFolder, {tests} is tests/. Code that is there several times has its
// texts in the order of the calls, the last one for all further calls.
#pragma once

#include <tapegrad/tests/support/near.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

// Expects the text that the file has for this code in the test that runs. Spaces in code do not count.
void expect_text(const char* code, const std::string& text, const char* file, int line);
// The same of a list: each element is a line.
void expect_text(const char* code, const std::vector<std::string>& lines, const char* file, int line);
// The same of the error that a call throws.
void expect_error_text(const char* code, FunctionRef call, const char* file, int line);

// Expects that the test which ran has used all texts that the file has for it.
void expect_all_texts_used();

}  // namespace tapegrad::tests

// Of an expression that gives a text, or a list of them.
#define EXPECT_TEXT(...) ::tapegrad::tests::expect_text(#__VA_ARGS__, (__VA_ARGS__), __FILE__, __LINE__)

// Of the error that an expression throws.
#define EXPECT_ERROR(...)               \
  ::tapegrad::tests::expect_error_text( \
      #__VA_ARGS__, [&] { static_cast<void>(__VA_ARGS__); }, __FILE__, __LINE__)
