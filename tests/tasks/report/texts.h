// The texts of report.html that have Korean messages.
#pragma once

#include <set>
#include <string>

namespace tapegrad::tests {

/// What the reports of runs with every outcome look up, and the literals that the kinds of runs add.
std::set<std::string> texts_of_reports();

}  // namespace tapegrad::tests
