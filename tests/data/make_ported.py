"""Writes ported/<model>.safetensors and ported/<model>.json for tests/nn/ported: small public PyTorch models with random weights, their
outputs, gradients and the losses of 20 steps of AdamW on one batch.

    make_ported.py MAMBA GAT [MODEL...]     checkouts of johnma2006/mamba-minimal and gordicaleksa/pytorch-GAT

Needs torch, safetensors, einops, denoising-diffusion-pytorch, transformers and nflows from PyPI. The tensors of a file are the weights
(model.<name>, float32), the inputs (input.<name>), the output, and some gradients (grad.<name>). Everything is computed in float64 from these
weights; T5 in float32, because its norms always are.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
STEPS, LR = 20, 1e-3


def unet(config, shape):
    from denoising_diffusion_pytorch.denoising_diffusion_pytorch import Unet
    model = Unet(**config)
    inputs = dict(x=torch.randn(shape), time=torch.tensor([3.0, 40.0]), target=torch.randn(shape[0], model.out_dim, *shape[2:]))
    if config.get("self_condition"):
        inputs["self_cond"] = torch.randn(shape)
    forward = lambda m, i: m(i["x"], i["time"], i.get("self_cond"))
    return model, inputs, forward, lambda y, i: F.mse_loss(y, i["target"])


def mamba(config):
    import model as source
    inputs = dict(ids=torch.randint(0, config["vocab_size"], (2, 13)))
    forward = lambda m, i: m(i["ids"][:, :-1])
    return (source.Mamba(source.ModelArgs(**config)), inputs, forward,
            lambda y, i: F.cross_entropy(y.flatten(0, 1), i["ids"][:, 1:].flatten()))


def gat(config):
    from models.definitions.GAT import GAT
    nodes, classes = 40, config["num_features_per_layer"][-1]
    edges = torch.cat([torch.randint(0, nodes, (2, 120)), torch.arange(nodes).expand(2, nodes)], 1)
    inputs = dict(x=torch.randn(nodes, config["num_features_per_layer"][0]), edges=edges, labels=torch.randint(0, classes, (nodes,)))
    return (GAT(len(config["num_heads_per_layer"]), dropout=0.0, **config), inputs, lambda m, i: m((i["x"], i["edges"]))[0],
            lambda y, i: F.cross_entropy(y, i["labels"]))


def bert(config):
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(BertConfig(**config, hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="eager"))
    ids = torch.randint(1, config["vocab_size"], (2, 11))
    ids[1, 8:] = 0
    labels = torch.where(torch.rand(ids.shape) < 0.4, torch.randint(1, config["vocab_size"], ids.shape), -100).masked_fill(ids == 0, -100)
    inputs = dict(ids=ids, types=(torch.arange(11) > 5).long().expand(2, 11), labels=labels)
    forward = lambda m, i: m(input_ids=i["ids"], token_type_ids=i["types"], attention_mask=(i["ids"] != 0).long()).logits
    return model, inputs, forward, lambda y, i: F.cross_entropy(y.flatten(0, 1), i["labels"].flatten())


def t5(config):
    from transformers import T5Config, T5ForConditionalGeneration
    model = T5ForConditionalGeneration(T5Config(**config, dropout_rate=0, decoder_start_token_id=0, attn_implementation="eager"))
    ids, labels = torch.randint(2, config["vocab_size"], (2, 12)), torch.randint(2, config["vocab_size"], (2, 9))
    ids[1, 7:] = 0
    forward = lambda m, i: m(input_ids=i["ids"], attention_mask=(i["ids"] != 0).long(), labels=i["labels"]).logits
    return model, dict(ids=ids, labels=labels), forward, lambda y, i: F.cross_entropy(y.flatten(0, 1), i["labels"].flatten())


def nsf(config):
    from nflows import distributions, flows, transforms
    from nflows.nn.nets import ResidualNet
    from nflows.utils import torchutils
    features = config["features"]
    linear = lambda: transforms.CompositeTransform(
        [transforms.RandomPermutation(features), transforms.LULinear(features, identity_init=True)])
    coupling = lambda i: transforms.PiecewiseRationalQuadraticCouplingTransform(
        torchutils.create_alternating_binary_mask(features, even=i % 2 == 0),
        lambda a, b: ResidualNet(a, b, config["hidden_features"], num_blocks=config["num_transform_blocks"]),
        num_bins=config["num_bins"], tails="linear", tail_bound=config["tail_bound"])
    layers = [transforms.CompositeTransform([linear(), coupling(i)]) for i in range(config["num_flow_steps"])] + [linear()]
    model = flows.Flow(transforms.CompositeTransform(layers), distributions.StandardNormal((features,)))
    inputs = dict(x=2 * torch.randn(24, features), noise=torch.randn(24, features))
    return model, inputs, lambda m, i: m.log_prob(i["x"]), lambda y, i: -y.mean()


def inverse_of_nsf(model, inputs):
    return torch.cat([t.reshape(24, -1) for t in model._transform.inverse(inputs["noise"])], 1)


MODELS = {
    "unet": (unet, dict(dim=8, dim_mults=(1, 2), channels=1, self_condition=True, attn_dim_head=8, attn_heads=2), ((2, 1, 8, 8),)),
    "unet_options": (unet, dict(dim=4, dim_mults=(1, 2), channels=2, learned_sinusoidal_cond=True, learned_sinusoidal_dim=6, init_dim=6,
                                learned_variance=True, full_attn=(True, False), attn_heads=(1, 2), attn_dim_head=(8, 4)), ((2, 2, 8, 8),)),
    "mamba": (mamba, dict(d_model=16, n_layer=2, vocab_size=29, d_state=6), ()),
    "gat": (gat, dict(num_heads_per_layer=[3, 2], num_features_per_layer=[12, 4, 5]), ()),
    "bert": (bert, dict(vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                        max_position_embeddings=12), ()),
    "t5": (t5, dict(vocab_size=31, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, relative_attention_num_buckets=8,
                    relative_attention_max_distance=10), ()),
    "nsf": (nsf, dict(features=5, hidden_features=16, num_flow_steps=2, num_transform_blocks=2, num_bins=4, tail_bound=3.0), ()),
}


def floating(tensors, dtype):
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}


def write(name):
    make, config, arguments = MODELS[name]
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    model, inputs, forward, loss_of = make(config, *arguments)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.05 * torch.randn(p.shape)
    seen = set()
    tensors = {f"model.{key}": t.detach().clone() for key, t in model.state_dict().items() if not (t.data_ptr() in seen or seen.add(t.data_ptr()))}
    tensors |= {f"input.{key}": t.clone() for key, t in inputs.items()}

    dtype = torch.float32 if name == "t5" else torch.float64
    torch.set_default_dtype(dtype)
    model, inputs = model.to(dtype).train(), floating(inputs, dtype)
    adam = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
    losses, norms = [], {}
    for step in range(STEPS):
        adam.zero_grad()
        y = forward(model, inputs)
        loss = loss_of(y, inputs)
        loss.backward()
        if step == 0:
            tensors["output"] = y.detach().clone().contiguous()
            norms = {key: p.grad.norm().item() for key, p in model.named_parameters() if p.grad is not None}
            some = [key for key, p in model.named_parameters() if p.grad is not None and p.numel() < 600]
            tensors |= {f"grad.{key}": model.get_parameter(key).grad.clone() for key in some[:: max(1, len(some) // 6)]}
        losses.append(loss.item())
        adam.step()
    if name == "nsf":
        with torch.no_grad():
            tensors["inverse"] = inverse_of_nsf(model, inputs)  # after the last step: samples and log |det|
    folder = HERE / "ported"
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / f"{name}.safetensors")
    result = dict(dtype=str(dtype).removeprefix("torch."), config=config, losses=losses, norms=norms)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(name, sum(p.numel() for p in model.parameters()), losses[0], losses[-1])


if __name__ == "__main__":
    mamba_folder, gat_folder, *names = sys.argv[1:]
    sys.path += [mamba_folder, gat_folder]
    torch.Tensor.float = lambda self: self.to(torch.get_default_dtype())  # mamba-minimal computes exp(A_log) in float32
    for each in names or MODELS:
        write(each)
