"""Convolution, pooling, interpolation, grids, patches."""
from protocol import Call
from adapters.registry import ADAPTERS, on, spatial


def on_ranks(name, f):
    """The function under NAME1d, NAME2d and NAME3d."""
    for rank in (1, 2, 3):
        ADAPTERS[f"nn.functional.{name}{rank}d"] = f(f"{name}{rank}d", rank)


# --- convolution, pooling ---
def convolution(name, rank):
    def f(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return Call(name, [input, weight, bias], stride=spatial(stride), padding=spatial(padding), dilation=spatial(dilation),
                    groups=groups)
    return f


def transposed(name, rank):
    def f(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return Call(name, [input, weight, bias], stride=spatial(stride), padding=spatial(padding), dilation=spatial(dilation),
                    output_padding=spatial(output_padding), groups=groups)
    return f


def max_pool(name, rank):
    def f(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        stride = None if stride in ((), []) else stride
        return Call(name, [input], kernel_size=spatial(kernel_size), stride=spatial(stride), padding=spatial(padding),
                    dilation=spatial(dilation), ceil_mode=ceil_mode, return_indices=return_indices)
    return f


def avg_pool(name, rank):
    def f(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        stride = None if stride in ((), []) else stride
        return Call(name, [input], kernel_size=spatial(kernel_size), stride=spatial(stride), padding=spatial(padding),
                    ceil_mode=ceil_mode, count_include_pad=count_include_pad, divisor_override=divisor_override)
    return f


def size_of(input, output_size, rank):
    """None stands for the size of the input."""
    if output_size is None or isinstance(output_size, int):
        return output_size if output_size is not None else list(input.shape[-rank:])
    return [n if v is None else v for v, n in zip(output_size, input.shape[-rank:])] if None in output_size else list(output_size)


def adaptive_avg_pool(name, rank):
    def f(input, output_size):
        return Call(name, [input], output_size=size_of(input, output_size, rank))
    return f


def adaptive_max_pool(name, rank):
    def f(input, output_size, return_indices=False):
        return Call(name, [input], output_size=size_of(input, output_size, rank), return_indices=return_indices)
    return f


on_ranks("conv", convolution)
on_ranks("conv_transpose", transposed)
on_ranks("max_pool", max_pool)
on_ranks("avg_pool", avg_pool)
on_ranks("adaptive_avg_pool", adaptive_avg_pool)
on_ranks("adaptive_max_pool", adaptive_max_pool)


# --- interpolation ---
@on("nn.functional.interpolate")
def _(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    factor = None
    if scale_factor is not None:
        factor = [float(v) for v in (scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor])]
    return Call("interpolate", [input], size=spatial(size), scale_factor=factor, mode=mode, align_corners=bool(align_corners),
                antialias=antialias, recompute_scale_factor=bool(recompute_scale_factor))


@on("nn.functional.upsample_nearest")
def _(input, size=None, scale_factor=None):
    return ADAPTERS["nn.functional.interpolate"](input, size, scale_factor, "nearest")


@on("nn.functional.upsample_bilinear")
def _(input, size=None, scale_factor=None):
    return ADAPTERS["nn.functional.interpolate"](input, size, scale_factor, "bilinear", True)


@on("_upsample_bilinear2d_aa")
def _(input, output_size=None, align_corners=False, scale_factors=None):
    return ADAPTERS["nn.functional.interpolate"](input, output_size, scale_factors, "bilinear", align_corners, antialias=True)


# --- grids ---
@on("nn.functional.grid_sample")
def _(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    return Call("grid_sample", [input, grid], mode=mode, padding_mode=padding_mode, align_corners=bool(align_corners))


@on("grid_sampler_2d", "grid_sampler_3d")
def _(input, grid, interpolation_mode, padding_mode, align_corners):
    return Call("grid_sample", [input, grid], mode=["bilinear", "nearest", "bicubic"][interpolation_mode],
                padding_mode=["zeros", "border", "reflection"][padding_mode], align_corners=align_corners)


@on("nn.functional.affine_grid")
def _(theta, size, align_corners=None):
    return Call("affine_grid", [theta], size=list(size), align_corners=bool(align_corners))


# --- patches ---
@on("nn.functional.unfold")
def _(input, kernel_size, dilation=1, padding=0, stride=1):
    return Call("unfold2d", [input], kernel_size=spatial(kernel_size), dilation=spatial(dilation), padding=spatial(padding),
                stride=spatial(stride))


@on("nn.functional.fold")
def _(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return Call("fold2d", [input], output_size=spatial(output_size), kernel_size=spatial(kernel_size), dilation=spatial(dilation),
                padding=spatial(padding), stride=spatial(stride))


@on("nn.functional.pixel_shuffle")
def _(input, upscale_factor):
    return Call("pixel_shuffle", [input], factor=upscale_factor)


@on("nn.functional.pixel_unshuffle")
def _(input, downscale_factor):
    return Call("pixel_unshuffle", [input], factor=downscale_factor)


@on("nn.functional.channel_shuffle")
def _(input, groups):
    return Call("channel_shuffle", [input], groups=groups)
