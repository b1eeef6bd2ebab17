// The five tutorials as their authors wrote them: titles, authors, addresses, headings, and the names in their code.
#pragma once

#include <tapegrad/tasks/language/language.h>

#include <span>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// A section or cell: what stands above it, and the classes and functions that its code defines or calls.
struct OriginalPlace {
  std::string_view section;  ///< "8.2.5", "31"; empty: the whole tutorial
  std::vector<std::string_view> headings = {}, names = {};
};

struct Original {
  std::string_view tutorial, address;  ///< "003"; https://..., or empty
  Text title, by = {};
  std::vector<OriginalPlace> places = {};
};

/// In the order of their numbers.
std::span<const Original> originals();
/// Error for a tutorial that is none of them.
const Original& original_of(std::string_view tutorial);

/// Whether the words are a heading of the place, with or without its number, spaces and punctuation, or a name in its
/// code, as "GPTModel", "def subsequent_mask(size):" or "from a.b import GPTModel".
bool is_called(const OriginalPlace& place, std::string_view words);

}  // namespace tapegrad::tasks::tutorial
