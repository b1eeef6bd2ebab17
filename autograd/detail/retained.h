// Whether the current backward of this thread keeps its nodes, for operations that could reuse the memory they
// captured.
#pragma once

namespace tapegrad::detail {

/// True during a backward with retain_graph: a node may run again, so it must not change what it captured. False during
/// any other backward that is not itself recorded: then a node runs once.
bool graph_is_retained();

}  // namespace tapegrad::detail
