"""CPU time of one online update and one prediction by scikit-learn: 200 inputs, 10 active; medians."""

import statistics
import time
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor

warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)
x = np.zeros((300, 200))
for row in x:
    row[rng.choice(200, 10, replace=False)] = 1
y = rng.normal(size=300)
for name, model in (
    ("linear SGD", SGDRegressor()),
    ("PA-I", SGDRegressor(loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=1.0)),
    ("MLP 40-20-40", MLPRegressor(hidden_layer_sizes=(40, 20, 40))),
):
    model.partial_fit(x[:1], y[:1])
    for what, step in (
        ("update", lambda i: model.partial_fit(x[i : i + 1], y[i : i + 1])),
        ("predict", lambda i: model.predict(x[i : i + 1])),
    ):
        times = []
        for i in range(300):
            start = time.process_time()
            step(i)
            times.append(time.process_time() - start)
        median = statistics.median(times) * 1e9
        print(f"scikit-learn {sklearn.__version__}, {name + ', ' + what:26} {median:10.0f} ns", flush=True)
