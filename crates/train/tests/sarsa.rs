//! Action values: what SARSA learns can be computed by hand, is right for Nim, and goes on to the same bits.

use ludex_core::toy::{Nim, NimState};
use ludex_core::{Fact, Game, GameInfo, Move, Payoffs, Player, TextError};
use ludex_learn::{Head, InferenceNet};
use ludex_train::sarsa::{Sarsa, SarsaConfig};
use ludex_train::{native, options, systems::system, table};

fn config(text: &str) -> SarsaConfig {
    let options = options(system("carl-playout").unwrap().file(), "tick", &[]).unwrap();
    let mut table = options["train"].as_table().unwrap().clone();
    for (key, value) in text.parse::<toml::Table>().unwrap() {
        assert!(table.insert(key, value).is_some());
    }
    table.try_into().unwrap()
}

/// Lets a learner play on until it has learned from so many games.
fn play<G: Game>(game: G, sarsa: &mut Sarsa, games: u64) {
    native(&*table(game)).unwrap().sarsa_games(sarsa, games, &|| false);
}

fn trained(text: &str, heap: u32, games: u64) -> Sarsa {
    let mut sarsa = Sarsa::new(config(text), Nim::new(heap).info(), 7).unwrap();
    play(Nim::new(heap), &mut sarsa, games);
    sarsa
}

/// What a role thinks of taking 1, 2 and 3, on the scale from 0 to 100. Facts of Nim: what is left, then who moves.
fn q(sarsa: &Sarsa, role: u32, left: u32, heap: u32) -> [f32; 3] {
    let nets = sarsa.nets().unwrap();
    let (encoder, net) = &nets[(role as usize).min(nets.len() - 1)];
    let net = InferenceNet::new(net, encoder, Head::MoveScores { moves: 3 }).unwrap();
    let (facts, moves, mut scores) = ([Fact(left), Fact(heap + 1 + role)], [0, 1, 2].map(Move), [0.0; 3]);
    net.score_moves(&facts, Player(role as u8), &moves, &mut net.scratch(), &mut scores);
    scores.map(|s| 50.0 * (s + 1.0))
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 1e-3
}

#[test]
fn nim_is_learned_by_every_regressor_that_can_represent_it() {
    for text in [
        "regressor = 'sgd'\ninputs = 'crossed'\nroles = 'own'",
        "regressor = 'sgd'\ninputs = 'shared'\nroles = 'mirrored'",
        "regressor = 'pa'\ninputs = 'crossed'\nroles = 'own'\nscale = 1.0\npa = { c = 0.005, epsilon = 0.01 }",
        "regressor = 'mlp'\ninputs = 'beside'\nroles = 'own'\nscale = 1.0\nhidden = [20, 20]",
        "regressor = 'mlp'\ninputs = 'state'\nroles = 'mirrored'\nscale = 1.0\nhidden = [20, 20]",
    ] {
        // Who leaves a multiple of four wins: of 5, 6 and 7 the first player takes 1, 2 and 3.
        for heap in 5..8 {
            let sarsa = trained(&format!("{text}\nepsilon = 0.5\nlambda = 0.0"), heap, 4000);
            let values = q(&sarsa, 0, heap, heap);
            let best = (0..3).max_by(|&a, &b| values[a].total_cmp(&values[b]));
            assert_eq!(best, Some(heap as usize - 5), "{text}: {heap}");
        }
    }
}

#[test]
fn one_forced_line_has_the_values_that_can_be_computed_by_hand() {
    // A heap of 1 has one decision less than none: with `noops` the only move wins 100 and is learned as such.
    let text = "regressor = 'sgd'\ninputs = 'crossed'\nroles = 'own'\nnoops = true\nscale = 100.0\n\
        sgd = { alpha = 0.0, eta0 = 0.1, power = 0.0 }";
    let sarsa = trained(text, 1, 1);
    // Three active inputs and the bias: Q = 4 * 0.1 * 100 after one step from 0.
    assert!(near(q(&sarsa, 0, 1, 1)[0], 40.0));
    assert_eq!(sarsa.point().error, 100.0);
    let skipped = trained(&text.replace("noops = true", "noops = false"), 1, 1);
    assert!(near(q(&skipped, 0, 1, 1)[0], 0.0), "no choice, no decision");
}

/// One line of Nim: of 5 the first player takes 2, the second 1, the first 1, and wins.
struct Line(Nim);

impl Game for Line {
    type State = NimState;

    fn info(&self) -> &GameInfo {
        self.0.info()
    }
    fn initial(&self) -> NimState {
        self.0.initial()
    }
    fn mover(&self, s: &NimState) -> Player {
        self.0.mover(s)
    }
    fn legal(&self, s: &NimState, out: &mut Vec<Move>) {
        self.0.legal(s, out);
        let taken = out.len().checked_sub(1).map(|n| Move((n == 2 && self.initial() == *s) as u32));
        out.clear();
        out.extend(taken.filter(|_| self.outcome(s).is_none()));
    }
    fn play(&self, s: &mut NimState, m: Move) {
        self.0.play(s, m);
    }
    fn outcome(&self, s: &NimState) -> Option<Payoffs> {
        (self.0.position(s) == "1 O").then(|| Payoffs::win(Player(0)))
    }
    fn facts(&self, s: &NimState, out: &mut Vec<Fact>) {
        self.0.facts(s, out);
    }
    fn key(&self, s: &NimState) -> u64 {
        self.0.key(s)
    }
    fn move_name(&self, m: Move) -> String {
        self.0.move_name(m)
    }
    fn fact_name(&self, f: Fact) -> String {
        self.0.fact_name(f)
    }
    fn position(&self, s: &NimState) -> String {
        self.0.position(s)
    }
    fn parse_position(&self, text: &str) -> Result<NimState, TextError> {
        self.0.parse_position(text)
    }
    fn show(&self, s: &NimState) -> String {
        self.0.show(s)
    }
}

#[test]
fn bootstrapping_uses_the_updated_value_of_the_same_role_s_next_decision() {
    let text = "regressor = 'sgd'\ninputs = 'crossed'\nroles = 'own'\nnoops = true\nscale = 100.0\nlambda = 0.0\n\
        gamma = 0.5\nsgd = { alpha = 0.0, eta0 = 0.1, power = 0.0 }";
    let line = Line(Nim::new(5));
    let mut sarsa = Sarsa::new(config(text), line.info(), 1).unwrap();
    play(line, &mut sarsa, 1);
    // Each step moves three inputs and the bias by 0.1 of the error. First 0 becomes 40, 10 of it by the bias. Then the
    // decision before, worth these 10, is drawn towards 0.5 * 40: all four move by 1, the bias for both.
    assert!(near(q(&sarsa, 0, 5, 5)[1], 14.0));
    assert!(near(q(&sarsa, 0, 2, 5)[0], 41.0));
    assert!(near(q(&sarsa, 1, 3, 5)[0], 0.0), "a loss is worth 0");
}

#[test]
fn a_saved_learner_goes_on_to_the_same_bits() {
    for text in ["regressor = 'pa'\ninputs = 'shared'", "regressor = 'mlp'\ninputs = 'state'\nhidden = [5]"] {
        let mut whole = trained(text, 9, 30);
        let bytes = whole.save();
        let fresh = || Sarsa::new(config(text), Nim::new(9).info(), 7).unwrap();
        let mut again = fresh().resume(&bytes).unwrap();
        assert!(fresh().resume(&bytes[..bytes.len() - 1]).is_none() && fresh().resume(&[]).is_none());
        for sarsa in [&mut whole, &mut again] {
            play(Nim::new(9), sarsa, 70);
        }
        assert_eq!(whole.save(), again.save());
    }
}
