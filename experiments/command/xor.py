"""XOR of two bits in PyTorch: python3 xor.py --act relu --lr 0.03 --seed 0 --out DIR writes DIR/log.csv and DIR/result.json."""
import argparse
import json
import pathlib

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--act", choices=["relu", "gelu", "tanh"], required=True)
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--out", type=pathlib.Path, required=True)
options = parser.parse_args()

torch.manual_seed(options.seed)
torch.set_num_threads(1)
x = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
y = torch.tensor([0, 1, 1, 0])
act = {"relu": torch.nn.ReLU, "gelu": torch.nn.GELU, "tanh": torch.nn.Tanh}[options.act]
net = torch.nn.Sequential(torch.nn.Linear(2, 4), act(), torch.nn.Linear(4, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=options.lr)
with open(options.out / "log.csv", "w") as log:
    print("step,loss", file=log)
    for step in range(1, 101):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step},{loss.item()}", file=log, flush=True)
right = (net(x).argmax(1) == y).float().mean().item()
(options.out / "result.json").write_text(json.dumps({"accuracy": right}))
