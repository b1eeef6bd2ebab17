// How cases come in and results go out: the lines of case.h, and results as int64 headers {case, kind, index, dtype,
// rank, dims..} with raw values, or with a text whose length is in the place of the dtype. protocol.py has the other
// side.
#pragma once
#include "case.h"

#include <fstream>
#include <iosfwd>
#include <string>

void put(std::ofstream& out, int64_t id, char kind, int64_t index, const Tensor& x);
void put(std::ofstream& out, int64_t id, char kind, int64_t index, const std::string& text);

struct ReadTensor {
  Tensor x;
  bool grad;
};
// The rest of a line T, whose values are in the data file.
ReadTensor read_tensor(std::istream& line, const std::string& data);
// The rest of a line A; false for any other word.
bool read_argument(const std::string& word, std::istream& line, Case& c);

std::string contents(const char* path);
// cos(1.3 i + phase), as protocol.py computes it.
Tensor weights(const Tensor& like, double phase);
// The sum of those of the tensors that are on the tape, each with weights of its own; empty if there are none.
Tensor weighted_sum(tg::Tape& tape, const TV& ys, double phase);
