"""Check an ONNX file with the real checker and run it with the real runtime, for the tests of `ludex-learn`.

check_onnx.py FILE; stdin: a list of lists of active columns, one per state.
Prints {"outputs": {name: rows}, "metadata": {..}, "names": [..]}.
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime

model = onnx.load(sys.argv[1])
onnx.checker.check_model(model, full_check=True)
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
states = json.load(sys.stdin)
x = np.zeros((len(states), session.get_inputs()[0].shape[1]), dtype=np.float32)
for row, active in zip(x, states):
    row[active] = 1.0
names = [output.name for output in session.get_outputs()]
outputs = dict(zip(names, (y.tolist() for y in session.run(names, {"facts": x}))))
metadata = {entry.key: entry.value for entry in model.metadata_props}
json.dump({"outputs": outputs, "metadata": metadata, "names": names}, sys.stdout)
