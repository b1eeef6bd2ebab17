"""Convolutions and their transposes."""
import torch
import torch.nn.functional as F

from golden_file import *


def turned(x):
    """The channels last in memory."""
    base = x.movedim(-x.dim() + 1, -1).contiguous()
    return Laid(x, base.flatten(), list(base.movedim(-1, -x.dim() + 1).stride()))


def with_specials(x):
    flat = x.flatten().clone()
    flat[5], flat[23], flat[40] = NAN, INF, -INF
    return flat.reshape(x.shape)


def settings(**args):
    """The arguments as they are written to the file: pairs as lists."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()}


def convolution():
    f = Family("convolution")
    for dtype in FLOATS:
        def case(op, x, weight, bias=True, label="", **options):
            reference = getattr(F, op)
            transposed_ = "transpose" in op
            values = [t.values if isinstance(t, Laid) else t for t in (x, weight)]
            inputs = [x, weight]
            if bias:
                outputs = values[1].shape[1] * options.get("groups", 1) if transposed_ else values[1].shape[0]
                inputs.append(rand(outputs, dtype=dtype))
            f.case(op, lambda x, w, b=None: reference(x, w, b, **options), inputs, grad=True, label=label, **settings(**options))

        def r(*shape):
            return rand(*shape, dtype=dtype, low=-1, high=1)

        case("conv1d", r(2, 3, 9), r(4, 3, 3))
        case("conv1d", r(2, 3, 9), r(4, 3, 3), bias=False)
        case("conv1d", r(3, 9), r(4, 3, 2), label="one signal")
        case("conv1d", r(0, 3, 9), r(4, 3, 2), label="no signal")
        case("conv1d", r(1, 1, 3), r(1, 1, 3), label="one window")
        for stride in (1, 2, 4):
            for padding in (0, 2):
                for dilation in (1, 3):
                    case("conv1d", r(2, 2, 12), r(3, 2, 3), stride=stride, padding=padding, dilation=dilation)
                    case("conv1d", r(2, 2, 12), r(4, 1, 3), stride=stride, padding=padding, dilation=dilation, groups=2)
                    case("conv1d", r(1, 6, 12), r(4, 3, 3), stride=stride, padding=padding, dilation=dilation, groups=2)
        case("conv1d", r(1, 9, 21), r(17, 9, 3), padding=1, label="more than a vector")

        case("conv2d", r(2, 3, 5, 7), r(4, 3, 2, 3))
        case("conv2d", r(2, 3, 5, 7), r(4, 3, 2, 3), bias=False)
        case("conv2d", r(3, 5, 7), r(4, 3, 2, 3), label="one image")
        case("conv2d", r(0, 3, 5, 7), r(4, 3, 2, 3), label="no image")
        case("conv2d", r(2, 3, 5, 7), r(4, 3, 1, 1), label="one element")
        case("conv2d", r(2, 3, 5, 7), r(4, 3, 1, 1), stride=2, label="one element")
        case("conv2d", r(2, 6, 5, 7), r(4, 3, 1, 1), groups=2, label="one element")
        case("conv2d", r(2, 3, 5, 7), r(4, 3, 1, 1), padding=1, label="one element")
        for stride in (1, (2, 1), (3, 2)):
            for padding in (0, (1, 2)):
                for dilation in (1, (1, 2)):
                    case("conv2d", r(2, 2, 6, 7), r(3, 2, 3, 2), stride=stride, padding=padding, dilation=dilation)
                    case("conv2d", r(1, 4, 6, 7), r(4, 2, 2, 3), stride=stride, padding=padding, dilation=dilation, groups=2)
                    case("conv2d", r(2, 3, 6, 7), r(3, 1, 3, 3), stride=stride, padding=padding, dilation=dilation, groups=3)
        case("conv2d", r(2, 2, 6, 6), r(6, 1, 3, 3), padding=1, groups=2, label="several filters per channel")
        case("conv2d", r(1, 9, 6, 9), r(17, 9, 2, 3), padding=1, label="more than a vector")
        case("conv2d", r(2, 1, 8, 8), r(16, 1, 3, 3), padding=1, label="digits")
        for x, weight, options in (
                ((2, 3, 9), (4, 3, 4), {}), ((3, 9), (4, 3, 2), {}), ((2, 4, 5), (6, 2, 3), {"groups": 2, "dilation": 3}),
                ((2, 3, 9), (3, 1, 4), {"groups": 3}), ((0, 3, 9), (4, 3, 4), {}), ((2, 9, 33), (17, 9, 6), {"dilation": 3})):
            case("conv1d", r(*x), r(*weight), padding="same", **options)
        for x, weight, options in (
                ((2, 3, 5, 7), (4, 3, 2, 4), {}), ((3, 5, 7), (4, 3, 3, 2), {}), ((2, 3, 5, 7), (4, 3, 1, 1), {}),
                ((2, 3, 6, 7), (6, 1, 2, 4), {"groups": 3, "dilation": (3, 1)}), ((1, 4, 3, 4), (4, 2, 4, 2), {"groups": 2, "dilation": 2}),
                ((2, 2, 1, 2), (3, 2, 6, 4), {})):
            case("conv2d", r(*x), r(*weight), padding="same", **options)
        case("conv2d", r(2, 3, 5, 7), r(4, 3, 2, 4), padding="valid")

        def pad_mode(op, x, weight, mode, widths, padding, label="", **options):
            f.case(op, lambda x, w, b: getattr(F, op)(F.pad(x, widths, mode=mode), w, b, **options),
                   [x, weight, rand(weight.shape[0], dtype=dtype)], grad=True, label=label, padding=padding, padding_mode=mode,
                   **settings(**options))

        for mode in ("reflect", "replicate", "circular"):
            pad_mode("conv1d", r(2, 3, 6), r(4, 3, 3), mode, (2, 2), 2)
            pad_mode("conv1d", r(2, 3, 6), r(4, 3, 4), mode, (1, 2), "same")
            pad_mode("conv2d", r(2, 4, 5, 6), r(6, 2, 2, 3), mode, (2, 2, 1, 1), [1, 2], stride=(2, 1), groups=2)
            pad_mode("conv2d", r(2, 2, 5, 6), r(3, 2, 4, 2), mode, (0, 1, 3, 3), "same", dilation=(2, 1))
        for lay in (strided, reversed_, transposed, turned):
            case("conv2d", lay(r(2, 3, 5, 6)), lay(r(4, 3, 3, 2)), padding=1, label="layouts")
            case("conv1d", lay(r(2, 3, 6)), lay(r(4, 3, 2)), label="layouts")
            case("conv_transpose2d", lay(r(2, 3, 3, 4)), lay(r(3, 2, 3, 2)), label="layouts")
        case("conv2d", expanded(r(1, 3, 1, 6), 2, 3, 5, 6), expanded(r(3, 1, 1), 4, 3, 2, 2), label="expanded")
        for options in ({}, {"padding": 1}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}):
            x = with_specials(r(1, 2, 6, 7))
            f.case("conv2d", lambda x, w: F.conv2d(x, w, **options), [x, rand(3, 2, 3, 3, dtype=dtype, low=0.5)], label="NaN and infinity", **options)
            f.case("conv2d", lambda x, w: F.conv2d(x, w, groups=2, **options), [x, rand(2, 1, 3, 3, dtype=dtype, low=0.5)], label="NaN and infinity",
                   groups=2, **options)

        case("conv_transpose1d", r(2, 3, 5), r(3, 4, 3))
        case("conv_transpose1d", r(3, 5), r(3, 4, 3), label="one signal")
        case("conv_transpose1d", r(0, 3, 5), r(3, 4, 3), label="no signal")
        for stride, extra in ((1, 0), (2, 1), (3, 2)):
            for padding in (0, 1):
                for dilation in (1, 2):
                    options = dict(stride=stride, padding=padding, output_padding=extra, dilation=dilation)
                    case("conv_transpose1d", r(2, 2, 6), r(2, 3, 3), **options)
                    case("conv_transpose1d", r(2, 4, 6), r(4, 3, 3), groups=2, **options)
                    case("conv_transpose1d", r(2, 2, 6), r(2, 1, 2), groups=2, **options)
                    case("conv_transpose2d", r(2, 2, 3, 4), r(2, 3, 2, 3), **options)
                    case("conv_transpose2d", r(2, 4, 3, 4), r(4, 2, 3, 2), groups=2, **options)
                    case("conv_transpose2d", r(2, 2, 3, 4), r(2, 1, 3, 3), groups=2, **options)
        case("conv_transpose2d", r(2, 3, 3, 4), r(3, 2, 2, 3), stride=(2, 3), padding=(1, 0), output_padding=(0, 2))
        case("conv_transpose2d", r(2, 3, 3, 4), r(3, 2, 1, 1), label="one element")
        case("conv_transpose2d", r(2, 3, 3, 4), r(3, 2, 1, 1), stride=2, output_padding=1, label="one element")
        case("conv_transpose2d", r(1, 9, 3, 5), r(9, 17, 2, 3), stride=2, padding=1, label="more than a vector")
        case("conv_transpose2d", r(3, 3, 4), r(3, 2, 3, 2), label="one image")
    return f


FAMILIES = (convolution,)
