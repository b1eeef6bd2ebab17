// Checks pictures for broken XML, references to other files, and texts that overlap or are cut off.
#pragma once

#include <tapegrad/train/drawing/svg.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

// One line per fault, nothing for a correct picture. `svg` is a whole file or an <svg> element.
std::vector<std::string> faults_of_svg(const std::string& svg);
std::vector<std::string> faults_of(const drawing::Drawing& drawing);
// A page without the script that all pages have, which saves drawings.
std::string without_save(std::string html);
// The <svg> elements of a page.
std::vector<std::string> pictures_in(const std::string& html);
// The same for all pictures in a page, which must have at least one and refer to no other file.
std::vector<std::string> faults_of_page(const std::string& html);

}  // namespace tapegrad::tests
