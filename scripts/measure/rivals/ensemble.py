"""Training many models as one with torch.func, as its documentation on model ensembling does: parameters stacked, vmap over runs."""
import copy
import time

from common import COMPILE_SECONDS, adamw, loss_of, torch
from torch.func import functional_call, grad, stack_module_state, vmap


def train_together(models, lr, inputs, labels, validation, eval_every, compiled):
    """inputs and labels: (steps, R, ...), of validation (R, ...). The final validation loss of each of the R runs."""
    parameters, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")

    def logits_of(parameters, buffers, x):
        return functional_call(base, (parameters, buffers), (x,))

    def loss(parameters, buffers, x, y):
        return loss_of(logits_of(parameters, buffers, x), y)

    @torch.no_grad()
    def evaluate(x, y):
        logits = vmap(logits_of)(parameters, buffers, x)
        correct = (logits.argmax(-1) == y).flatten(1).sum(1)
        return vmap(loss_of)(logits, y), correct

    gradients = vmap(grad(loss))
    if compiled:
        torch.compiler.reset()  # every shape is compiled for itself
        gradients, evaluate = torch.compile(gradients), torch.compile(evaluate)
    optimizer = adamw(parameters.values(), lr, matrices_from=3)
    history, began = [], time.perf_counter()
    for step, (x, y) in enumerate(zip(inputs, labels)):
        if step % eval_every == 0:
            history.append(evaluate(*validation))
        found = gradients(parameters, buffers, x, y)
        if compiled and step == 0:
            COMPILE_SECONDS.append(time.perf_counter() - began)
        for name, parameter in parameters.items():
            parameter.grad = found[name]
        optimizer.step()
    history.append(evaluate(*validation))
    return history[-1][0].tolist()
