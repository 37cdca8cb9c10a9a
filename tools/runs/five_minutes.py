#!/usr/bin/env python3
"""Learn every game of docs/levels.md with `ludex learn GAME` and print its tables.

    python tools/runs/five_minutes.py --ludex target/release/ludex --out runs/five-minutes [GAME ..]

Runs that are finished are only read; one that was interrupted goes on. Takes about six minutes a game on two idle cores.
"""

import argparse
import json
import pathlib
import subprocess
import sys

GAMES = ["connect4", "othello", "morris", "dots:5x5", "breakthrough", "checkers", "gomoku:9x9", "gomoku", "tictactoe"]


def folder(game):
    """The name of a game's run."""
    path = pathlib.Path(game)
    return f"sheet-{path.stem}" if path.suffix == ".kif" else game.replace(":", "-")


def percent(row):
    """A score with its interval."""
    interval = row["interval"]
    return f"{100 * row['score']:.0f} % [{100 * interval['low']:.0f}, {100 * interval['high']:.0f}]"


def learn(ludex, game, run):
    """The report of a game, learned now if it is not there."""
    report = run / "reports/report.json"
    if not report.exists():
        resume = ["--resume"] if (run / "config.toml").exists() else []
        subprocess.run([ludex, "learn", game, "--run", str(run), *resume], check=True, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=GAMES)
    parser.add_argument("--ludex", default="target/release/ludex")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/five-minutes"))
    parser.add_argument("--finished", action="store_true", help="only print what is finished")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    reports = {}
    for game in args.games:
        run = args.out / folder(game)
        if not args.finished or (run / "reports/report.json").exists():
            reports[game] = learn(args.ludex, game, run)
    names = ["random", "same search", "uct", "minimax"]
    print("| game | games a row | " + " | ".join(names) + " | by hand |")
    print("|---|---:" + "|---" * (len(names) + 1) + "|")
    for game, report in reports.items():
        rows = {row["name"]: row for row in report["worth"]}
        by_hand = ", ".join(f"{name} {percent(row)}" for name, row in rows.items() if name not in names) or "-"
        cells = [percent(rows[name]) if name in rows else "-" for name in names]
        print(f"| {folder(game)} | {sum(rows['random']['wdl'].values())} | " + " | ".join(cells) + f" | {by_hand} |")
    print()
    most = max((len(report["levels"]) for report in reports.values()), default=0)
    print("| game | Elo of the first and the best | " + " | ".join(str(n) for n in range(1, most + 1)) + " |")
    print("|---|---" + "|---:" * most + "|")
    for game, report in reports.items():
        levels = report["levels"]
        span = f"{levels[0]['elo']['value']:+.0f} to {levels[-1]['elo']['value']:+.0f}" if levels else "-"
        steps = [f"{100 * level['score']['value']:.0f}" for level in levels] + [""] * (most - len(levels))
        print(f"| {folder(game)} | {span} | " + " | ".join(steps) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
