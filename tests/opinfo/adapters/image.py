"""Convolution, pooling, interpolation."""
from protocol import Call
from adapters.registry import ADAPTERS, need, on, spatial, without


# --- convolution, pooling, interpolation ---
for name in ("conv1d", "conv2d"):
    def f(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, name=name):
        return Call(name, [input, weight, bias], stride=spatial(stride), padding=spatial(padding), dilation=spatial(dilation),
                    groups=groups)
    ADAPTERS["nn.functional." + name] = f
for name in ("conv_transpose1d", "conv_transpose2d"):
    def f(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, name=name):
        return Call(name, [input, weight, bias], stride=spatial(stride), padding=spatial(padding), dilation=spatial(dilation),
                    output_padding=spatial(output_padding), groups=groups)
    ADAPTERS["nn.functional." + name] = f
for name in ("max_pool1d", "max_pool2d"):
    def f(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, name=name):
        stride = None if stride in ((), []) else stride
        return Call(name, [input], kernel_size=spatial(kernel_size), stride=spatial(stride), padding=spatial(padding),
                    dilation=spatial(dilation), ceil_mode=ceil_mode, return_indices=return_indices)
    ADAPTERS["nn.functional." + name] = f
for name in ("avg_pool1d", "avg_pool2d"):
    def f(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, name=name):
        stride = None if stride in ((), []) else stride
        return Call(name, [input], kernel_size=spatial(kernel_size), stride=spatial(stride), padding=spatial(padding),
                    ceil_mode=ceil_mode, count_include_pad=count_include_pad, divisor_override=divisor_override)
    ADAPTERS["nn.functional." + name] = f
for name in ("adaptive_avg_pool1d", "adaptive_avg_pool2d"):
    def f(input, output_size, name=name):
        if not isinstance(output_size, int):
            need(all(v is not None for v in output_size), "None as a size")
        return Call(name, [input], output_size=spatial(output_size))
    ADAPTERS["nn.functional." + name] = f
for name in ("adaptive_max_pool1d", "adaptive_max_pool2d"):
    def f(input, output_size, return_indices=False, name=name):
        if not isinstance(output_size, int):
            need(all(v is not None for v in output_size), "None as a size")
        return Call(name, [input], output_size=spatial(output_size), return_indices=return_indices)
    ADAPTERS["nn.functional." + name] = f


@on("nn.functional.interpolate")
def _(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    need(mode in ("nearest", "linear", "bilinear"), "mode " + mode)
    need(not antialias, "option antialias")
    need(not recompute_scale_factor, "option recompute_scale_factor")
    factor = None
    if scale_factor is not None:
        factor = [float(v) for v in (scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor])]
    return Call("interpolate", [input], size=spatial(size), scale_factor=factor, mode=mode, align_corners=bool(align_corners))


@on("nn.functional.upsample_nearest")
def _(input, size=None, scale_factor=None):
    return ADAPTERS["nn.functional.interpolate"](input, size, scale_factor, "nearest")


@on("nn.functional.upsample_bilinear")
def _(input, size=None, scale_factor=None):
    return ADAPTERS["nn.functional.interpolate"](input, size, scale_factor, "bilinear", True)


without("nn.functional.interpolate", "nearest-exact", "bicubic", "trilinear")
