// Whether the backward that runs on this thread keeps its nodes, for operations that would reuse what they kept.
#pragma once

namespace tapegrad::detail {

/// True during a backward with retain_graph: a node may run again, so it must leave what it captured as it is. False
/// during any other backward that is not itself recorded: then a node runs once.
bool graph_is_retained();

}  // namespace tapegrad::detail
