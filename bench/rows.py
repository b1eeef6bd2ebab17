"""The rows of bench/run.sh: what is measured, with the names and sizes that every program of a row receives."""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    kind: str  # step: bench_steps and bench/peers/steps.py; call: a Google Benchmark and bench/peers/ops.py
    settings: dict = dataclasses.field(default_factory=dict)  # of a step, passed as JSON
    large: bool = False  # takes long: left out by --quick
    unit: str = "ms"
    per: float = 1  # milliseconds of the program in one of the unit

    def arguments(self, **more):
        return json.dumps({**self.settings, **more})


GPT = dict(model="gpt", seed=0, drop_rate=0.0, qkv_bias=True, tied_head=True, lr=3e-4, weight_decay=0.1)
SMALL = dict(GPT, vocab_size=65, context_length=64, emb_dim=128, n_heads=4, n_layers=4, batch=12, tokens=64)
MEDIUM = dict(GPT, vocab_size=65, context_length=256, emb_dim=384, n_heads=6, n_layers=6, batch=12, tokens=256)
GPT2 = dict(GPT, vocab_size=50257, context_length=1024, emb_dim=768, n_heads=12, n_layers=12)
BOOK = dict(GPT2, context_length=256, drop_rate=0.1, qkv_bias=False, tied_head=False, lr=4e-4, batch=2, tokens=256)


def step(name, title, settings, large=False):
    return Row(f"step/{name}", title, "step", settings, large)


def call(name, title, large=False, **more):
    return Row(name, title, "call", {}, large, **more)


def small_operation(name):
    """Chains of 100 operations; the table shows one of them, with its backward, in nanoseconds."""
    return call(f"chain/{name}/8", f"{name} of 8 numbers, recorded, with backward", unit="ns", per=1e-4)


def generation(dtype):
    """GPT-2 124M with weights in this format: 64 tokens of each sequence after one token, and a long prompt."""
    return [*(call(f"generate/{dtype}/{n}", f"GPT-2 124M in {dtype}, 64 tokens of {n} sequence{'s' * (n > 1)}") for n in (1, 4, 16)),
            call(f"prompt/{dtype}", f"GPT-2 124M in {dtype}, a prompt of 1,024 tokens")]


TABLE = [
    step("copy", "copy", dict(model="copy", seed=0)),
    step("parser", "parser", dict(model="parser", seed=0)),
    step("addition", "addition", dict(model="addition", seed=0)),
    step("gpt_4x128", "GPT 4 x 128, T 64, B 12, V 65", SMALL),
    step("gpt_6x384", "GPT 6 x 384, T 256, B 12, V 65", MEDIUM),
    step("gpt2_4x64", "GPT-2 124M, B 4, T 64", dict(GPT2, batch=4, tokens=64)),
    step("gpt2_4x64_bfloat16", "the same, products in bfloat16", dict(GPT2, batch=4, tokens=64, dtype="bfloat16")),
    step("gpt2_1x1024", "GPT-2 124M, B 1, T 1024", dict(GPT2, batch=1, tokens=1024), large=True),
    step("book", "chapter 5's GPT 162M, B 2, T 256, dropout", BOOK, large=True),
    call("causal_attention_with_gradients/1/4/1024/64", "causal attention [1, 4, 1024, 64], with gradients"),
    call("causal_attention_with_gradients/1/4/8192/64", "the same, T 8192", large=True),
    call("documents_with_gradients/8/2048/64", "documents of 300 tokens in 8 heads of [2048, 64], with gradients"),
    call("soft_cap_with_gradients/8/2048/64", "the same with a soft cap", large=True),
    call("ctc_loss_with_gradient/400/16/80/60", "CTC [400, 16, 80], 60 labels, with gradient"),
    call("linear/256/3072/768", "linear [256, 768] -> 3072"),
    call("linear_dx/256/3072/768", "its gradient for x"),
    call("linear_dw/256/3072/768", "its gradient for the weight"),
    call("linear/256/50257/768", "logits [256, 768] -> 50257"),
    call("cross_entropy_with_gradient/1024/50257", "cross-entropy [1024, 50257], with gradient"),
    call("linear_cross_entropy_with_gradients/1024/50257/768", "cross-entropy of linear [1024, 768] -> 50257, with gradients", large=True),
    call("layer_norm/4096/768", "layer_norm [4096, 768]"),
    call("layer_norm_with_gradients/4096/768", "the same, with gradients"),
    call("softmax/4096/768", "softmax [4096, 768]"),
    call("layer_norm/16384/768", "layer_norm [16384, 768], more than the caches hold"),
    call("layer_norm_with_gradients/16384/768", "layer_norm [16384, 768], with gradients"),
    call("softmax/16384/768", "softmax [16384, 768]"),
    call("batch_jacobian/64", "Jacobians [64, 6 x 3] of a network 3-128-128-6"),
    call("net_per_example/64", "its gradients, for each of 64 examples"),
    call("block_per_example/64", "a feed-forward block on [64, 64, 128]: gradients for each example"),
    call("block_gradients/64", "the same, of the batch"),
    call("block_forward/value", "its value [64, 64, 128]"),
    call("block_forward/jvp", "the same, with its derivative in one direction (jvp)"),
    call("interpolate_bicubic_2/32/64/28/28", "bicubic interpolation of [32, 64, 28, 28] to twice the size, with gradients"),
    call("grid_sample_bilinear/32/64/28/28", "grid_sample of [32, 64, 28, 28] at as many positions, with gradients"),
    call("conv_with_gradients/volume", "conv3d 3 x 3 x 3 of [2, 32, 16, 32, 32], with gradients"),
    call("dropout/1000000", "dropout of 1 M"),
    call("sparse_step/sgd", "SGD on sparse gradients: a step of an embedding [1,000,000, 16] with 4,096 ids"),
    call("sparse_step/adagrad", "the same, Adagrad"),
    call("sparse_step/adam", "the same, Adam (PyTorch: SparseAdam)"),
    call("forward/tanh", "tanh of 16 M"),
    call("forward/gelu_erf", "gelu (erf) of 16 M"),
    call("forward/gelu_tanh", "gelu (tanh) of 16 M"),
    call("forward/add", "add of 16 M"),
    call("formula/gelu/gradients", "fuse: gelu of 1 M, with its gradient"),
    call("formula/burgers/gradients", "fuse: u_t + u u_x - nu u_xx of 1 M, with gradients"),
    small_operation("add"),
    small_operation("mul"),
    *generation("int8"),
    *generation("int4"),
]
