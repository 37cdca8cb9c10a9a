//! The only place that knows games by name: `NAME[:OPTION[,OPTION]..]`, an option being a size `COLSxROWS[xK]`, a word, or
//! `key=value`; or the path of a rulesheet, which ends in `.kif` or `.gdl`.

use crate::baselines;
use crate::parts::near;
use crate::spec::short;
use crate::table::{NativeTable, Table, TableBuilder};
use ludex_core::{Game, GameInfo, TextError};
use ludex_games::{Breakthrough, Checkers, Connect4, Dots, Draw, Mnk, Morris, Othello, Score};
use ludex_gdl::{GdlGame, GdlOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a name opens no game: one line.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no game of this name.
    #[error("there is no game called \"{name}\"{}", .like.map_or(String::new(), |g| format!(": did you mean {g}?")))]
    Unknown {
        /// What was asked for.
        name: String,
        /// A game with a name much like it.
        like: Option<&'static str>,
    },
    /// The options make no sense.
    #[error("{0}")]
    Option(String),
    /// The rulesheet cannot be read.
    #[error("cannot read {0}: {1}")]
    File(String, std::io::Error),
    /// The rulesheet cannot be played.
    #[error("{0}: {1}")]
    Rules(String, ludex_gdl::Error),
}

impl From<TextError> for OpenError {
    fn from(e: TextError) -> Self {
        OpenError::Option(e.to_string())
    }
}

fn bad(line: String) -> OpenError {
    OpenError::Option(line)
}

/// A game that can be opened, for listings and help.
pub struct Listing {
    /// What to type.
    pub name: &'static str,
    /// Its options, as in the help.
    pub options: &'static str,
    /// The rules in a few lines, and how each kind of move is typed.
    pub rules: &'static str,
}

/// All native games.
pub const GAMES: [Listing; 9] = [
    Listing {
        name: "tictactoe",
        options: "",
        rules: "In turn, put a piece on an empty square; three in a row, column or diagonal win.\n\
            A move is the square: b2 is column b, row 2, counted from the top.",
    },
    Listing {
        name: "connect4",
        options: "COLSxROWSxK (7x6x4)",
        rules: "In turn, drop a piece into a column that is not full; it falls as far as it can. Four in a row, column or \
            diagonal win (or as many as the last number of the game's size says); a full board is a draw.\n\
            A move is the column, counted from the left: 4",
    },
    Listing {
        name: "othello",
        options: "COLSxROWS (8x8; 4, 6 or 8 each)",
        rules: "In turn, place a disc so that it encloses opposing discs in a line between itself and another disc of yours; \
            all enclosed discs become yours. When neither side can move, whoever has more discs wins.\n\
            A move is the square: c4 is column c, row 4, counted from the top. Who has no such move types pass.",
    },
    Listing {
        name: "morris",
        options: "draw=repetition | draw=turns200",
        rules: "Each side places nine men in turn, then moves one along a line to a free point; with three men left, to any \
            free point. Three in a line make a mill and take a man, from a mill only if all men stand in mills. Who has two \
            men left, or cannot move, loses.\n\
            Place: d7. Move or fly: d7-g7. Take a man: xa4, which is a move of its own, typed after the mill is closed.",
    },
    Listing {
        name: "dots",
        options: "COLSxROWS boxes (5x5), score=win | score=margin",
        rules: "In turn, draw an edge. Who draws the fourth edge of a box owns it and moves again. When all edges are drawn, \
            whoever owns more boxes wins.\n\
            Edges count from 0 at the top left. A horizontal edge is h and its line and column: h0,2. A vertical edge is v \
            and its row and line: v1,0.",
    },
    Listing {
        name: "gomoku",
        options: "COLSxROWSxK (15x15x5), exact",
        rules: "In turn, put a piece on an empty square; five in a row, column or diagonal win (or as many as the last \
            number of the game's size says). With the option exact, longer rows do not win.\n\
            A move is the square: h8 is column h, row 8, counted from the top.",
    },
    Listing {
        name: "mnk",
        options: "COLSxROWSxK (3x3x3), exact",
        rules: "In turn, put a piece on an empty square; as many in a row, column or diagonal as the last number of the \
            game's size win. With the option exact, longer rows do not win.\n\
            A move is the square: b2 is column b, row 2, counted from the top.",
    },
    Listing {
        name: "breakthrough",
        options: "COLSxROWS (8x8)",
        rules: "In turn, move a man one square forward, straight or diagonally, to an empty square; diagonally also onto an \
            opposing man, which is taken. Who reaches the last row, or takes all men, wins.\n\
            A move is from and to: a2b3. X sits at the bottom and moves up.",
    },
    Listing {
        name: "checkers",
        options: "COLSxROWS (8x8), draw=N (40)",
        rules: "In turn, move a man one square diagonally forward, or jump over an adjacent opposing piece, which is taken. \
            Jumps are forced, any of them, and go on with the same piece as long as it can jump. A man that reaches the last \
            row becomes a king, which moves and jumps backwards too, and ends the turn. Who cannot move loses; so many \
            moves without a jump as the option draw says are a draw.\n\
            A move is from and to: c3d4. A jump too: c3e5; of several jumps each is a move of its own: c3e5, then e5g7. \
            X sits at the bottom and moves up.",
    },
];

/// The listing of an opened game; `None` for rulesheets and for tables of one's own.
pub fn listing(info: &GameInfo) -> Option<&'static Listing> {
    GAMES.iter().find(|g| g.name == info.family())
}

/// Opens a game by its name.
pub fn open(name: &str) -> Result<Arc<dyn Table>, OpenError> {
    let name = name.trim();
    if name.ends_with(".kif") || name.ends_with(".gdl") {
        return rulesheet(name);
    }
    let (family, rest) = name.split_once(':').unwrap_or((name, ""));
    if name.ends_with(':') {
        return Err(bad(format!("\"{}\" ends in a colon but names no option", short(name))));
    }
    let mut options = NameOptions::read(family, rest)?;
    let table = match family {
        "tictactoe" => plain(Mnk::<1>::new(family, 3, 3, 3, false)?),
        "connect4" => {
            let [cols, rows, k] = options.size([7, 6, 4], 2)?;
            match cols.saturating_mul(rows.saturating_add(1)) {
                0..=64 => plain(Connect4::<u64>::new(cols, rows, k)?),
                _ => plain(Connect4::<u128>::new(cols, rows, k)?),
            }
        }
        "othello" => {
            let [cols, rows] = options.size([8, 8], 2)?;
            with(Othello::new(cols as usize, rows as usize)?, baselines::othello)
        }
        "morris" => {
            let draw = match options.value("draw").as_deref() {
                None | Some("repetition") => Draw::Repetition,
                Some("turns200") => Draw::Turns200,
                Some(v) => return Err(bad(format!("morris:draw= is repetition or turns200, not \"{}\"", short(v)))),
            };
            with(Morris::new(draw), baselines::morris)
        }
        "dots" => {
            let [cols, rows] = options.size([5, 5], 2)?.map(|n| n as usize);
            let score = match options.value("score").as_deref() {
                None | Some("win") => Score::Win,
                Some("margin") => Score::Margin,
                Some(v) => return Err(bad(format!("dots:score= is win or margin, not \"{}\"", short(v)))),
            };
            match cols <= 64 && rows <= 64 && Dots::<u64>::edges(cols, rows) <= 64 {
                true => with(Dots::<u64>::new(cols, rows, score)?, baselines::dots),
                false => with(Dots::<u128>::new(cols, rows, score)?, baselines::dots),
            }
        }
        "gomoku" | "mnk" => {
            let standard = if family == "gomoku" { [15, 15, 5] } else { [3, 3, 3] };
            let [cols, rows, k] = options.size(standard, 2)?;
            let (c, r, exact) = (cols as usize, rows as usize, options.flag("exact"));
            match Mnk::<1>::bits(c.min(100), r.min(100)) {
                0..=64 => plain(Mnk::<1>::new(family, c, r, k, exact)?),
                65..=128 => plain(Mnk::<2>::new(family, c, r, k, exact)?),
                129..=320 => plain(Mnk::<5>::new(family, c, r, k, exact)?),
                _ => plain(Mnk::<8>::new(family, c, r, k, exact)?),
            }
        }
        "breakthrough" => {
            let [cols, rows] = options.size([8, 8], 2)?;
            plain(Breakthrough::new(cols, rows)?)
        }
        "checkers" => {
            let [cols, rows] = options.size([8, 8], 2)?;
            let draw = options.value("draw").unwrap_or("40".into());
            let wrong = || bad(format!("checkers:draw= is a number from 1 to 255, not \"{}\"", short(&draw)));
            plain(Checkers::new(cols, rows, draw.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?)?)
        }
        _ => return Err(unknown(family)),
    };
    options.finish()?;
    Ok(table)
}

/// Something that is done with a game whose type is known.
pub trait NativeVisitor {
    /// Does it.
    fn visit<G: Game>(&self, native: Arc<NativeTable<G>>);
}

/// Lets a visitor see the game behind a table that [`open`] made, with its type; not those of tables of other games, which are
/// extended when they are built. The one place that lists the types of games.
pub fn visit_native(table: &dyn Table, visitor: &impl NativeVisitor) {
    macro_rules! visit {
        ($($game:ty),*) => { $(table.extension::<NativeTable<$game>>().into_iter().for_each(|n| visitor.visit(n));)* };
    }
    visit!(Connect4<u64>, Connect4<u128>, Othello, Morris, Dots<u64>, Dots<u128>, Breakthrough, Checkers, GdlGame);
    visit!(Mnk<1>, Mnk<2>, Mnk<5>, Mnk<8>);
}

/// Reads a rulesheet from a file.
fn rulesheet(path: &str) -> Result<Arc<dyn Table>, OpenError> {
    let bytes = std::fs::read(path).map_err(|e| OpenError::File(path.into(), e))?;
    let game = GdlGame::new(path, &String::from_utf8_lossy(&bytes), &GdlOptions::default());
    Ok(rulesheet_table(Arc::new(game.map_err(|e| OpenError::Rules(path.into(), e))?)))
}

/// The table of a rulesheet that has been read already.
pub fn rulesheet_table(game: Arc<GdlGame>) -> Arc<dyn Table> {
    TableBuilder::<GdlGame>::new(game).build()
}

fn plain<G: Game>(game: G) -> Arc<dyn Table> {
    with(game, |table| table)
}

fn with<G: Game>(game: G, baselines: fn(TableBuilder<G>) -> TableBuilder<G>) -> Arc<dyn Table> {
    baselines(TableBuilder::new(game)).build()
}

fn unknown(family: &str) -> OpenError {
    let like = GAMES.iter().map(|g| g.name).find(|g| near(g, family));
    OpenError::Unknown { name: short(family), like }
}

/// What follows the colon.
struct NameOptions {
    family: String,
    size: Option<Vec<u32>>,
    words: Vec<String>,
    values: BTreeMap<String, String>,
}

impl NameOptions {
    fn read(family: &str, text: &str) -> Result<Self, OpenError> {
        let mut options = NameOptions { family: family.into(), size: None, words: Vec::new(), values: BTreeMap::new() };
        for item in text.split(',').filter(|_| !text.is_empty()) {
            let doubled = || bad(format!("\"{}\" is given twice", short(item)));
            if let Some((key, value)) = item.split_once('=') {
                if options.values.insert(key.into(), value.into()).is_some() {
                    return Err(doubled());
                }
            } else if item.starts_with(|c: char| c.is_ascii_digit()) {
                let numbers: Result<Vec<u32>, _> = item.split('x').map(str::parse).collect();
                let Ok(size) = numbers else {
                    return Err(bad(format!("a size reads COLSxROWS or COLSxROWSxK, not \"{}\"", short(item))));
                };
                if options.size.replace(size).is_some() {
                    return Err(bad(format!("{family} has one size, but two are given")));
                }
            } else {
                if options.words.contains(&item.to_string()) {
                    return Err(doubled());
                }
                options.words.push(item.into());
            }
        }
        Ok(options)
    }

    /// The size, of which the first `least` numbers must be given if any are.
    fn size<const N: usize>(&mut self, standard: [u32; N], least: usize) -> Result<[u32; N], OpenError> {
        let Some(given) = self.size.take() else { return Ok(standard) };
        if given.len() < least || given.len() > N {
            let form = ["COLSxROWS", "COLSxROWSxK"][N - 2];
            return Err(bad(format!("the size of {} reads {form}", self.family)));
        }
        let mut size = standard;
        size[..given.len()].copy_from_slice(&given);
        Ok(size)
    }

    fn value(&mut self, key: &str) -> Option<String> {
        self.values.remove(key)
    }

    fn flag(&mut self, word: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|w| w != word);
        self.words.len() < before
    }

    fn finish(self) -> Result<(), OpenError> {
        let left = self.words.into_iter().chain(self.values.into_keys().map(|k| k + "="));
        let left: Vec<String> = left.chain(self.size.map(|_| "a size".to_string())).collect();
        match left.first() {
            None => Ok(()),
            Some(option) => Err(bad(format!("{} takes no option \"{}\"", self.family, short(option)))),
        }
    }
}
