"""PyTorch's side of docs/gallery.md, with shapes checked; run by hand: python3 examples/documents/peers/ports.py"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class BertEmbeddings(nn.Module):
    def __init__(self, vocab, width, positions=512, kinds=2, p=0.1, pad=0):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, width, padding_idx=pad)
        self.position_embeddings = nn.Embedding(positions, width)
        self.token_type_embeddings = nn.Embedding(kinds, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(p)

    def forward(self, ids, types):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.word_embeddings(ids) + self.token_type_embeddings(types) + self.position_embeddings(places)
        return self.dropout(self.LayerNorm(x))


class Block(nn.Module):
    def __init__(self, dim, dim_out, p=0.0):
        super().__init__()
        self.proj, self.norm, self.dropout = nn.Conv2d(dim, dim_out, 3, padding=1), nn.GroupNorm(1, dim_out), nn.Dropout(p)

    def forward(self, x, scale=0.0, shift=0.0):
        return self.dropout(F.silu(self.norm(self.proj(x)) * (scale + 1) + shift))


class ResnetBlock(nn.Module):
    def __init__(self, dim, dim_out, time_dim, p=0.0):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_dim, 2 * dim_out))
        self.block1, self.block2 = Block(dim, dim_out, p), Block(dim_out, dim_out)
        self.res_conv = nn.Identity() if dim == dim_out else nn.Conv2d(dim, dim_out, 1)

    def forward(self, x, time):
        scale, shift = self.mlp(time)[..., None, None].chunk(2, dim=1)
        return self.block2(self.block1(x, scale, shift)) + self.res_conv(x)


class Graph(nn.Module):
    def __init__(self, width, heads, out):
        super().__init__()
        self.heads, self.out = heads, out
        self.scoring_fn_target = nn.Parameter(torch.randn(1, heads, out))
        self.scoring_fn_source = nn.Parameter(torch.randn(1, heads, out))
        self.linear_proj = nn.Linear(width, heads * out, bias=False)

    def forward(self, x, edges):
        source, target = edges
        h = self.linear_proj(x).view(-1, self.heads, self.out)
        score = (h * self.scoring_fn_source).sum(-1)[source] + (h * self.scoring_fn_target).sum(-1)[target]
        weight = torch.exp(F.leaky_relu(score, 0.2) - score.max())
        total = torch.zeros(len(h), self.heads).index_add(0, target, weight)  # per node
        attention = weight / total[target]
        return torch.zeros_like(h).index_add(0, target, h[source] * attention.unsqueeze(-1))


class StateSpace(nn.Module):
    def __init__(self, width, rank, states):
        super().__init__()
        self.sizes = [rank, states, states]
        self.x_proj = nn.Linear(width, sum(self.sizes), bias=False)
        self.dt_proj = nn.Linear(rank, width)
        self.A_log = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(width, 1))
        self.D = nn.Parameter(torch.ones(width))

    def state_space(self, u):  # [B, L, width] -> the same shape
        delta, b, c = self.x_proj(u).split(self.sizes, dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        decay = torch.exp(delta.unsqueeze(-1) * -self.A_log.exp())
        step = (delta * u).unsqueeze(-1) * b.unsqueeze(2)
        h, states = torch.zeros_like(step[:, 0]), []
        for t in range(u.shape[1]):
            h = decay[:, t] * h + step[:, t]
            states.append(h)
        return (torch.stack(states, dim=1) * c.unsqueeze(2)).sum(-1) + u * self.D


class T5Attention(nn.Module):
    def __init__(self, width, heads, head_width, p=0.1):
        super().__init__()
        self.heads, self.p = heads, p
        self.q, self.k, self.v = (nn.Linear(width, heads * head_width, bias=False) for _ in range(3))
        self.o = nn.Linear(heads * head_width, width, bias=False)

    def forward(self, x, keys, bias):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (self.q(x), self.k(keys), self.v(keys)))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=self.p if self.training else 0.0, scale=1.0)
        return self.o(y.transpose(1, 2).flatten(2))


if __name__ == "__main__":
    ids = torch.randint(0, 9, (2, 5))
    assert BertEmbeddings(9, 8)(ids, torch.zeros_like(ids)).shape == (2, 5, 8)
    assert ResnetBlock(4, 6, 8)(torch.randn(2, 4, 8, 8), torch.randn(2, 8)).shape == (2, 6, 8, 8)
    assert Graph(4, 2, 3)(torch.randn(5, 4), torch.tensor([[0, 1, 2, 4], [1, 1, 0, 3]])).shape == (5, 2, 3)
    assert StateSpace(6, 2, 3).state_space(torch.randn(2, 7, 6)).shape == (2, 7, 6)
    assert T5Attention(8, 2, 3)(torch.randn(2, 5, 8), torch.randn(2, 4, 8), torch.zeros(1, 2, 5, 4)).shape == (2, 5, 8)
    print("shapes are right")
