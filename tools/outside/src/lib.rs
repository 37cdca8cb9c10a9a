//! A game, a search part and a learner that Ludex knows nothing of.
//!
//! The game is Kayles for two: a row of pins; the players in turn knock down one pin or two neighbours; whoever knocks down the
//! last pin wins. The search part is a selection rule, the learner a table of mean results by state.

pub mod hex;

use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError};
use ludex_learn::{Activation, Head, Layer, Link, Mlp, Net};
use ludex_play::{OptionInfo, Spec, Table, TableBuilder};
use ludex_search::mcts::{Descent, Select};
use ludex_train::encoders::{Coding, View, encoder};
use ludex_train::measure::Measure;
use ludex_train::records::Played;
use ludex_train::selfplay::SelfPlay;
use ludex_train::store::RunError;
use ludex_train::systems::TypedSystem;
use ludex_train::{Context, Learned, Stream, dataset::for_each_row, learnable_as};
use serde::Deserialize;
use std::sync::Arc;

/// Kayles with so many pins in a row.
pub struct Kayles {
    info: GameInfo,
    pins: u32,
}

/// The pins that stand, as bits, and who is to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pins: u32,
    mover: Player,
}

impl Kayles {
    /// A row of 2 to 20 pins.
    pub fn new(pins: u32) -> Self {
        assert!((2..=20).contains(&pins));
        let info = GameInfo::two_player(format!("kayles:{pins}"), "Kayles", 2 * pins - 1, pins + 2);
        let mut game = Kayles { info, pins };
        let facts = (0..pins).chain([pins + 1, pins]).map(Fact).collect();
        game.info.mirror = Some(Mirror { facts, moves: (0..2 * pins - 1).map(Move).collect() });
        game.info = game.info.clone().sealed(&game);
        game
    }

    /// The pins that a move knocks down: move `i` below `pins` one, the others two neighbours.
    fn mask(&self, m: Move) -> u32 {
        if m.0 < self.pins { 1 << m.0 } else { 3 << (m.0 - self.pins) }
    }
}

impl Game for Kayles {
    type State = State;

    fn info(&self) -> &GameInfo {
        &self.info
    }
    fn initial(&self) -> State {
        State { pins: (1 << self.pins) - 1, mover: Player(0) }
    }
    fn mover(&self, s: &State) -> Player {
        s.mover
    }
    fn legal(&self, s: &State, out: &mut Vec<Move>) {
        out.clear();
        out.extend((0..self.info.moves).map(Move).filter(|&m| s.pins & self.mask(m) == self.mask(m)));
    }
    fn play(&self, s: &mut State, m: Move) {
        *s = State { pins: s.pins & !self.mask(m), mover: s.mover.other() };
    }
    fn outcome(&self, s: &State) -> Option<Payoffs> {
        (s.pins == 0).then(|| Payoffs::win(s.mover.other()))
    }
    fn facts(&self, s: &State, out: &mut Vec<Fact>) {
        out.clear();
        out.extend((0..self.pins).filter(|p| s.pins >> p & 1 == 1).map(Fact));
        out.push(Fact(self.pins + s.mover.0 as u32));
    }
    fn mirrored(&self, s: &State) -> Option<State> {
        Some(State { mover: s.mover.other(), ..*s })
    }
    fn move_name(&self, m: Move) -> String {
        if m.0 < self.pins {
            format!("{}", m.0 + 1)
        } else {
            format!("{}-{}", m.0 - self.pins + 1, m.0 - self.pins + 2)
        }
    }
    fn fact_name(&self, f: Fact) -> String {
        if f.0 < self.pins {
            format!("(pin {})", f.0 + 1)
        } else {
            format!("(control {})", ["x", "o"][(f.0 - self.pins) as usize])
        }
    }
    fn position(&self, s: &State) -> String {
        let pins: String = (0..self.pins).map(|p| if s.pins >> p & 1 == 1 { '|' } else { '.' }).collect();
        format!("{pins} {}", ["X", "O"][s.mover.index()])
    }
    fn parse_position(&self, text: &str) -> Result<State, TextError> {
        if text == "start" {
            return Ok(self.initial());
        }
        let bad = || TextError::new(format!("expected {} of | and . and the mover, X or O", self.pins));
        let (row, mover) = text.split_once(' ').ok_or_else(bad)?;
        let mover = ["X", "O"].iter().position(|m| *m == mover).ok_or_else(bad)?;
        if row.len() != self.pins as usize || !row.bytes().all(|b| b == b'|' || b == b'.') {
            return Err(bad());
        }
        let pins = row.bytes().enumerate().fold(0, |pins, (i, b)| pins | ((b == b'|') as u32) << i);
        Ok(State { pins, mover: Player(mover as u8) })
    }
}

/// Chooses a child in proportion to its mean for the player who chooses, which is never less than a little.
pub struct Proportional;

impl Select for Proportional {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let (tree, children) = (at.tree, at.tree.children(at.node()));
        let mover = tree.node(at.node()).mover();
        let weight = |&c: &_| if tree.node(c).visits() == 0 { 2.0 } else { (1.05 + tree.mean(c, mover)).powi(4) };
        let mut left = rng.unit() * children.iter().map(weight).sum::<f64>();
        let drawn = children.iter().position(|c| {
            left -= weight(c);
            left < 0.0
        });
        drawn.unwrap_or(children.len() - 1)
    }
}

const NO_OPTIONS: &[OptionInfo] = &[];

/// The game with its part, to play and to learn.
pub fn table(pins: u32) -> Arc<dyn Table> {
    let table =
        TableBuilder::new(Kayles::new(pins))
            .select("proportional", "in proportion to the mean", NO_OPTIONS, |_| Ok(Box::new(Proportional)));
    learnable_as::<Kayles>(table.build())
}

/// Learns a linear net: for each fact the mean result of the states in which it holds.
pub struct MeanByFact;

/// See [`MeanByFact`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    matches: usize,
    agent: Spec,
    measure: Measure,
}

impl TypedSystem for MeanByFact {
    type Options = Options;
    const NAME: &'static str = "mean-by-fact";
    const ABOUT: &'static str = "a linear net of mean results";
    const FILE: &'static str = "matches = 300\nagent = \"mcts(sims=60, select=proportional, expand=all)\"\n\
        [measure]\ngames = 40\ncpu_ms = 2\nminutes = 1.0\nlevels = 4\n\
        level_games = 20\nlevel_ms = 1\nlevel_budget = 50\nopening_plies = 2\n[preset.quick]\n";

    fn check(o: &Options, table: &dyn Table) -> Result<(), RunError> {
        table.check(&o.agent).map_err(|e| RunError::Agent("agent".into(), e))
    }

    fn agent(_: &Options, cx: &Context<'_>) -> Spec {
        Spec::word("neural").with("rule", "mean").with("model", cx.learned_model())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned, RunError> {
        let encoder = encoder(cx.table, View::Mover, Coding::Facts)?;
        let play = SelfPlay { stage: "play", agent: &o.agent, matches: o.matches, batch: 25 };
        let seed = |i: usize| Rng::derive(cx.seed(Stream::SelfPlay), i as u64);
        let parts = play.run::<Played>(cx, |i| Ok((cx.table.start(), i as u32, seed(i))))?;
        let inputs = encoder.inputs();
        let (mut totals, mut counts) = (vec![0f32; inputs], vec![0f32; inputs]);
        let mut row = ludex_learn::EncodedRow::default();
        for_each_row(&parts, |part, i| {
            let played = part.row(i);
            encoder.encode(&part.facts(i), played.mover, &mut row);
            for (input, _) in row.row().iter() {
                totals[input] += played.result[played.mover];
                counts[input] += 1.0;
            }
        })?;
        let weights = totals.iter().zip(&counts).map(|(t, n)| t / n.max(1.0) / inputs as f32).collect();
        let layer = Layer { inputs, outputs: 1, weights, bias: vec![0.0] };
        let (hidden, link) = (Activation::Identity, Link::Each(Activation::Identity));
        let net = Net::Mlp(Mlp { layers: vec![layer], hidden, link });
        let data = ludex_learn::Data::new(inputs, 1);
        cx.run.keep_model("final", &cx.model(&encoder, Head::Value { outputs: 1 }, net, &data, &[]))?;
        let (log, unlearned) = (vec!["means of results".into()], Spec::word("uct"));
        let (agent, measure, figures) = (Self::agent(o, cx), o.measure.clone(), serde_json::Value::Null);
        Ok(Learned { agent, unlearned, measure, curves: vec![], log, figures })
    }
}
