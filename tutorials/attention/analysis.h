// What the figures of a model's heads say about the tutorial's claims (003, section 8.2.3, deep dive 2 to 6): as a
// table, as HTML with charts, and as JSON.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tutorials/attention/figures.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

struct HeadFigures {
  std::string name, label, group, heading;  // as those of HeadMap
  int64_t layer = 0;
  int64_t n = 0;  // the smaller of rows and columns
  bool self = true;
  MapFigures map;
  bool has_vectors = false;  // whether the next two are known
  HopfieldFigures hopfield;
  PairDistances distances;
};
std::vector<HeadFigures> analyse(const std::vector<HeadMap>& heads);

/// One claim of the tutorial, and for how many heads it holds.
struct Claim {
  std::string key;    // of the JSON
  std::string claim;  // "rank(A) <= 0.1 n"
  std::string found;  // the figures that decide, as "effective rank / n: 0.31 to 0.90"
  int64_t holds = 0, heads = 0;
  /// "holds for every head", "holds for no head", or "holds for 3 of 12 heads", in the language of the environment.
  std::string verdict() const;
};
std::vector<Claim> claims_about(const std::vector<HeadFigures>& figures);

std::string analysis_text(const std::vector<HeadFigures>& figures);  // 80 columns
std::string analysis_html(const std::vector<HeadFigures>& figures);
drawing::Drawing draw_analysis(const std::vector<HeadFigures>& figures);
Json analysis_json(const std::vector<HeadFigures>& figures);

}  // namespace tapegrad::tasks
