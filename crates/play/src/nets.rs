//! Learned models as evaluators: the joint between `learn` and `search`.

use ludex_core::{Evaluator, Fact, Game, GameInfo, Move, Payoffs, Player, Rng};
use ludex_learn::{Act, Batch, Encoder, Folded, Head, Layer, Line, Link, Mlp, Model, Net, Scratch, Side};
use ludex_search::mcts::{Chances, Outlook};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

/// A model, ready for search.
pub(crate) struct Loaded {
    pub head: Head,
    pub net: Folded,
    /// A linear net that scores moves, as the first and, if it is mirrored, as the second player sees it; else nothing.
    pub sides: Vec<Side>,
}

/// What identifies a file's content well enough to use it again without reading.
type Stamp = (u64, Option<SystemTime>, u64);

/// Models that were read, by file.
type Known = HashMap<PathBuf, (Stamp, Arc<Loaded>)>;

/// Reads the model at a path, which may be that of a run: then its last model. A model that many agents of a contest use is
/// read once.
pub(crate) fn load(path: &str, info: &GameInfo) -> Result<Arc<Loaded>, String> {
    let mut file = PathBuf::from(path);
    if file.is_dir() {
        file = crate::store::last_model(&file).map_err(|e| format!("{path}: {e}"))?;
    }
    load_file(file, info)
}

/// The same where each role may have a model of its own: the file for all of them, or those of the run.
pub(crate) fn load_roles(path: &str, info: &GameInfo) -> Result<Vec<Arc<Loaded>>, String> {
    let file = PathBuf::from(path);
    let files = match file.is_dir() {
        true => crate::store::last_models(&file).map_err(|e| format!("{path}: {e}"))?,
        false => vec![file],
    };
    let models: Vec<Arc<Loaded>> = files.into_iter().map(|f| load_file(f, info)).collect::<Result<_, _>>()?;
    match models.len() {
        n if n == 1 || n == info.players() => Ok(models),
        n => Err(format!("{path} has models of {n} roles, {} has {}", info.name, info.players())),
    }
}

fn load_file(file: PathBuf, info: &GameInfo) -> Result<Arc<Loaded>, String> {
    static CACHE: OnceLock<Mutex<Known>> = OnceLock::new();
    let cannot = |e: std::io::Error| format!("cannot read the model {}: {e}", file.display());
    let meta = std::fs::metadata(&file).map_err(cannot)?;
    let stamp = (meta.len(), meta.modified().ok(), info.rules_hash);
    let cache = CACHE.get_or_init(Default::default);
    let known = |map: &Known| map.get(&file).filter(|(s, _)| *s == stamp).map(|(_, loaded)| loaded.clone());
    if let Some(loaded) = known(&cache.lock().unwrap_or_else(|e| e.into_inner())) {
        return Ok(loaded);
    }
    let loaded = Arc::new(read(&file, info)?);
    cache.lock().unwrap_or_else(|e| e.into_inner()).insert(file, (stamp, loaded.clone()));
    Ok(loaded)
}

fn read(file: &Path, info: &GameInfo) -> Result<Loaded, String> {
    let shown = file.display();
    let bytes = std::fs::read(file).map_err(|e| format!("cannot read the model {shown}: {e}"))?;
    let model = Model::for_game(&bytes, info).map_err(|e| format!("the model {shown} cannot be used: {e}"))?;
    let net = model.fold().map_err(|e| format!("the model {shown} cannot be used: {e}"))?;
    let sides = match model.head {
        Head::MoveScores { .. } => {
            let views = 1 + model.encoder.mirror().is_some() as usize;
            (0..views).map_while(|v| Side::new(&model.net, &model.encoder, v == 1)).collect()
        }
        _ => Vec::new(),
    };
    Ok(Loaded { head: model.head, net, sides })
}

/// A net that never learned: the shape of an extreme learning machine with all its weights drawn from the seed. The output
/// weights are so small that no value leaves [-1, 1], for a value that is cut off there is the same for many states.
pub(crate) fn untrained(info: &GameInfo, hidden: usize, seed: u64) -> Arc<Loaded> {
    let mut rng = Rng::new(seed);
    let mut draw = |n: usize, bound: f32| (0..n).map(|_| bound * (2.0 * rng.unit() as f32 - 1.0)).collect::<Vec<f32>>();
    let encoder = Encoder::facts(info.facts as usize);
    let inputs = encoder.inputs();
    let outputs = if info.zero_sum { 1 } else { info.players() };
    let first = Layer { inputs, outputs: hidden, weights: draw(inputs * hidden, 1.0), bias: draw(hidden, 1.0) };
    let weights = draw(hidden * outputs, 1.0 / hidden as f32);
    let last = Layer { inputs: hidden, outputs, weights, bias: vec![0.0; outputs] };
    let net = Mlp { layers: vec![first, last], hidden: Act::Logistic, link: Link::Each(Act::Identity) };
    let head = Head::Value { outputs };
    let net = Folded::new(&Net::Mlp(net), &encoder, head).expect("the parts fit one another");
    Arc::new(Loaded { head, net, sides: Vec::new() })
}

/// Whether outputs of this head are worth something to players.
pub(crate) fn has_value(head: Head) -> bool {
    !matches!(head, Head::MoveScores { .. })
}

/// A net that judges states.
pub(crate) struct NetValue {
    model: Arc<Loaded>,
    scratch: Scratch,
    batch: Batch,
    line: Line,
    facts: Vec<Fact>,
    /// What a move turns on and off.
    on: Vec<Fact>,
    off: Vec<Fact>,
    /// Children that are asked about: which, and who moves there.
    places: Vec<(usize, Player)>,
    out: Vec<f32>,
}

impl NetValue {
    /// A model whose head has a value.
    pub fn new(model: Arc<Loaded>) -> Self {
        debug_assert!(has_value(model.head));
        let (scratch, batch, line) = (model.net.scratch(), model.net.batch(), model.net.line());
        let (facts, on, off, places, out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        NetValue { model, scratch, batch, line, facts, on, off, places, out }
    }
}

impl<G: Game> Evaluator<G> for NetValue {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let net = &self.model.net;
        let mover = game.mover(s);
        game.facts(s, &mut self.facts);
        self.out.resize(net.outputs(), 0.0);
        net.forward(&self.facts, mover, &mut self.scratch, &mut self.out);
        net.payoffs(&self.out, mover).expect("the head has a value")
    }

    fn child_values(&mut self, game: &G, s: &G::State, moves: &[Move], values: &mut [f32]) {
        let NetValue { model, batch, line, facts, on, off, places, out, .. } = self;
        let (net, mover) = (&model.net, game.mover(s));
        game.facts(s, facts);
        net.start(line, facts);
        places.clear();
        for (i, &m) in moves.iter().enumerate() {
            let mut child = s.clone();
            game.play_facts(&mut child, m, on, off);
            match game.outcome(&child) {
                Some(end) => values[i] = end[mover],
                None => {
                    places.push((i, game.mover(&child)));
                    net.push_child(batch, line, on, off, game.mover(&child));
                }
            }
        }
        let n = net.outputs();
        out.resize(n * places.len(), 0.0);
        net.run(batch, out);
        for (&(i, next), out) in places.iter().zip(out.chunks_exact(n)) {
            values[i] = net.payoffs(out, next).expect("the head has a value")[mover];
        }
    }

    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        if !matches!(self.model.head, Head::PolicyValue { .. }) {
            return self.child_values(game, s, moves, scores);
        }
        game.facts(s, &mut self.facts);
        self.model.net.score_moves(&self.facts, game.mover(s), moves, &mut self.scratch, scores);
    }
}

/// Where playouts begin: near the root of their search, so that the sums of one are those of the first playout's beginning plus
/// the difference. Never a pass over all facts.
#[derive(Default)]
pub(crate) struct Follow {
    /// Facts (as bits) of the state that others are compared with; no bits at all: there is none yet.
    anchor: Vec<u64>,
    bits: Vec<u64>,
    /// The facts of the state at the beginning.
    pub facts: Vec<Fact>,
    /// Facts that are on here and not there, or that the last move turned on.
    pub on: Vec<Fact>,
    /// And off.
    pub off: Vec<Fact>,
}

/// How sums for a state are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// The first of a search: others will be compared with it.
    Anchor,
    /// By the difference to the first.
    Near,
    /// Afresh: the difference is larger than the state.
    Far,
}

impl Follow {
    /// A search begins.
    pub fn forget(&mut self) {
        self.anchor.clear();
    }

    /// Lists the facts of a state, and by which it differs from the first of its search.
    pub fn approach<G: Game>(&mut self, game: &G, s: &G::State) -> Start {
        game.facts(s, &mut self.facts);
        self.bits.clear();
        self.bits.resize(game.info().facts.div_ceil(64) as usize, 0);
        self.facts.iter().for_each(|f| self.bits[f.index() / 64] |= 1 << (f.index() % 64));
        if self.anchor.is_empty() {
            self.anchor.clone_from(&self.bits);
            return Start::Anchor;
        }
        only(&self.bits, &self.anchor, &mut self.on);
        only(&self.anchor, &self.bits, &mut self.off);
        if self.on.len() + self.off.len() < self.facts.len() { Start::Near } else { Start::Far }
    }

    /// First-layer sums for the state that was approached.
    pub fn set(&self, net: &Folded, start: Start, line: &mut Line, anchor: &mut Line) {
        match start {
            Start::Far => net.start(line, &self.facts),
            Start::Anchor => {
                net.start(anchor, &self.facts);
                net.rewind(line, anchor);
            }
            Start::Near => {
                net.rewind(line, anchor);
                net.update(line, &self.on, &self.off);
            }
        }
    }
}

/// Replaces `out` by the facts whose bits are set in `a` and not in `b`.
fn only(a: &[u64], b: &[u64], out: &mut Vec<Fact>) {
    out.clear();
    for (w, (a, b)) in a.iter().zip(b).enumerate() {
        let mut rest = a & !b;
        while rest != 0 {
            out.push(Fact(64 * w as u32 + rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
}

/// A net that follows a line of play, first-layer sums kept up to date, and says how likely win, draw and loss are.
pub(crate) struct NetOutlook {
    model: Arc<Loaded>,
    scratch: Scratch,
    line: Line,
    anchor: Line,
    follow: Follow,
}

impl NetOutlook {
    /// A model with the head of win, draw and loss.
    pub fn new(model: Arc<Loaded>) -> Self {
        debug_assert_eq!(model.head, Head::WinDrawLoss);
        let (scratch, line, anchor) = (model.net.scratch(), model.net.line(), model.net.line());
        NetOutlook { model, scratch, line, anchor, follow: Follow::default() }
    }
}

impl<G: Game> Outlook<G> for NetOutlook {
    fn begin(&mut self, _: &G) {
        self.follow.forget();
    }

    fn start(&mut self, game: &G, s: &G::State) {
        let start = self.follow.approach(game, s);
        self.follow.set(&self.model.net, start, &mut self.line, &mut self.anchor);
    }

    #[inline]
    fn play(&mut self, game: &G, s: &mut G::State, m: Move) {
        let Follow { on, off, .. } = &mut self.follow;
        game.play_facts(s, m, on, off);
        self.model.net.update(&mut self.line, on, off);
    }

    #[inline]
    fn chances(&mut self, game: &G, s: &G::State) -> Chances {
        let (net, mover) = (&self.model.net, game.mover(s));
        let mut out = [0.0; 3];
        net.finish(&self.line, mover, &mut self.scratch, &mut out);
        let [win, draw, loss] = out;
        Chances { of: net.viewer(mover), win, draw, loss }
    }
}

/// Whether this head has a score for each move.
pub(crate) fn scores_moves(head: Head) -> bool {
    matches!(head, Head::MoveScores { .. } | Head::PolicyValue { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_games::{Dots, Othello, Score};
    use ludex_learn::{Act, Encoder, Link, Loss, MlpConfig, MlpLearner};

    fn net<G: Game>(game: &G, relative: bool) -> Arc<Loaded> {
        let info = game.info();
        let mut encoder = Encoder::facts(info.facts as usize);
        if relative {
            encoder = encoder.relative(info.mirror.clone().unwrap()).unwrap();
        }
        let (link, loss) = (Link::Each(Act::Logistic), Loss::Squared);
        let config = MlpConfig { hidden: vec![13], act: Act::Logistic, link, loss, ..MlpConfig::default() };
        let learner = MlpLearner::new(config, encoder.inputs(), 3, 7).unwrap();
        let net = Folded::new(&learner.net(), &encoder, Head::WinDrawLoss).unwrap();
        Arc::new(Loaded { head: Head::WinDrawLoss, net, sides: Vec::new() })
    }

    /// Along random matches, begun anew now and then, in any order of searches.
    fn follows<G: Game>(game: &G, relative: bool) {
        let model = net(game, relative);
        let mut outlook = NetOutlook::new(model.clone());
        let (mut rng, mut facts, mut asked) = (Rng::new(1), Vec::new(), 0);
        for n in 0..30 {
            let mut s = game.initial();
            (0..rng.below(20)).for_each(|_| game.sample(&s, &mut rng).into_iter().for_each(|m| game.play(&mut s, m)));
            if n % 7 == 0 {
                Outlook::<G>::begin(&mut outlook, game);
            }
            outlook.start(game, &s);
            while let Some(m) = game.sample(&s, &mut rng) {
                let Chances { of, win, draw, loss } = outlook.chances(game, &s);
                game.facts(&s, &mut facts);
                assert_eq!(model.net.plain(&facts, game.mover(&s)), [win, draw, loss]);
                assert_eq!(of, if relative { game.mover(&s) } else { Player(0) });
                outlook.play(game, &mut s, m);
                asked += 1;
            }
        }
        assert!(asked > 300);
    }

    #[test]
    fn following_a_playout_equals_a_fresh_evaluation_of_each_state() {
        for relative in [false, true] {
            follows(&Dots::<u64>::new(5, 5, Score::Win).unwrap(), relative);
            follows(&Othello::new(8, 8).unwrap(), relative);
        }
    }
}
