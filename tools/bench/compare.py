"""Compare the speed of two builds of ludex in alternate runs: playouts, UCT, alpha-beta and generation, each game.

compare.py OLD NEW [--runs 5] [--seconds 0.2] [--generation]

Prints the median of the ratios new/old, and the least and the greatest of them: on a machine that does other things too only
alternate runs can be compared, and only by their ratio.
"""

import argparse
import json
import statistics
import subprocess

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("old")
parser.add_argument("new")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--seconds", default="0.2")
parser.add_argument("--generation", action="store_true")
parser.add_argument("--game", action="append", default=[])
args = parser.parse_args()


def measure(binary):
    games = [word for game in args.game for word in ("--game", game)]
    mode = ["--generation"] if args.generation else ["--seconds", args.seconds]
    out = subprocess.run([binary, "bench", "--json", *mode, *games], capture_output=True, text=True, check=True).stdout
    report = json.loads(out)
    if args.generation:
        return {g["game"]: g["simulations_per_cpu_second"] for g in report["generation"]}
    rates = {}
    for g in report["games"]:
        rates[f"{g['game']}, playouts"] = g["playouts_per_s"]
        rates[f"{g['game']}, UCT"] = g["sims_per_s"]
    rates["connect4, alpha-beta"] = report["alphabeta"]["nodes_per_s"]
    return rates


runs = [(measure(args.old), measure(args.new)) for _ in range(args.runs)]
for name in runs[0][0]:
    ratios = [new[name] / old[name] for old, new in runs]
    print(f"{name:<36} {statistics.median(ratios):.3f}   [{min(ratios):.3f}, {max(ratios):.3f}]")
