// The verb `certify`: checks the gradients of a run's own model, at its size, with its data and loss.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <string>

namespace tapegrad::tasks {

struct CertifyRequest {
  std::string run;         // folder
  std::string out;         // the page; empty: certificate.html in the folder
  std::string numpy;       // .npz; empty: none
  int64_t points = 3;      // the trained parameters, the initial ones, then moved ones
  int64_t directions = 3;  // nn::CertifyOptions
  uint64_t seed = 1;

  void list(Fields& fields);
};

/// Prints the page and writes it as HTML. Returns 1 if a check is wrong. BadRequest for a folder without a checkpoint.
int certify(const CertifyRequest& request);

}  // namespace tapegrad::tasks
