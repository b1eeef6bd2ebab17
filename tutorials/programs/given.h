// The numbers that the tutorials' examples begin with: vectors of words, scores, and probabilities. The programs, the
// pages and their tests compute with them.
#pragma once

#include <tapegrad/autograd/ops.h>

namespace tapegrad::tasks::given {

// Tutorial 003, section 8.2.2: time flies like an arrow, [5, 3].
inline Tensor time_flies() {
  return tensor({{0.2, 0.8, 0.3}, {0.7, 0.2, 0.9}, {0.3, 0.5, 0.2}, {0.1, 0.3, 0.4}, {0.8, 0.1, 0.6}}, kFloat64);
}

// Section 8.2.5: the scores of I love deep learning, [4, 4]. Rows are queries, columns are keys.
inline Tensor scores() {
  return tensor({{0.9, 0.7, 0.3, 0.2}, {0.6, 0.8, 0.9, 0.4}, {0.2, 0.5, 0.7, 0.9}, {0.4, 0.3, 0.8, 0.6}});
}

// Section 8.3.1: the vectors of the same words, [4, 4].
inline Tensor words_to_count(DType dtype = kFloat32) {
  return tensor({{0.2, 0.3, 0.1, 0.4}, {0.5, 0.2, 0.8, 0.1}, {0.3, 0.7, 0.2, 0.5}, {0.6, 0.4, 0.3, 0.2}}, dtype);
}

// Sections 8.5.1 to 8.5.3: probabilities [batch, tokens, vocabulary] that a model of each task predicts.
inline Tensor copied(DType dtype = kFloat32) {
  return tensor({{0.9, 0.1, 0., 0., 0.},
                 {0.1, 0.8, 0.1, 0., 0.},
                 {0., 0.1, 0.9, 0., 0.},
                 {0.8, 0.2, 0., 0., 0.},
                 {0.1, 0.7, 0.2, 0., 0.},
                 {0.1, 0.1, 0.8, 0., 0.}},
                dtype)
      .reshape({2, 3, 5});
}
inline Tensor added(DType dtype = kFloat32) {
  return tensor({{0.1, 0.8, 0.1, 0., 0., 0., 0., 0., 0., 0.},
                 {0.1, 0.1, 0.7, 0.1, 0., 0., 0., 0., 0., 0.},
                 {0.8, 0.1, 0.1, 0., 0., 0., 0., 0., 0., 0.}},
                dtype)
      .reshape({1, 3, 10});
}
inline Tensor parsed(DType dtype = kFloat32) {
  return tensor({{0.1, 0.7, 0.1, 0.1, 0.},
                 {0.8, 0.1, 0., 0.1, 0.},
                 {0.1, 0., 0.1, 0.7, 0.1},
                 {0., 0.1, 0.8, 0., 0.1},
                 {0.1, 0.8, 0., 0.1, 0.},
                 {0.7, 0.1, 0.1, 0., 0.1},
                 {0.1, 0., 0.1, 0.1, 0.7},
                 {0., 0., 0.9, 0.1, 0.}},
                dtype)
      .reshape({2, 4, 5});
}

// Tutorial 004: Your journey starts with one step, [6, 3].
inline Tensor journey() {
  return tensor({{0.43, 0.15, 0.89},
                 {0.55, 0.87, 0.66},
                 {0.57, 0.85, 0.64},
                 {0.22, 0.58, 0.33},
                 {0.77, 0.25, 0.10},
                 {0.05, 0.80, 0.55}});
}

// Cell 41: [batch, heads, tokens, numbers per head].
inline Tensor two_heads() {
  return tensor({{0.2745, 0.6584, 0.2775, 0.8573},
                 {0.8993, 0.0390, 0.9268, 0.7388},
                 {0.7179, 0.7058, 0.9156, 0.4340},
                 {0.0772, 0.3565, 0.1479, 0.5331},
                 {0.4066, 0.2318, 0.4545, 0.9737},
                 {0.4606, 0.5159, 0.4220, 0.5786}})
      .reshape({1, 2, 3, 4});
}

}  // namespace tapegrad::tasks::given
