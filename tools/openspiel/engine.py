"""Talking to `ludex engine GAME`: commands in, answers out, GTP's framing.

`batch` sends everything at once and is fast; `Engine` answers command by command, for players.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from types import TracebackType


class Refused(Exception):
    """The engine answered `? reason`, or not at all."""


def program(text: str) -> list[str]:
    """The command line of `--ludex`; ends with exit code 2 if there is no such program."""
    words = shlex.split(text)
    if not words or shutil.which(words[0]) is None:
        print(f"no program at {text!r}: build it with `cargo build --release`", file=sys.stderr)
        sys.exit(2)
    return words


def add_program(parser: argparse.ArgumentParser) -> None:
    """The option that says which program to test."""
    parser.add_argument("--ludex", required=True, metavar="PATH", help="the ludex binary, such as target/release/ludex")


def batch(ludex: list[str], game: str, commands: list[str]) -> tuple[list[str], str]:
    """The answers to `commands`, each with its `=` or `?`, and what went to stderr."""
    done = subprocess.run(
        [*ludex, "engine", game],
        input="\n".join([*commands, "quit"]) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    answers = [block.strip() for block in done.stdout.split("\n\n")]
    return [a for a in answers if a][: len(commands)], done.stderr.strip()


class Engine:
    """A running engine that is asked one thing at a time."""

    def __init__(self, ludex: list[str], game: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [*ludex, "engine", game, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str) -> str:
        """The answer without its `=`."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Refused(f"{command}: the engine has ended") from None
        lines: list[str] = []
        for text in self.process.stdout:
            if text.strip():
                lines.append(text.strip())
            elif lines:
                break
        if not lines or not lines[0].startswith("="):
            raise Refused(f"{command}: {' '.join(lines) or 'the engine has ended'}")
        return "\n".join([lines[0][1:].strip(), *lines[1:]])

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.close()  # the end of its input ends the engine
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait(timeout=10)
