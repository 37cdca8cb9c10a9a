//! Bundles: what is written is read, what was altered is refused, and levels are agents wherever agents are named.

use ludex_core::{Move, Player, Rng};
use ludex_play::bundle::{LEVEL_NAMES, READY_MADE, level_name, named_level, ready_made};
use ludex_play::stats::Estimate;
use ludex_play::{Bundle, Control, Level, Limit, ModelRef, Position, Spec, Table, bundle::BundleProvenance, open};
use std::path::PathBuf;

fn estimate(value: f64) -> Estimate {
    Estimate { value, low: value - 1.0, high: value + 1.0 }
}

/// Three levels of plain UCT, which needs no model.
fn bundle(game: &str) -> Bundle {
    let info = open(game).unwrap().info().clone();
    let level = |(i, sims): (usize, u64)| Level {
        level: i + 1,
        name: level_name(i + 1, 3).map(String::from),
        agent: Spec::word("uct").with("sims", sims),
        elo: estimate(100.0 * i as f64),
        score: estimate(0.7),
        games: 40,
    };
    let levels = [1, 20, 300].into_iter().enumerate().map(level).collect();
    let provenance = BundleProvenance { system: "none".into(), ..BundleProvenance::default() };
    Bundle { game: info.name.clone(), rules_hash: info.rules_hash, levels, provenance, models: Vec::new() }
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ludex bundle, (é) {name} {}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn what_is_written_is_read_and_what_was_altered_is_refused() {
    let bundle = Bundle { models: vec![vec![1, 2, 3], vec![], vec![4; 1000]], ..bundle("connect4") };
    let bytes = bundle.to_bytes();
    assert_eq!(Bundle::from_bytes(&bytes).unwrap(), bundle);
    assert_eq!(Bundle::from_bytes(b"").unwrap_err(), "it is no bundle");
    for n in 0..bytes.len() {
        assert!(Bundle::from_bytes(&bytes[..n]).is_err(), "cut off after {n} bytes");
        let mut altered = bytes.clone();
        altered[n] ^= 1;
        assert!(Bundle::from_bytes(&altered).is_err(), "byte {n}");
    }
}

#[test]
fn levels_are_agents_by_number_and_name() {
    let (table, path) = (open("connect4").unwrap(), file("levels", &bundle("connect4").to_bytes()));
    for (name, sims) in [("1", 1), ("beginner", 1), ("2", 20), ("medium", 20), ("3", 300), ("best", 300)] {
        let spec: Spec = format!("level:{name}@{}", path.display()).parse().unwrap();
        assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec, "it reads as it prints");
        let choice = table.agent(&spec, 1).unwrap().choose(&*table.start(), &Control::default()).unwrap();
        assert_eq!(choice.simulations, sims, "{name}");
        let mut agent = table.agent(&spec, 1).unwrap();
        let choice = agent.choose(&*table.start(), &Control::from(Limit::simulations(7))).unwrap();
        assert_eq!(choice.simulations, 7, "a limit of the caller counts");
    }
    let refused = |text: String| table.agent(&text.parse().unwrap(), 1).map(|_| ()).unwrap_err().to_string();
    let at = path.display();
    assert!(refused(format!("level:4@{at}")).contains("there are 1 to 3"));
    assert!(refused(format!("level:0@{at}")).contains("there are 1 to 3"));
    assert!(refused(format!("level:hart@{at}")).contains("did you mean hard?"));
    assert!(refused("level:2@nowhere".into()).contains("nowhere"));
    let other = open("othello").unwrap().agent(&format!("level:2@{at}").parse().unwrap(), 1);
    assert!(other.map(|_| ()).unwrap_err().to_string().contains("not of othello"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn names_spread_over_the_levels() {
    for count in 1..=12 {
        let numbers: Vec<usize> = LEVEL_NAMES.iter().map(|(name, _)| named_level(name, count).unwrap()).collect();
        assert!(numbers.is_sorted() && numbers[0] == 1 && numbers[4] == count, "{numbers:?}");
        let named = (1..=count).filter_map(|n| level_name(n, count)).count();
        assert_eq!(named, count.min(5));
    }
    assert_eq!(named_level("hardest", 3), None);
}

#[test]
fn ready_made_bundles_play_their_games() {
    for (name, bytes) in READY_MADE {
        let (table, bundle) = (open(name).unwrap(), Bundle::from_bytes(bytes).unwrap());
        assert_eq!(bundle.rules_hash, table.info().rules_hash, "{name}");
        assert!(bytes.len() < 600_000, "{name}: {} bytes", bytes.len());
        assert_eq!(ready_made(table.info()), Some(ModelRef::new(format!("ready:{name}"))));
        assert!(bundle.levels.windows(2).all(|l| l[0].elo.value < l[1].elo.value), "{name}: levels in order");
        for level in &bundle.levels {
            let spec = format!("level:{}", level.level).parse().unwrap();
            let choice = table.agent(&spec, 1).unwrap().choose(&*table.start(), &Control::default()).unwrap();
            assert!(table.start().legal().contains(&choice.mv));
        }
        for level in &bundle.levels[bundle.levels.len() / 2..] {
            no_move_loses_at_once(&*table, level.level);
        }
    }
}

/// In a game against the random player, a level of the upper half takes a win in one and leaves none where it can be helped.
fn no_move_loses_at_once(table: &dyn Table, level: usize) {
    let spec = format!("level:{level}").parse().unwrap();
    let (mut rng, mut position) = (Rng::new(level as u64), table.start());
    let mut agent = table.agent(&spec, 1).unwrap();
    while position.outcome().is_none() {
        let (mover, moves) = (position.mover(), position.legal());
        if mover != Player((level % 2) as u8) {
            position.play(*rng.pick(&moves).unwrap()).unwrap();
            continue;
        }
        let after = |m: Move| {
            let mut child = position.boxed_clone();
            child.play(m).unwrap();
            child
        };
        let wins = |p: &dyn Position, by: Player| p.outcome().is_some_and(|o| o[by] >= 1.0);
        let loses = |m: Move| {
            let child = after(m);
            let replies = if child.mover() == mover { Vec::new() } else { child.legal() };
            wins(&*child, mover.other())
                || replies.into_iter().any(|r| {
                    let mut reply = child.boxed_clone();
                    reply.play(r).unwrap();
                    wins(&*reply, mover.other())
                })
        };
        let chosen = agent.choose(&*position, &Control::default()).unwrap().mv;
        let (game, at) = (&table.info().name, position.text());
        if moves.iter().any(|&m| wins(&*after(m), mover)) {
            assert!(wins(&*after(chosen), mover), "{game}, level {level}: no win in one at {at}");
        } else if loses(chosen) {
            assert!(moves.iter().all(|&m| loses(m)), "{game}, level {level}: loses at once at {at}");
        }
        position.play(chosen).unwrap();
    }
}
