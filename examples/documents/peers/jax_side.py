#!/usr/bin/env python3
"""JAX's side of docs/from_jax_and_mlx.md. Run by hand: it needs PyPI's jax, and torch, whose random numbers tapegrad draws.

    PYTHON examples/documents/peers/jax_side.py | diff - examples/documents/from_jax_and_mlx.txt

Prints what from_jax_and_mlx.cpp prints, by JAX: with version 0.10.2, no line differs."""
import jax
import jax.numpy as jnp
import torch

jax.config.update("jax_platforms", "cpu")


def tensor(x):
    return str(torch.tensor(x.tolist()))


def drawn(x):
    return jnp.asarray(x.detach().numpy())


def functions():
    f = lambda x: jnp.sum(jnp.sin(x) * x)
    x = jnp.array([0.5, 1.0])
    value, dx = jax.value_and_grad(f)(x)
    second = jax.hessian(f)(x)
    _, along = jax.jvp(f, (x,), (jnp.array([1.0, 0.0]),))
    print(f"{float(value):.6g} {tensor(dx)}\n{tensor(second)}\n{float(along):.6g}")


def rows():
    torch.manual_seed(0)
    linear = torch.nn.Linear(3, 2)
    W, b, x = drawn(linear.weight), drawn(linear.bias), drawn(torch.randn(5, 3))
    f = lambda x: jnp.tanh(W @ x + b)       # [3] -> [2]: written for one example
    jacobians = jax.vmap(jax.jacrev(f))(x)  # [5, 2, 3]
    print("jacobians", list(jacobians.shape))


def mlp(params, x):
    return jnp.tanh(x @ params["up"]["w"].T + params["up"]["b"]) @ params["down"]["w"].T + params["down"]["b"]


def parameters():
    torch.manual_seed(0)
    up, down = torch.nn.Linear(3, 8), torch.nn.Linear(8, 1)
    params = {"up": {"w": drawn(up.weight), "b": drawn(up.bias)}, "down": {"w": drawn(down.weight), "b": drawn(down.bias)}}
    x, y = drawn(torch.randn(4, 3)), drawn(torch.randn(4, 1))
    loss = lambda params: jnp.mean((mlp(params, x) - y) ** 2)
    value, grads = jax.value_and_grad(loss)(params)
    moved = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    later = loss(moved)
    print(f"loss {value:.4f}, one step later {later:.4f}")

    one = lambda params, x, y: jnp.mean((mlp(params, x) - y) ** 2)
    each = jax.vmap(jax.grad(one), in_axes=(None, 0, 0))(params, x, y)
    print("gradients of up.weight", list(each["up"]["w"].shape))


def random_numbers():
    first, second = jax.random.split(jax.random.key(1))
    a, b = jax.random.normal(first, (2,)), jax.random.normal(second, (2,))
    equal = bool((jax.random.uniform(first, (8,)) == jax.random.uniform(first, (8,))).all())
    print(f"random {list((a + b).shape)}, copies draw {'the same' if equal else 'other numbers'}")


def fused():
    x = jnp.array([-1.0, 0.0, 2.0])
    f = jax.jit(lambda v: v / (1 + jnp.exp(-1.5 * v)))
    print("fused", tensor(jax.grad(lambda x: jnp.sum(f(x)))(x)))


def scan():
    decay, inputs = jnp.full(5, 0.5), jnp.ones(5)
    combine = lambda left, right: (left[0] * right[0], left[1] * right[0] + right[1])
    _, state = jax.lax.associative_scan(combine, (decay, inputs))
    print("scan", tensor(state))


if __name__ == "__main__":
    functions()
    rows()
    parameters()
    random_numbers()
    fused()
    scan()
