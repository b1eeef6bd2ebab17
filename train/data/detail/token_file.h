// The header of token files: what is written there and read again.
#pragma once

#include <cstddef>
#include <string_view>

namespace tapegrad::data::detail {

inline constexpr std::string_view kIdsChecksum = "ids_checksum";  // hexadecimal: Tokens::checksum
inline constexpr std::string_view kLargestId = "largest_id";
inline constexpr std::size_t kIdsPerSum = 1 << 16;  // each sum is the seed of the next one

}  // namespace tapegrad::data::detail
