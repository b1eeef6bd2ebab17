// Looks for what must not be in a picture: broken XML, references to elsewhere, texts over each other or cut off.
#pragma once

#include <string>
#include <vector>

namespace tapegrad::tests {

// One line a fault; none for a picture that is as it should be. `svg` is a whole file or an <svg> element.
std::vector<std::string> faults_of_svg(const std::string& svg);
// The same for every picture in a page, which must hold at least one and need nothing from outside.
std::vector<std::string> faults_of_page(const std::string& html);

}  // namespace tapegrad::tests
