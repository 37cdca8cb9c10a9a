//! Rules that lead in circles and never end by themselves: a search that joins equal positions must not go round for ever.

use ludex_play::openings::{random_openings, random_states};
use ludex_play::{Control, Spec, Table, open, play_match, ply_cap};
use std::sync::Arc;

/// Two players move a token round four places; only the first may stop the game, at the third place, and wins by it.
const RING: &str = "
    (role x) (role o) (init (at 0)) (init (control x))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 0)
    (<= (legal ?r left) (true (control ?r)))
    (<= (legal ?r right) (true (control ?r)))
    (<= (legal x stop) (true (control x)) (true (at 2)))
    (<= (legal ?r noop) (role ?r) (not (true (control ?r))))
    (<= (next (at ?b)) (does ?r right) (true (at ?a)) (succ ?a ?b))
    (<= (next (at ?b)) (does ?r left) (true (at ?a)) (succ ?b ?a))
    (<= (next (at end)) (does x stop))
    (<= (next (control x)) (true (control o)))
    (<= (next (control o)) (true (control x)))
    (<= terminal (true (at end)))
    (<= (goal x 100) (true (at end)))
    (<= (goal o 0) (true (at end)))
    (<= (goal ?r 50) (role ?r) (not (true (at end))))";

fn rules(test: &str, text: &str) -> Arc<dyn Table> {
    let path = std::env::temp_dir().join(format!("ludex-ring-{test}-{}.kif", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let table = open(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    table
}

#[test]
fn matches_and_openings_end_where_the_rules_do_not() {
    // Nobody can stop the game.
    let table =
        rules("matches", &RING.replace("(true (control x)) (true (at 2))", "(true (control x)) (true (at end))"));
    // The first player is at even places, the second at odd ones; the start does not count.
    assert_eq!(random_states(&*table, 100, 5.0, 1).len(), 3);
    assert_eq!(random_openings(&*table, 3, 50, 1).len(), 3);
    let build = |seed| table.agent(&Spec::word("random"), seed).unwrap();
    let episode = play_match(&*table, &*table.start(), &mut [build(1), build(2)], &Control::default(), &mut |_| {});
    let (cap, payoffs) = ply_cap(table.info());
    assert_eq!((episode.plies.len() as u32, episode.outcome), (cap, payoffs));
}

#[test]
fn joined_positions_do_not_trap_a_simulation() {
    let table = rules("simulation", RING);
    for solver in ["off", "on", "shared"] {
        for expand in ["random", "all", "second", "eighth"] {
            for reuse in ["off", "on"] {
                let spec = format!("uct(sims=500, graph=on, solver={solver}, expand={expand}, reuse={reuse})");
                let mut agent = table.agent(&spec.parse::<Spec>().unwrap(), 1).unwrap();
                let mut position = table.start();
                for text in ["right", "right"] {
                    assert!(agent.choose(&*position, &Control::default()).unwrap().simulations > 0, "{spec}");
                    position.play(table.parse_move(text).unwrap()).unwrap();
                }
                let m = agent.choose(&*position, &Control::default()).unwrap().mv;
                assert!(position.legal().contains(&m), "{spec}");
            }
        }
    }
}
