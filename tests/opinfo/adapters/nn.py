"""Normalisation, attention, dropout."""
import torch
from protocol import Call
from adapters.registry import need, on, without


# --- normalisation, attention, dropout ---
@on("nn.functional.layer_norm")
def _(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    if weight is None and bias is None and len(normalized_shape) > 1:
        weight = torch.ones(normalized_shape, dtype=input.dtype)
    return Call("layer_norm", [input, weight, bias], eps=float(eps))


@on("nn.functional.rms_norm")
def _(input, normalized_shape, weight=None, eps=None):
    if weight is None and len(normalized_shape) > 1:
        weight = torch.ones(normalized_shape, dtype=input.dtype)
    return Call("rms_norm", [input, weight], eps=float(torch.finfo(input.dtype).eps if eps is None else eps))


@on("nn.functional.batch_norm")
def _(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        return Call("batch_norm_training", [input, weight, bias], eps=float(eps))
    return Call("batch_norm", [input, running_mean, running_var, weight, bias], eps=float(eps))


@on("nn.functional.group_norm")
def _(input, num_groups, weight=None, bias=None, eps=1e-5):
    return Call("group_norm", [input, weight, bias], num_groups=num_groups, eps=float(eps))


@on("nn.functional.instance_norm")
def _(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    need(use_input_stats, "running statistics: the module")
    return Call("instance_norm", [input, weight, bias], eps=float(eps))


@on("nn.functional.scaled_dot_product_attention")
def _(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    return Call("attention", [query, key, value, attn_mask], dropout_p=float(dropout_p), is_causal=is_causal,
                scale=None if scale is None else float(scale), enable_gqa=enable_gqa)


@on("nn.functional.normalize")
def _(input, p=2.0, dim=1, eps=1e-12, out=None):
    return Call("normalize", [input], p=float(p), dim=dim, eps=float(eps))


@on("nn.functional.pairwise_distance")
def _(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return Call("pairwise_distance", [x1, x2], p=float(p), eps=float(eps), keepdim=keepdim)


@on("nn.functional.cosine_similarity")
def _(x1, x2, dim=1, eps=1e-8):
    return Call("cosine_similarity", [x1, x2], dim=dim, eps=float(eps))


@on("nn.functional.dropout")
def _(input, p=0.5, training=True, inplace=False):
    return Call("dropout", [input], p=float(p), training=training)


without("nn.functional.batch_norm", "without_cudnn")
without("nn.functional.silu", "complex")
