//! Rules that lead in circles and never end by themselves: a search that joins equal positions must not go round for ever.

use ludex_core::Limit;
use ludex_play::{Spec, open};

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

#[test]
fn joined_positions_do_not_trap_a_simulation() {
    let path = std::env::temp_dir().join(format!("ludex-ring-{}.kif", std::process::id()));
    std::fs::write(&path, RING).unwrap();
    let table = open(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    for solver in ["off", "on", "shared"] {
        for expand in ["random", "all", "second", "eighth"] {
            for reuse in ["off", "on"] {
                let spec = format!("uct(sims=500, graph=on, solver={solver}, expand={expand}, reuse={reuse})");
                let mut agent = table.agent(&spec.parse::<Spec>().unwrap(), 1).unwrap();
                let mut position = table.start();
                agent.start(&*position);
                for text in ["right", "right"] {
                    assert!(agent.choose(&Limit::default()).simulations > 0, "{spec}");
                    let m = table.parse_move(text).unwrap();
                    position.play(m).unwrap();
                    agent.observe(m);
                }
                let m = agent.choose(&Limit::default()).mv;
                assert!(position.legal().contains(&m), "{spec}");
            }
        }
    }
}
