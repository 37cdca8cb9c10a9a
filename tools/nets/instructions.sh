#!/bin/sh
# Instructions per state, counted by valgrind: the difference of two runs, so that starting up does not count.
# Usage: tools/nets/instructions.sh   (from the root, after: cargo build --release -p ludex-learn --example bench_nets)
set -eu
program=target/release/examples/bench_nets
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" --probe "$1" "$2" "$3" 2>&1 |
        sed -n 's/.*refs: *//p' | tr -d ,
}
for probe in "mlp alone" "mlp batch" "mlp children" "cascade alone" "cascade batch" "cascade children" "flat alone"; do
    set -- $probe
    few=$(count "$1" "$2" 1280)
    many=$(count "$1" "$2" 3840)
    echo "$1, $2: $(((many - few) / 2560)) instructions per state"
done
