//! Matches that an agent plays against itself, with what its search saw written down.

use crate::driver::Context;
use crate::records::{Child, Played, Record, Records, RootMove};
use crate::store::{Parts, Result, RunError};
use ludex_core::{Control, Fact, Rng};
use ludex_play::{Episode, PlyView, Position, Spec, Table, lock, play_match};
use std::sync::Mutex;

/// Records that are made of the moves of a match.
pub trait FromPly: Record {
    /// Adds the rows of one move; the result of the match is filled in at its end.
    fn record(view: &PlyView<'_>, match_id: u32, out: &mut Records<Self>);
}

fn count(n: u64) -> u32 {
    n.min(u32::MAX as u64) as u32
}

impl FromPly for Played {
    fn record(view: &PlyView<'_>, match_id: u32, out: &mut Records<Self>) {
        let choice = &view.ply.choice;
        let (mover, mv, value) = (view.ply.mover, choice.mv, choice.value);
        let (visits, ply) = (count(choice.simulations), view.number as u32);
        out.push(&view.position.facts(), &Played { mover, mv, visits, match_id, ply, value, result: value });
    }
}

impl FromPly for Child {
    fn record(view: &PlyView<'_>, match_id: u32, out: &mut Records<Self>) {
        let (chooser, ply) = (view.ply.mover, view.number as u32 + 1);
        let mut facts: Vec<Fact> = Vec::new();
        for r in view.ply.choice.root.iter().filter(|r| r.visits > 0) {
            let Some(value) = r.value else { continue };
            let mover = view.position.facts_after(r.mv, &mut facts);
            let (mv, visits) = (r.mv, count(r.visits));
            out.push(&facts, &Child { mover, chooser, mv, visits, match_id, ply, value, result: value });
        }
    }
}

impl FromPly for RootMove {
    fn record(view: &PlyView<'_>, match_id: u32, out: &mut Records<Self>) {
        let (mover, chosen, ply) = (view.ply.mover, &view.ply.choice, view.number as u32);
        let facts = view.position.facts();
        let row = |mv, visits, value| {
            let (played, result) = (mv == chosen.mv, chosen.value);
            RootMove { mover, mv, visits, played, match_id, ply, value, result }
        };
        let tried = chosen.root.iter().filter(|r| r.visits > 0);
        let rows: Vec<RootMove> = tried.filter_map(|r| Some(row(r.mv, count(r.visits), r.value?))).collect();
        // The move that was played is there even if the search did not try it.
        if !rows.iter().any(|r| r.played) {
            out.push(&facts, &row(chosen.mv, 0, chosen.value));
        }
        rows.iter().for_each(|r| out.push(&facts, r));
    }
}

/// Plays one match of an agent against itself from a position and adds its records. Everything random comes from the seed.
pub fn self_match<R: FromPly>(
    table: &dyn Table,
    agent: &Spec,
    start: &dyn Position,
    (match_id, seed): (u32, u64),
    out: &mut Records<R>,
) -> Result<Episode> {
    let build = |p| table.agent(agent, Rng::derive(seed, p as u64)).map_err(|e| RunError::Agent("self-play".into(), e));
    let mut agents = (0..table.info().players()).map(build).collect::<Result<Vec<_>, _>>()?;
    let first = out.len();
    let episode =
        play_match(table, start, &mut agents, &Control::default(), &mut |view| R::record(view, match_id, out));
    if let Some((_, _, why)) = &episode.fault {
        return Err(RunError::Learning(format!("self-play: {agent} failed in match {match_id}: {why}")));
    }
    out.set_result(first, &episode.outcome);
    Ok(episode)
}

/// A stage of self-play.
pub struct SelfPlay<'a> {
    /// The name of the stage.
    pub stage: &'a str,
    /// Who plays all roles.
    pub agent: &'a Spec,
    /// How many matches.
    pub matches: usize,
    /// Matches in a part.
    pub batch: usize,
}

impl SelfPlay<'_> {
    /// Plays what is missing. Match `i` begins at a position, and has a number and a seed, by `start(i)`.
    pub fn run<'r, R: FromPly>(
        &self,
        cx: &Context<'r>,
        start: impl Fn(usize) -> Result<(Box<dyn Position>, u32, u64)> + Sync,
    ) -> Result<Parts<'r, Records<R>>> {
        cx.check_agent("self-play", self.agent)?;
        let _models = cx.table.models(self.agent);
        stage_of_matches(cx, self.stage, (self.matches, self.batch), |i, records| {
            let (position, match_id, seed) = start(i)?;
            self_match(cx.table, self.agent, &*position, (match_id, seed), records).map(|_| ())
        })
    }
}

/// Plays what is missing of so many matches, in parts of so many; `play` plays one and adds its records.
pub(crate) fn stage_of_matches<'r, R: Record>(
    cx: &Context<'r>,
    stage: &str,
    (matches, batch): (usize, usize),
    play: impl Fn(usize, &mut Records<R>) -> Result<()> + Sync,
) -> Result<Parts<'r, Records<R>>> {
    let batch = batch.max(1);
    cx.run.stage(stage, matches.div_ceil(batch), |part| {
        let mut records = Records::named(cx.table);
        for i in part * batch..((part + 1) * batch).min(matches) {
            if cx.run.observer().stopped() {
                return Err(RunError::Stopped);
            }
            play(i, &mut records)?;
        }
        Ok(records)
    })
}

/// Positions that several matches begin with, the last few of them by number.
#[derive(Default)]
pub struct Recent(Mutex<Vec<(usize, Box<dyn Position>)>>);

impl Recent {
    /// The position of this number; made if it is not among the last few.
    pub fn get(&self, number: usize, make: impl FnOnce() -> Result<Box<dyn Position>>) -> Result<Box<dyn Position>> {
        const FEW: usize = 64;
        if let Some((_, position)) = lock(&self.0).iter().find(|(n, _)| *n == number) {
            return Ok(position.clone());
        }
        let made = make()?;
        let mut recent = lock(&self.0);
        let old = (recent.len() + 1).saturating_sub(FEW);
        recent.drain(..old);
        recent.push((number, made.clone()));
        Ok(made)
    }
}
