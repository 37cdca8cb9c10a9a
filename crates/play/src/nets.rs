//! Learned models as evaluators: the joint between `learn` and `search`.

use ludex_core::{Evaluator, Fact, Game, GameInfo, Move, Payoffs};
use ludex_learn::{Batch, Folded, Head, Model, Scratch};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

/// A model, ready for search.
pub(crate) struct Loaded {
    pub head: Head,
    pub net: Folded,
}

/// What identifies a file's content well enough to use it again without reading.
type Stamp = (u64, Option<SystemTime>, u64);

/// Reads the model at a path, which may be that of a run: then its last model. A model that many agents of a contest use is
/// read once.
pub(crate) fn load(path: &str, info: &GameInfo) -> Result<Arc<Loaded>, String> {
    static CACHE: OnceLock<Mutex<HashMap<PathBuf, (Stamp, Arc<Loaded>)>>> = OnceLock::new();
    let mut file = PathBuf::from(path);
    if file.is_dir() {
        file = crate::store::last_model(&file).map_err(|e| format!("{path}: {e}"))?;
    }
    let cannot = |e: std::io::Error| format!("cannot read the model {}: {e}", file.display());
    let meta = std::fs::metadata(&file).map_err(cannot)?;
    let stamp = (meta.len(), meta.modified().ok(), info.rules_hash);
    let cache = CACHE.get_or_init(Default::default);
    let known = |map: &HashMap<PathBuf, (Stamp, Arc<Loaded>)>| {
        map.get(&file).filter(|(s, _)| *s == stamp).map(|(_, loaded)| loaded.clone())
    };
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
    Ok(Loaded { head: model.head, net })
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
    facts: Vec<Fact>,
    out: Vec<f32>,
}

impl NetValue {
    /// A model whose head has a value.
    pub fn new(model: Arc<Loaded>) -> Self {
        debug_assert!(has_value(model.head));
        let (scratch, batch) = (model.net.scratch(), model.net.batch());
        NetValue { model, scratch, batch, facts: Vec::new(), out: Vec::new() }
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

    fn values(&mut self, game: &G, states: &[G::State], values: &mut Vec<Payoffs>) {
        let net = &self.model.net;
        for s in states {
            game.facts(s, &mut self.facts);
            net.push(&mut self.batch, &self.facts, game.mover(s));
        }
        let n = net.outputs();
        self.out.resize(n * states.len(), 0.0);
        net.run(&mut self.batch, &mut self.out);
        values.clear();
        let value = |(s, out): (&G::State, &[f32])| net.payoffs(out, game.mover(s)).expect("the head has a value");
        values.extend(states.iter().zip(self.out.chunks_exact(n)).map(value));
    }

    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        let mover = game.mover(s);
        if matches!(self.model.head, Head::PolicyValue { .. }) {
            game.facts(s, &mut self.facts);
            return self.model.net.score_moves(&self.facts, mover, moves, &mut self.scratch, scores);
        }
        let net = &self.model.net;
        let (mut places, mut waiting) = ([0usize; 64], 0);
        let mut flush = |batch: &mut Batch, places: &[usize], movers: &[ludex_core::Player], scores: &mut [f32]| {
            self.out.resize(net.outputs() * places.len(), 0.0);
            net.run(batch, &mut self.out);
            for ((&i, &m), out) in places.iter().zip(movers).zip(self.out.chunks_exact(net.outputs())) {
                scores[i] = net.payoffs(out, m).expect("the head has a value")[mover];
            }
        };
        let mut movers = [ludex_core::Player(0); 64];
        for (i, &m) in moves.iter().enumerate() {
            let mut child = s.clone();
            game.play(&mut child, m);
            if let Some(end) = game.outcome(&child) {
                scores[i] = end[mover];
                continue;
            }
            game.facts(&child, &mut self.facts);
            (places[waiting], movers[waiting]) = (i, game.mover(&child));
            net.push(&mut self.batch, &self.facts, movers[waiting]);
            waiting += 1;
            if waiting == places.len() {
                flush(&mut self.batch, &places, &movers, scores);
                waiting = 0;
            }
        }
        flush(&mut self.batch, &places[..waiting], &movers[..waiting], scores);
    }
}

/// A net that ranks moves and judges no state.
pub(crate) struct NetScores {
    model: Arc<Loaded>,
    scratch: Scratch,
    facts: Vec<Fact>,
}

impl NetScores {
    /// A model whose head scores moves.
    pub fn new(model: Arc<Loaded>) -> Self {
        debug_assert!(scores_moves(model.head));
        let scratch = model.net.scratch();
        NetScores { model, scratch, facts: Vec::new() }
    }
}

/// Whether this head has a score for each move.
pub(crate) fn scores_moves(head: Head) -> bool {
    matches!(head, Head::MoveScores { .. } | Head::PolicyValue { .. })
}

impl<G: Game> Evaluator<G> for NetScores {
    /// Nothing is known about the value of a state.
    fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
        Payoffs::draw(game.info().players())
    }

    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        game.facts(s, &mut self.facts);
        self.model.net.score_moves(&self.facts, game.mover(s), moves, &mut self.scratch, scores);
    }
}
