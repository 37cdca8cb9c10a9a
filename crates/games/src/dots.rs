//! Dots and Boxes (Lucas 1895): draw an edge; a player who closes a box owns it and moves again; most boxes win.
//!
//! `dots:5x5` is the number of boxes across and down. Play goes on to the last edge, as in OpenSpiel. The payoff is win, draw
//! or loss; with `score=margin` it is the difference in boxes, divided by the number of boxes. Edges are numbered as in the
//! position: first the horizontal ones row by row, then the vertical ones.
//!
//! Position: a `0` or `1` per edge, the mover, boxes closed by each player `2/2`, and `owners=` with a letter per box. Without
//! `owners=` the closed boxes are assigned in order, which does not change the value of the position.

use crate::bits::{Word, ones};
use crate::text::{Fields, LETTERS, ROLES, caption, excerpt, parse_mover, refuse};
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError, mix};

/// The rules of Dots and Boxes on one board.
pub struct Dots<B: Word> {
    info: GameInfo,
    cols: usize,
    rows: usize,
    score: Score,
    /// All edges.
    all: B,
    /// For each edge, the two boxes beside it: the four edges of the box, and the bit of the box. An edge of the border has
    /// the same box twice.
    beside: Vec<[(B, u64); 2]>,
    /// The four edges of each box.
    sides: Vec<B>,
}

/// How the boxes at the end become payoffs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Score {
    /// 1, 0 or -1 for more, equally many or fewer boxes than the opponent.
    Win,
    /// The difference in boxes, divided by the number of boxes.
    Margin,
}

/// An encoding of facts as inputs of a neural net, in which several facts share an input and have different values.
#[derive(Clone, PartialEq, Debug)]
pub struct Codes {
    /// The value of each input if none of its facts holds.
    pub base: Vec<f32>,
    /// For each fact, its input and the value of that input if the fact holds; `None` if the fact is not encoded.
    pub codes: Vec<Option<(u32, f32)>>,
}

/// The encoding of Cotarelo et al. (2021), Table 2, for Dots and Boxes of any size; `None` for any other game.
///
/// An edge has an input of 0 if free and 0.25 if drawn. A box has an input of 1 if open, 0.5 if the first player owns it and
/// 0.75 if the second does. The paper does not encode the mover; with `turn` it is one more input.
pub fn paper_codes(info: &GameInfo, turn: bool) -> Option<Codes> {
    if info.family() != "dots" {
        return None;
    }
    let (edges, facts) = (info.moves, info.facts);
    let boxes = (facts - edges - 2) / 2;
    let mut codes: Vec<Option<(u32, f32)>> = (0..edges).map(|e| Some((e, 0.25))).collect();
    codes.extend((0..2 * boxes).map(|f| Some((edges + f / 2, if f % 2 == 0 { 0.5 } else { 0.75 }))));
    codes.extend([None, turn.then_some((edges + boxes, 1.0))]);
    let mut base = vec![0.0; edges as usize];
    base.resize((edges + boxes) as usize, 1.0);
    base.extend(turn.then_some(0.0));
    Some(Codes { base, codes })
}

/// A state: the edges drawn, the boxes of each player, and the mover.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DotsState<B> {
    drawn: B,
    owned: [u64; 2],
    mover: u8,
}

impl<B: Word> Dots<B> {
    /// The rules for a board of `cols` times `rows` boxes.
    pub fn new(cols: usize, rows: usize, score: Score) -> Result<Self, TextError> {
        if !(1..=64).contains(&cols)
            || !(1..=64).contains(&rows)
            || Self::edges(cols, rows) > B::BITS as usize
            || cols * rows > 64
        {
            return refuse(format!("dots takes boards of at most 64 boxes and 128 edges, not {cols}x{rows} boxes"));
        }
        let edges = Self::edges(cols, rows);
        let vertical = (rows + 1) * cols;
        let side = |r: usize, c: usize| {
            let four =
                [r * cols + c, (r + 1) * cols + c, vertical + r * (cols + 1) + c, vertical + r * (cols + 1) + c + 1];
            four.iter().fold(B::ZERO, |b, &e| b | B::bit(e as u32))
        };
        let sides: Vec<B> = (0..rows).flat_map(|r| (0..cols).map(move |c| side(r, c))).collect();
        let beside = |e: usize| {
            let near = |b: &usize| sides[*b] & B::bit(e as u32) != B::ZERO;
            let boxes: Vec<usize> = (0..cols * rows).filter(near).collect();
            let first = (sides[boxes[0]], 1 << boxes[0]);
            [first, boxes.get(1).map_or(first, |&b| (sides[b], 1 << b))]
        };
        let beside = (0..edges).map(beside).collect();
        let option = if score == Score::Margin { ",score=margin" } else { "" };
        let boxes = (cols * rows) as u32;
        let info = GameInfo::two_player(
            format!("dots:{cols}x{rows}{option}"),
            format!("Dots and Boxes, {cols}x{rows} boxes"),
            edges as u32,
            edges as u32 + 2 * boxes + 2,
        );
        let all = (0..edges).fold(B::ZERO, |b, e| b | B::bit(e as u32));
        let mut game = Dots { info, cols, rows, score, all, beside, sides };
        game.info.mirror = Some(Mirror {
            facts: (0..game.info.facts)
                .map(|f| Fact(if f < edges as u32 { f } else { ((f - edges as u32) ^ 1) + edges as u32 }))
                .collect(),
            moves: (0..edges as u32).map(Move).collect(),
        });
        game.info = game.info.clone().sealed(&game);
        Ok(game)
    }

    /// The number of edges of a board of `cols` times `rows` boxes.
    pub fn edges(cols: usize, rows: usize) -> usize {
        (rows + 1) * cols + rows * (cols + 1)
    }

    /// The columns and rows of boxes.
    pub fn size(&self) -> (usize, usize) {
        (self.cols, self.rows)
    }

    /// How the boxes at the end become payoffs.
    pub fn score(&self) -> Score {
        self.score
    }

    /// The edges drawn; bit `m` is the edge of move `m`.
    pub fn drawn(&self, s: &DotsState<B>) -> B {
        s.drawn
    }

    /// The number of boxes of each player.
    pub fn boxes(&self, s: &DotsState<B>) -> [u32; 2] {
        s.owned.map(u64::count_ones)
    }

    /// The four edges of box `row * columns + column`.
    pub fn sides(&self, b: usize) -> B {
        self.sides[b]
    }

    fn vertical(&self) -> usize {
        (self.rows + 1) * self.cols
    }

    fn owner(&self, s: &DotsState<B>, b: usize) -> Option<usize> {
        s.owned.iter().position(|o| o >> b & 1 == 1)
    }
}

impl<B: Word> Game for Dots<B> {
    type State = DotsState<B>;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> Self::State {
        DotsState { drawn: B::ZERO, owned: [0; 2], mover: 0 }
    }

    #[inline]
    fn mover(&self, s: &Self::State) -> Player {
        Player(s.mover)
    }

    #[inline]
    fn legal(&self, s: &Self::State, out: &mut Vec<Move>) {
        out.clear();
        out.extend(ones(self.all & !s.drawn).map(Move));
    }

    #[inline]
    fn play(&self, s: &mut Self::State, m: Move) {
        debug_assert!(s.drawn & B::bit(m.0) == B::ZERO);
        s.drawn |= B::bit(m.0);
        let [(a, box_a), (b, box_b)] = self.beside[m.index()];
        let mut closed = if s.drawn & a == a { box_a } else { 0 };
        closed |= if s.drawn & b == b { box_b } else { 0 };
        s.owned[s.mover as usize] |= closed;
        s.mover ^= (closed == 0) as u8;
    }

    #[inline]
    fn outcome(&self, s: &Self::State) -> Option<Payoffs> {
        if s.drawn != self.all {
            return None;
        }
        let [x, o] = self.boxes(s).map(|n| n as f32);
        Some(match self.score {
            Score::Win if x == o => Payoffs::draw(2),
            Score::Win => Payoffs::win(Player((x < o) as u8)),
            Score::Margin => Payoffs::of(Player(0), (x - o) / self.sides.len() as f32),
        })
    }

    /// The difference in boxes, divided by the number of boxes, whatever the payoff is.
    fn margin(&self, s: &Self::State) -> Option<Payoffs> {
        let [x, o] = self.boxes(s).map(|n| n as f32);
        (s.drawn == self.all).then(|| Payoffs::of(Player(0), (x - o) / self.sides.len() as f32))
    }

    fn win_in_one(&self, s: &Self::State) -> Option<Move> {
        // Only the last edge ends the game.
        let free = self.all & !s.drawn;
        let last = (free.count() == 1).then(|| Move(free.lowest()))?;
        let mut end = *s;
        self.play(&mut end, last);
        self.outcome(&end).filter(|p| p[Player(s.mover)] >= 1.0).map(|_| last)
    }

    fn facts(&self, s: &Self::State, out: &mut Vec<Fact>) {
        out.clear();
        out.extend(ones(s.drawn).map(Fact));
        let boxes = ones(s.owned[0] | s.owned[1]);
        out.extend(boxes.map(|b| Fact(self.info.moves + 2 * b + (s.owned[1] >> b & 1) as u32)));
        out.push(Fact(self.info.facts - 2 + s.mover as u32));
    }

    #[inline]
    fn play_facts(&self, s: &mut Self::State, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let (mover, owned) = (s.mover as usize, s.owned);
        self.play(s, m);
        on.clear();
        off.clear();
        on.push(Fact(m.0));
        if s.mover as usize == mover {
            on.extend(ones(s.owned[mover] ^ owned[mover]).map(|b| Fact(self.info.moves + 2 * b + mover as u32)));
        } else {
            on.push(Fact(self.info.facts - 2 + s.mover as u32));
            off.push(Fact(self.info.facts - 2 + mover as u32));
        }
    }

    #[inline]
    fn key(&self, s: &Self::State) -> u64 {
        // The value of a position depends on the numbers of boxes only, not on which they are.
        let (low, high) = s.drawn.halves();
        let score = (s.owned[0].count_ones() as u64) << 1 | s.mover as u64;
        let key = mix(mix(low) ^ score);
        if high == 0 { key } else { mix(key ^ high) }
    }

    fn mirrored(&self, s: &Self::State) -> Option<Self::State> {
        Some(DotsState { owned: [s.owned[1], s.owned[0]], mover: s.mover ^ 1, ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        match m.index().checked_sub(self.vertical()) {
            None => format!("h{},{}", m.index() / self.cols, m.index() % self.cols),
            Some(v) => format!("v{},{}", v / (self.cols + 1), v % (self.cols + 1)),
        }
    }

    fn fact_name(&self, f: Fact) -> String {
        let pair = |at: usize| ROLES[(f.index() - at) % 2];
        let (edges, boxes) = (self.info.moves as usize, self.sides.len());
        match f.index() {
            i if i < self.vertical() => format!("(h {} {})", i / self.cols, i % self.cols),
            i if i < edges => {
                format!("(v {} {})", (i - self.vertical()) / (self.cols + 1), (i - self.vertical()) % (self.cols + 1))
            }
            i if i < edges + 2 * boxes => {
                let b = (i - edges) / 2;
                format!("(box {} {} {})", b / self.cols, b % self.cols, pair(edges))
            }
            _ => format!("(control {})", pair(edges)),
        }
    }

    fn position(&self, s: &Self::State) -> String {
        let edges: String =
            (0..self.info.moves).map(|e| if s.drawn & B::bit(e) == B::ZERO { '0' } else { '1' }).collect();
        let [x, o] = self.boxes(s);
        let mut text = format!("{edges} {} {x}/{o}", LETTERS[s.mover as usize]);
        if x + o > 0 {
            text += " owners=";
            text.extend((0..self.sides.len()).map(|b| self.owner(s, b).map_or('-', |p| LETTERS[p])));
        }
        text
    }

    fn parse_position(&self, text: &str) -> Result<Self::State, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let mut fields = Fields::read(text, 3, "EDGES MOVER BOXES/BOXES")?;
        let mut s = self.initial();
        let edges = fields.words[0];
        if edges.len() != self.info.moves as usize {
            return refuse(format!("this board has {} edges, not {}", self.info.moves, edges.len()));
        }
        for (e, ch) in edges.chars().enumerate() {
            match ch {
                '1' => s.drawn |= B::bit(e as u32),
                '0' => {}
                _ => return refuse(format!("an edge is 0 or 1, not \"{}\"", excerpt(&ch.to_string()))),
            }
        }
        s.mover = parse_mover(fields.words[1])?.0;
        let closed: Vec<usize> = (0..self.sides.len()).filter(|&b| s.drawn & self.sides[b] == self.sides[b]).collect();
        let count = fields.words[2]
            .split_once('/')
            .and_then(|(x, o)| Some((x.parse::<usize>().ok()?, o.parse::<usize>().ok()?)));
        let Some((x, o)) = count else {
            return refuse(format!("boxes closed read 2/3, not \"{}\"", excerpt(fields.words[2])));
        };
        if x.checked_add(o) != Some(closed.len()) {
            return refuse(format!("these edges close {} boxes, not {x} + {o}", closed.len()));
        }
        match fields.take("owners") {
            None => closed.iter().enumerate().for_each(|(i, b)| s.owned[(i >= x) as usize] |= 1 << b),
            Some(owners) if owners.chars().count() != self.sides.len() => {
                return refuse(format!("owners= has a letter for each of {} boxes", self.sides.len()));
            }
            Some(owners) => {
                for (b, ch) in owners.chars().enumerate() {
                    match (ch, closed.contains(&b)) {
                        ('X' | 'x', true) => s.owned[0] |= 1 << b,
                        ('O' | 'o', true) => s.owned[1] |= 1 << b,
                        ('-', false) => {}
                        _ => return refuse(format!("owners= does not fit the edges at box {}", b + 1)),
                    }
                }
                if s.owned[0].count_ones() as usize != x {
                    return refuse(format!("owners= gives X {} boxes, not {x}", s.owned[0].count_ones()));
                }
            }
        }
        fields.finish()?;
        Ok(s)
    }

    fn show(&self, s: &Self::State) -> String {
        let drawn = |e: usize| s.drawn & B::bit(e as u32) != B::ZERO;
        let mut text = String::new();
        for r in 0..=self.rows {
            text += "  ";
            (0..self.cols).for_each(|c| text += if drawn(r * self.cols + c) { "+---" } else { "+   " });
            text += "+\n";
            if r == self.rows {
                break;
            }
            text += &format!("{r} ");
            for c in 0..=self.cols {
                text += if drawn(self.vertical() + r * (self.cols + 1) + c) { "|" } else { " " };
                if c < self.cols {
                    text += &format!(" {} ", self.owner(s, r * self.cols + c).map_or(' ', |p| LETTERS[p]));
                }
            }
            text += "\n";
        }
        let [x, o] = self.boxes(s);
        text + &format!("X {x} O {o}, {}", caption(self.mover(s), self.outcome(s)))
    }

    #[inline]
    fn sample(&self, s: &Self::State, rng: &mut Rng) -> Option<Move> {
        let free = self.all & !s.drawn;
        (free != B::ZERO).then(|| Move(free.select(rng.below(free.count()))))
    }

    #[inline]
    fn count_legal(&self, s: &Self::State) -> usize {
        (self.all & !s.drawn).count() as usize
    }
}
