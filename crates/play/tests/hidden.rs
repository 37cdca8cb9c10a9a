//! Simultaneous moves: whoever chooses second must not profit from the order in which the program asks.

use ludex_play::{Control, Spec, open};

/// Both choose, the second wins if the choices are equal.
const PENNIES: &str = "
    (role odd) (role even) (init fresh)
    (<= (legal ?r (show heads)) (role ?r) (true fresh))
    (<= (legal ?r (show tails)) (role ?r) (true fresh))
    (<= (legal ?r (show edge)) (role ?r) (true fresh))
    (<= (next equal) (does odd ?m) (does even ?m))
    (<= terminal (not (true fresh)))
    (<= (goal even 100) (true equal)) (<= (goal odd 0) (true equal))
    (<= (goal even 0) (not (true equal))) (<= (goal odd 100) (not (true equal)))";

#[test]
fn the_second_chooser_does_not_depend_on_the_first_choice() {
    let path = std::env::temp_dir().join(format!("ludex-pennies-{}.kif", std::process::id()));
    std::fs::write(&path, PENNIES).unwrap();
    let table = open(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    for spec in ["uct(sims=60)", "uct(sims=60,solver=on,reuse=on)", "minimax(depth=3)", "random"] {
        let spec: Spec = spec.parse().unwrap();
        // An agent that has thought about the start, or one that sees only the second choice.
        let answers = |first: &str, from_start: bool| -> Vec<u32> {
            (0..40)
                .map(|seed| {
                    let mut agent = table.agent(&spec, seed).unwrap();
                    let mut position = table.start();
                    if from_start {
                        agent.choose(&*position, &Control::default()).unwrap();
                    }
                    position.play(table.parse_move(first).unwrap()).unwrap();
                    agent.choose(&*position, &Control::default()).unwrap().mv.0
                })
                .collect()
        };
        for from_start in [true, false] {
            let heads = answers("(show heads)", from_start);
            assert_eq!(heads, answers("(show tails)", from_start), "{spec}: the same answers to another choice");
            assert_eq!(heads, answers("(show edge)", from_start), "{spec}: the same answers to another choice");
            assert!(heads.iter().any(|m| *m != heads[0]), "{spec}: different seeds guess differently");
        }
    }
}
