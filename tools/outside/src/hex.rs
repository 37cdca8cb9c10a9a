//! Hex on a board of 5 by 5: red joins the top row to the bottom row, blue the left column to the right one; red begins.

use ludex_core::{Fact, Game, GameInfo, Move, Payoffs, Player, TextError};
use ludex_play::{Table, TableBuilder};
use ludex_train::learnable_as;
use std::sync::Arc;

const SIDE: u32 = 5;
const CELLS: u32 = SIDE * SIDE;

/// The rules.
pub struct Hex(GameInfo);

/// The stones of both players, a bit for each cell, and who is to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    stones: [u32; 2],
    mover: Player,
}

impl Default for Hex {
    fn default() -> Self {
        // A move for each cell; a fact for each cell and player, and two that say who is to move.
        let mut game = Hex(GameInfo::two_player("hex:5x5", "Hex", CELLS, 2 * CELLS + 2));
        game.0.roles = vec!["red".into(), "blue".into()];
        game.0 = game.0.clone().sealed(&game); // names the rules, so that models learned for others are refused
        game
    }
}

/// Whether a player's stones join both edges: the stones of the first edge, and then their neighbours again and again.
fn joins(stones: u32, player: Player) -> bool {
    let cell = |column: u32, row: u32| 1 << (row * SIDE + column);
    let edge = |n: u32| (0..SIDE).fold(0, |e, i| e | if player.0 == 0 { cell(i, n) } else { cell(n, i) });
    let left = (0..SIDE).fold(0, |e, i| e | cell(0, i));
    let right = left << (SIDE - 1);
    let mut joined = stones & edge(0);
    loop {
        let (to_right, to_left) = ((joined & !right) << 1, (joined & !left) >> 1);
        let (down, up) = (joined << SIDE, joined >> SIDE);
        let (up_right, down_left) = (to_right >> SIDE, to_left << SIDE);
        let more = stones & (joined | to_right | to_left | down | up | up_right | down_left);
        if more == joined {
            return joined & edge(SIDE - 1) != 0;
        }
        joined = more;
    }
}

impl Game for Hex {
    type State = State;

    fn info(&self) -> &GameInfo {
        &self.0
    }
    fn initial(&self) -> State {
        State { stones: [0; 2], mover: Player(0) }
    }
    fn mover(&self, s: &State) -> Player {
        s.mover
    }
    fn legal(&self, s: &State, out: &mut Vec<Move>) {
        out.clear();
        if self.outcome(s).is_none() {
            out.extend((0..CELLS).filter(|c| (s.stones[0] | s.stones[1]) >> c & 1 == 0).map(Move));
        }
    }
    fn play(&self, s: &mut State, m: Move) {
        s.stones[s.mover.index()] |= 1 << m.0;
        s.mover = s.mover.other();
    }
    fn outcome(&self, s: &State) -> Option<Payoffs> {
        [Player(0), Player(1)].into_iter().find(|p| joins(s.stones[p.index()], *p)).map(Payoffs::win)
    }
    fn facts(&self, s: &State, out: &mut Vec<Fact>) {
        out.clear();
        out.extend((0..2 * CELLS).filter(|f| s.stones[(f % 2) as usize] >> (f / 2) & 1 == 1).map(Fact));
        out.push(Fact(2 * CELLS + s.mover.0 as u32));
    }
    fn move_name(&self, m: Move) -> String {
        format!("{}{}", (b'a' + (m.0 % SIDE) as u8) as char, m.0 / SIDE + 1)
    }
    fn fact_name(&self, f: Fact) -> String {
        let (cell, player) = (f.0 / 2, &self.0.roles[(f.0 % 2) as usize]);
        match cell < CELLS {
            true => format!("(cell {} {} {player})", cell % SIDE + 1, cell / SIDE + 1),
            false => format!("(control {player})"),
        }
    }
    fn position(&self, s: &State) -> String {
        let stone = |c: u32| ["-", "R", "B"][(s.stones[0] >> c & 1 | (s.stones[1] >> c & 1) << 1) as usize];
        let row = |r: u32| (0..SIDE).map(|c| stone(r * SIDE + c)).collect::<String>();
        format!("{} {}", (0..SIDE).map(row).collect::<Vec<_>>().join("/"), ["R", "B"][s.mover.index()])
    }
    fn parse_position(&self, text: &str) -> Result<State, TextError> {
        if text == "start" {
            return Ok(self.initial());
        }
        let bad = || TextError::new("expected rows of R, B and -, such as -R---/--B--/-----/-----/----- R");
        let (board, mover) = text.split_once(' ').ok_or_else(bad)?;
        let mover = ["R", "B"].iter().position(|m| *m == mover).ok_or_else(bad)?;
        let rows: Vec<&str> = board.split('/').collect();
        if rows.len() != SIDE as usize || rows.iter().any(|r| r.len() != SIDE as usize) {
            return Err(bad());
        }
        let mut s = State { stones: [0; 2], mover: Player(mover as u8) };
        for (i, c) in rows.concat().bytes().enumerate() {
            let player = b"RB-".iter().position(|p| *p == c).ok_or_else(bad)?;
            s.stones.get_mut(player).into_iter().for_each(|stones| *stones |= 1 << i);
        }
        Ok(s)
    }
    fn show(&self, s: &State) -> String {
        let text = self.position(s);
        let (board, mover) = text.split_once(' ').unwrap_or_default();
        let line = |(i, row): (usize, &str)| {
            let stones: Vec<String> = row.chars().map(String::from).collect();
            format!("{:i$}{} {}", "", i + 1, stones.join(" ")) // each row half a cell further to the right
        };
        let rows: Vec<String> = board.split('/').enumerate().map(line).collect();
        format!("  a b c d e\n{}\n{mover} to move", rows.join("\n"))
    }
}

/// The game, to play and to learn.
pub fn table() -> Arc<dyn Table> {
    learnable_as::<Hex>(TableBuilder::new(Hex::default()).build())
}
