"""CPU time per state of onnxruntime on exported nets, one thread: alone and 64 at a time; medians."""

import pathlib
import statistics
import sys
import time

import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
rng = np.random.default_rng(1)
for path in sys.argv[1:]:
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    width = session.get_inputs()[0].shape[1]
    for batch in (1, 64):
        x = (rng.random((batch, width)) < 1 / 3).astype(np.float32)
        times = []
        for _ in range(21):
            start = time.process_time()
            for _ in range(200):
                session.run(None, {"facts": x})
            times.append((time.process_time() - start) / 200 / batch)
        name = f"{pathlib.Path(path).stem}, {'alone' if batch == 1 else 'batch of 64'}"
        print(f"onnxruntime {onnxruntime.__version__}, {name:28} {statistics.median(times) * 1e9:10.0f} ns", flush=True)
