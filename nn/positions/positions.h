// Positional encodings: names, options and table, and those that depend on the position alone.
#pragma once

#include <tapegrad/nn/index_positions.h>
#include <tapegrad/nn/learned_positions.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/nn/sinusoidal_positions.h>
