"""Follow scikit-learn step by step on the data of a request, for the parity tests of `ludex-learn`.

Reads one JSON object on stdin: {"learner", "inputs", "rows": [[active..]..], "targets", "batch", "hidden", "params"}.
Prints one JSON object: the weights after all updates, flat, layer by layer (weights input-major, then biases).
"""

import json
import sys
import warnings

import numpy as np
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

warnings.filterwarnings("ignore")


def given(base, layers):
    """An MLP of class `base` that starts from these weights."""

    class Given(base):
        def _init_coef(self, fan_in, fan_out, dtype):
            return layers.pop(0)

    Given.__name__ = base.__name__
    return Given


def linear(request, x, y):
    if request["learner"] == "sgd":
        model = SGDRegressor()
    else:  # the successor of PassiveAggressiveRegressor
        model = SGDRegressor(loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=1.0)
    for row, target in zip(x, y):
        model.partial_fit(row[None, :], target)
    return np.concatenate([model.coef_, model.intercept_])


def mlp(request, x, y):
    sizes = [request["inputs"], *request["hidden"], request["outputs"]]
    params, layers = np.array(request["params"]), []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        weights, bias, params = np.split(params, [fan_in * fan_out, (fan_in + 1) * fan_out])
        layers.append((weights.reshape(fan_in, fan_out).copy(), bias.copy()))
    base = MLPClassifier if request["learner"] == "classifier" else MLPRegressor
    model = given(base, layers)(hidden_layer_sizes=tuple(request["hidden"]), **request["options"])
    extra = {"classes": list(range(request["outputs"]))} if base is MLPClassifier else {}
    size = request["batch"]
    for at in range(0, len(x), size):
        model.partial_fit(x[at : at + size], y[at : at + size], **extra)
    return np.concatenate([part.ravel() for pair in zip(model.coefs_, model.intercepts_) for part in pair])


def main():
    request = json.load(sys.stdin)
    x = np.zeros((len(request["rows"]), request["inputs"]))
    for i, active in enumerate(request["rows"]):
        x[i, active] = 1.0
    y = np.array(request["targets"])
    if request["learner"] in ("sgd", "pa"):
        weights = linear(request, x, y.reshape(-1, 1))
    else:
        if request["learner"] == "classifier":
            y = y.argmax(axis=1)
        elif request["outputs"] == 1:
            y = y.ravel()
        weights = mlp(request, x, y)
    json.dump(weights.tolist(), sys.stdout)


main()
