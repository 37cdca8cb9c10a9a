"""Read the parts of a run with pyarrow, a reader that is not ours, and hold them to what a search must leave behind.

read_parts.py RUN SIMULATIONS, for a run of Connect Four. Prints how many rows it saw, file by file, as JSON.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq

run, simulations = Path(sys.argv[1]), int(sys.argv[2])
rows = {}
for path in sorted(run.glob("parts/*.parquet")):
    table = pq.read_table(path)
    assert table.schema.metadata[b"game"] == b"connect4:7x6x4", table.schema.metadata
    names = {what: json.loads(table.schema.metadata[what + b"_names"]) for what in (b"fact", b"move")}
    assert len(names[b"fact"]) == int(table.schema.metadata[b"facts"]) and names[b"move"] == list("1234567"), names
    visits, discs, results = Counter(), defaultdict(set), defaultdict(set)
    for row in table.to_pylist():
        facts = int.from_bytes(row["facts"], "little")
        held = [name for f, name in enumerate(names[b"fact"]) if facts >> f & 1]
        assert f"(control {'xo'[row['mover']]})" in held, held
        visits[row["match"], row["ply"]] += row["visits"]
        discs[row["match"]].add(facts.bit_count() - row["ply"])
        results[row["match"]].add((row["result_0"], row["result_1"]))
        assert row["payoff_0"] == -row["payoff_1"] and abs(row["payoff_0"]) <= 1, row
        assert row["mover"] == 1 - row["chooser"] and 0 <= row["move"] < 7, row
    assert set(visits.values()) == {simulations}, f"{path}: the children of a root share its simulations"
    assert all(len(d) == 1 for d in discs.values()), f"{path}: every ply adds one disc"
    assert all(len(r) == 1 for r in results.values()), f"{path}: a match has one result"
    rows[f"parts/{path.name}"] = table.num_rows
json.dump(rows, sys.stdout)
