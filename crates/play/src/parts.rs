//! Every part that a spec can name, with its options and their defaults: the help page prints these tables, and
//! [`crate::build`] reads its defaults from them, so neither can lie about the other.

/// What a part is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Plays by itself.
    Agent,
    /// Plays out simulations: `playout=`.
    Playout,
    /// Judges positions: `eval=`.
    Evaluator,
}

/// A part that a spec can name.
pub struct Part {
    /// What it is for.
    pub kind: Kind,
    /// What to type.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its options.
    pub options: &'static [&'static [Opt]],
}

/// An option of a part.
pub struct Opt {
    /// What to type.
    pub name: &'static str,
    /// What it is if nothing is typed; empty for "not set".
    pub default: &'static str,
    /// One line about it.
    pub about: &'static str,
}

const fn opt(name: &'static str, default: &'static str, about: &'static str) -> Opt {
    Opt { name, default, about }
}

const fn final_move(default: &'static str) -> Opt {
    opt("final", default, "robust: most visits; max: highest mean; secure: highest lower bound")
}

const LIMITS: &[Opt] = &[
    opt("sims", "", "simulations a move (1000 if no limit is given)"),
    opt("visits", "", "node visits a move"),
    opt("expansions", "", "nodes added a move"),
    opt("ms", "", "milliseconds a move"),
    opt("cpu_ms", "", "milliseconds of processor time a move"),
];

const PHASES: &[Opt] = &[
    opt(
        "expand",
        "random",
        "random | leftmost: one child a simulation; all | second | fourth | eighth: all children at the first | .. visit",
    ),
    final_move("robust"),
];

/// What all searches of a tree have in common.
const TREE: &[Opt] = &[
    opt("playout", "uniform", "uniform | mast | decisive | valued | cut | guided"),
    opt("backup", "mean", "mean: a counter for each player; unique: one for all (wrong, for comparison)"),
    opt(
        "solver",
        "off",
        "off | ends: finished games are not explored; on: proven wins and losses are carried up; shared: and found again by position",
    ),
    opt("graph", "off", "off | on: a position that several orders of moves lead to is searched once"),
    opt("reuse", "off", "off | on: keep the tree below the moves played"),
    opt("nodes", "16000000", "the most nodes in the tree; then it stops to grow"),
    opt("profile", "off", "off | on: the time of each phase is counted, for those who measure"),
];

const UCB: &[Opt] = &[
    opt("c", "1.4", "exploration constant"),
    opt("form", "plain", "plain: C sqrt(ln N/n); kocsis: 2 C sqrt(2 ln N/n); burger: C sqrt(2 ln N/n)"),
    opt("reward", "unit", "the scale the constant is meant for: unit [0, 1]; signed [-1, 1]; hundred [0, 100]"),
    opt("mean", "signed", "signed: the chooser's own mean | abs: its absolute value (a formula as printed; wrong)"),
];

const GRAVE: &[Opt] = &[
    opt("ref", "50", "visits an ancestor needs for its statistics to be used (RAVE: 0)"),
    opt("bias", "0.00001", "how soon the mean takes over"),
    opt("c", "0", "exploration constant, plain form on [0, 1]"),
];

const RAVE: &[Opt] = &[
    opt("bias", "0.001", "how soon the mean takes over"),
    opt("c", "0.3", "exploration constant, plain form on [0, 1]"),
];

const NEURAL: &[Opt] = &[
    opt("model", "", "the value net: a model file, or a run (then its last model)"),
    opt("rule", "bonus", "bonus: as printed, the net scales exploration | mean: the net counts like visits of its own"),
    opt("c", "0.78", "exploration constant; bonus: as printed, on [-1, 1]; mean: plain form on [0, 1]"),
    opt("influence", "1", "bonus: the net's influence, from 0 (none) to 1 (as printed)"),
    opt("k", "10", "mean: how many visits the net's opinion is worth"),
    opt("from", "child", "child: playouts begin at the best new child | leaf: at the leaf"),
    opt("expand", "first", "first | second | fourth | eighth: all children at this visit"),
    final_move("robust"),
];

const RANKED: &[Opt] = &[
    opt(
        "model",
        "",
        "the net that ranks moves: a model file, or a run (then its last model); a value net judges children",
    ),
    opt("scheme", "exponential", "exponential | linear | constant: how the share that is dropped goes down with depth"),
    opt("share", "0.5", "the share dropped: of all moves (constant) or at depth 0; 0 drops nothing"),
    opt("rate", "0.23", "exponential: how fast the share decays; 0.23 halves it in three plies"),
    opt("depth", "board", "board: plies since the start, or stones | tree: plies since the root of the search"),
    opt("root", "on", "on | off: whether moves are dropped at the root too"),
    opt("decisive", "off", "on: a move that wins at once is never dropped | off: as the paper says"),
    opt("expand", "second", "first | second | fourth | eighth: children are added at this visit"),
    opt("from", "child", "child: playouts begin at a new child | leaf: at the leaf (expand=first, as the paper says)"),
    opt("c", "1.41", "exploration constant"),
    opt("form", "burger", "plain: C sqrt(ln N/n); kocsis: 2 C sqrt(2 ln N/n); burger: C sqrt(2 ln N/n)"),
    opt("reward", "unit", "the scale the constant is meant for: unit [0, 1]; signed [-1, 1]; hundred [0, 100]"),
    final_move("max"),
];

const GUIDED: &[Opt] = &[
    opt("model", "", "what moves are worth: a run, or a model file"),
    opt("k", "100", "visits of a node at which the learned value and the mean weigh the same"),
    opt(
        "first",
        "infinite",
        "infinite: a child without a visit comes first | learned: it counts with its learned value",
    ),
    opt(
        "expand",
        "leftmost",
        "random | leftmost: one child a simulation; all | second | fourth | eighth: all children at the first | .. visit",
    ),
    opt("c", "1.4", "exploration constant, plain form on [0, 1]; 140 of 100 in the paper"),
    final_move("robust"),
];

const MINIMAX: &[Opt] = &[
    opt("depth", "", "plies (4 if no limit is given)"),
    opt("nodes", "", "positions searched a move"),
    opt("ms", "", "milliseconds a move"),
    opt("cpu_ms", "", "milliseconds of processor time a move"),
    opt("eval", "none", "an evaluator, see below; some games have their own"),
    opt("model", "", "short for eval=net(model=..)"),
    opt("order", "killers", "killers (and history) | eval: by the evaluator | none | random"),
    opt("ties", "random", "random | first: which of exactly equal root moves is played"),
    opt("table", "16", "megabytes of transposition table; 0 for none"),
    opt("deepening", "on", "on: one ply more each time | off: the full depth at once"),
];

/// All parts that every game has.
pub const PARTS: &[Part] = &[
    Part { kind: Kind::Agent, name: "random", about: "a uniformly random legal move", options: &[] },
    Part {
        kind: Kind::Agent,
        name: "uct",
        about: "Monte Carlo tree search with UCB1",
        options: &[LIMITS, UCB, PHASES, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "tuned",
        about: "Monte Carlo tree search with UCB1-Tuned",
        options: &[LIMITS, &[opt("c", "1", "exploration constant")], PHASES, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "rave",
        about: "Monte Carlo tree search with RAVE (expands all children)",
        options: &[LIMITS, RAVE, PHASES, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "grave",
        about: "Monte Carlo tree search with GRAVE (expands all children)",
        options: &[LIMITS, GRAVE, PHASES, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "neural",
        about: "Monte Carlo tree search with a value net's opinion of every child (NeuralMCTS)",
        options: &[LIMITS, NEURAL, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "ranked",
        about: "Monte Carlo tree search that expands only the moves a net ranks highest (UCT-NN)",
        options: &[LIMITS, RANKED, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "guided",
        about: "Monte Carlo tree search that selects by learned action values at first (CARL)",
        options: &[LIMITS, GUIDED, TREE],
    },
    Part {
        kind: Kind::Agent,
        name: "policy",
        about: "the move with the highest learned value, without search (CARL)",
        options: &[&[opt("model", "", "what moves are worth: a run, or a model file")]],
    },
    Part {
        kind: Kind::Agent,
        name: "minimax",
        about: "alpha-beta with iterative deepening; two-player zero-sum games only",
        options: &[MINIMAX],
    },
    Part { kind: Kind::Playout, name: "uniform", about: "uniformly random moves", options: &[] },
    Part {
        kind: Kind::Playout,
        name: "mast",
        about: "moves that did well on average in this search",
        options: &[&[opt("eps", "0.4", "share of random moves")]],
    },
    Part { kind: Kind::Playout, name: "decisive", about: "a move that wins at once, else a random one", options: &[] },
    Part {
        kind: Kind::Playout,
        name: "valued",
        about: "random moves, then a value net in place of the end",
        options: &[&[
            opt("model", "", "the value net; if not given, that of the agent"),
            opt("plies", "0", "random moves before the net is asked"),
            opt("weight", "1", "the net's share of the result; a playout to the end gives the rest"),
        ]],
    },
    Part {
        kind: Kind::Playout,
        name: "cut",
        about: "random moves until a win/draw/loss net is sure of the result",
        options: &[&[
            opt("model", "", "the net; if not given, that of the agent"),
            opt("threshold", "0.9", "how sure: the least chance of the likeliest result; above 1 nothing is cut"),
            opt("ask", "every", "every: before every move | once: before the first move only"),
            opt("after", "0", "ask=every: random moves before the net is first asked"),
            opt("step", "1", "ask=every: moves from one question to the next"),
            opt("backup", "hard", "hard: the likeliest result counts | expected: the expected value"),
        ]],
    },
    Part {
        kind: Kind::Playout,
        name: "guided",
        about: "moves drawn by their learned values (CARL)",
        options: &[&[
            opt("model", "", "what moves are worth: a run, or a model file; if not given, that of the agent"),
            opt(
                "law",
                "gibbs",
                "gibbs: in proportion to exp(Q / tau) | proportional: to Q - min Q + 1; Q from 0 to 100",
            ),
            opt("tau", "10", "gibbs: the temperature, on the scale from 0 to 100"),
            opt("eps", "0", "share of uniformly random moves"),
            opt("plies", "1000000", "moves that are drawn by value; those after them are uniformly random"),
        ]],
    },
    Part {
        kind: Kind::Evaluator,
        name: "net",
        about: "a learned value net",
        options: &[&[opt("model", "", "a model file, or a run (then its last model)")]],
    },
    Part { kind: Kind::Evaluator, name: "none", about: "0 everywhere: only what is certain counts", options: &[] },
    Part {
        kind: Kind::Evaluator,
        name: "random",
        about: "random values",
        options: &[&[
            opt(
                "by",
                "hash",
                "hash: the same state always gets the same value | call: a fresh value each time | net: a net that never learned",
            ),
            opt("hidden", "100", "net: hidden units"),
        ]],
    },
    Part {
        kind: Kind::Evaluator,
        name: "rollouts",
        about: "the mean of random playouts",
        options: &[&[opt("n", "10", "playouts for each value")]],
    },
];
