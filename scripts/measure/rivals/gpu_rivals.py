#!/usr/bin/env python3
"""What scripts/check/gpu times beside ffn-train on the same device: prints one number.

    gpu_rivals.py xor RUNS STEPS                 JAX, vmap and scan, data drawn on the device: run-steps a second, compilation left out
    gpu_rivals.py char D BLOCKS T B MODE STEPS   PyTorch: ms a step; MODE is float32, tf32, bfloat16 or compile (bfloat16 with torch.compile)
"""
import sys
import time


def xor(runs, steps):
    import jax
    import jax.numpy as jnp

    d, f, batch = 8, 32, 64
    shapes = [(2, d), (d, f), (f, d), (d, 2)]

    def init(key):
        keys = jax.random.split(key, len(shapes))
        return [(jax.random.uniform(k, s, minval=-1, maxval=1) / s[0] ** 0.5, jnp.zeros(s[1])) for k, s in zip(keys, shapes)]

    def loss(params, key):
        bits = jax.random.bernoulli(key, shape=(batch, 2)).astype(jnp.int32)
        x = 2.0 * bits - 1
        for i, (w, b) in enumerate(params):
            x = x @ w + b
            x = jax.nn.relu(x) if i == 1 else x
        return -jnp.take_along_axis(jax.nn.log_softmax(x), (bits[:, :1] ^ bits[:, 1:]), 1).mean()

    def one(key):
        params = init(key)
        zeros = jax.tree.map(jnp.zeros_like, params)

        def step(carry, t):
            p, m, v = carry
            value, g = jax.value_and_grad(loss)(p, jax.random.fold_in(key, t))
            m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
            v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
            n = t + 1.0
            p = jax.tree.map(lambda q, a, b: q * (1 - 1e-5) - 1e-3 * (a / (1 - 0.9**n)) / (jnp.sqrt(b / (1 - 0.999**n)) + 1e-8), p, m, v)
            return (p, m, v), value

        return jax.lax.scan(step, (params, zeros, zeros), jnp.arange(steps))[1]

    train = jax.jit(jax.vmap(one))
    keys = jax.random.split(jax.random.key(0), runs)
    train(keys).block_until_ready()
    began = time.perf_counter()
    train(keys).block_until_ready()
    return runs * steps / (time.perf_counter() - began)


def char(d, blocks, length, batch, mode, steps):
    import torch
    from torch import nn
    from torch.nn import functional

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode == "tf32"

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            heads = [y.view(batch, length, -1, 64).transpose(1, 2) for y in self.qkv(self.first(x)).chunk(3, -1)]
            mixed = functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.out(mixed)
            return x + self.down(functional.gelu(self.up(self.second(x))))

    torch.manual_seed(0)
    embed, position, head = nn.Embedding(96, d), nn.Parameter(torch.zeros(length, d)), nn.Linear(d, 96)
    body = nn.Sequential(*[Block() for _ in range(blocks)], nn.LayerNorm(d))
    for module in (embed, head, body):
        module.to(device)
    position = nn.Parameter(position.detach().to(device))
    optimizer = torch.optim.AdamW([*embed.parameters(), position, *head.parameters(), *body.parameters()], 1e-3, fused=device == "cuda")

    def loss(x, y):
        return functional.cross_entropy(head(body(embed(x) + position)).flatten(0, 1).float(), y.flatten())

    compute = torch.compile(loss) if mode == "compile" else loss

    def step():
        x = torch.randint(96, (batch, length + 1), device=device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=mode in ("bfloat16", "compile")):
            value = compute(x[:, :-1], x[:, 1:])
        value.backward()
        optimizer.step()

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(3):
        step()
    wait()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - began) / steps * 1e3


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    print({"xor": xor, "char": char}[kind](*[int(x) if x.isdigit() else x for x in rest]))
