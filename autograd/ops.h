// Every operation on tensors. Those that have a gradient are recorded on the tape and can be differentiated twice.
//
// Unless a declaration says otherwise, an operation takes bool, int64, float32 and float64 (of the others, dtype.h),
// converts its operands to the later type in that order, broadcasts them by NumPy's rule, and returns a tensor of that
// type and shape. Axes count from the end when negative. NaN and infinity propagate as in IEEE 754, and empty tensors
// are valid operands. Errors are `[operation] expected ..., got ...`, with the shapes.
#pragma once

#include <tapegrad/autograd/dot_product_attention.h>
#include <tapegrad/autograd/functions.h>
#include <tapegrad/autograd/indexing.h>
#include <tapegrad/autograd/losses.h>
#include <tapegrad/autograd/norms.h>
#include <tapegrad/autograd/operators.h>
#include <tapegrad/autograd/products.h>
#include <tapegrad/autograd/reductions.h>
#include <tapegrad/autograd/softmax.h>
#include <tapegrad/autograd/views.h>
