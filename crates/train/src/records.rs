//! Tables of states with what a search or a match says about them, as Parquet files that any tool can read.
//!
//! A [`Record`] is a row apart from its facts: a few whole numbers, what the state or move is worth to each player (`payoff_p`)
//! and what each player got in the end (`result_p`). `facts` is a row of bits, fact `f` being bit `f % 8` of byte `f / 8`; the
//! file's metadata gives the game, what the columns mean, and the names of all facts and moves where a table gave them.

use crate::store::Artifact;
use bytes::Bytes;
use ludex_core::{Fact, GameInfo, Move, Payoffs, Player};
use ludex_play::Table;
use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::marker::PhantomData;
use std::sync::Arc;

/// A cell of a column of whole numbers.
trait Whole {
    fn to_whole(self) -> u32;
    fn from_whole(n: u32) -> Self;
}

/// How cells of a type become whole numbers and back.
macro_rules! whole {
    ($($type:ty: $to:expr, $from:expr;)*) => {$(
        impl Whole for $type {
            fn to_whole(self) -> u32 {
                ($to)(self)
            }
            fn from_whole(n: u32) -> Self {
                ($from)(n)
            }
        }
    )*};
}

whole! {
    u32: |n| n, |n| n;
    Player: |p: Player| p.0 as u32, |n| Player(n as u8);
    Move: |m: Move| m.0, Move;
    bool: |yes| yes as u32, |n| n != 0;
}

/// A kind of row.
pub trait Record: Sized + Send {
    /// The columns of whole numbers.
    const COLUMNS: &'static [&'static str];
    /// What a row is.
    const ABOUT: &'static str;
    /// The whole numbers of a row, what it says about values, and the result of its match.
    fn cells(&self) -> (Vec<u32>, Payoffs, Payoffs);
    /// The row of these cells.
    fn from_cells(whole: &[u32], value: Payoffs, result: Payoffs) -> Self;
}

/// Declares a kind of row by its columns of whole numbers.
macro_rules! record {
    ($name:ident, $about:literal, $value:literal: $($column:literal $field:ident $type:ty, $doc:literal;)*) => {
        #[doc = concat!($about, ".")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $(#[doc = $doc] pub $field: $type,)*
            #[doc = $value]
            pub value: Payoffs,
            /// How the match ended.
            pub result: Payoffs,
        }

        impl Record for $name {
            const COLUMNS: &'static [&'static str] = &[$($column),*];
            const ABOUT: &'static str = concat!($about, ". payoff_p: ", $value, " (player p) result_p: what player p got in the end.");

            fn cells(&self) -> (Vec<u32>, Payoffs, Payoffs) {
                (vec![$(self.$field.to_whole()),*], self.value, self.result)
            }

            fn from_cells(whole: &[u32], value: Payoffs, result: Payoffs) -> Self {
                let mut whole = whole.iter().copied();
                $(let $field = <$type>::from_whole(whole.next().unwrap_or_default());)*
                $name { $($field,)* value, result }
            }
        }
    };
}

record! { Child, "The child of a searched state", "What the search expects for each player.":
    "mover" mover Player, "Who is to move there.";
    "chooser" chooser Player, "Who chose the move that leads there.";
    "move" mv Move, "That move.";
    "visits" visits u32, "How often the search went there.";
    "match" match_id u32, "The match.";
    "ply" ply u32, "Plies from the beginning of the match.";
}

record! { Played, "A state of a match", "What the search expects for each player.":
    "mover" mover Player, "Who is to move there.";
    "move" mv Move, "The move that was played.";
    "visits" visits u32, "Simulations of the search for it.";
    "match" match_id u32, "The match.";
    "ply" ply u32, "Plies from the beginning of the match.";
}

record! { RootMove, "A move of a searched state, whose facts are those of the row", "What the search expects after it.":
    "mover" mover Player, "Who is to move in the state.";
    "move" mv Move, "The move.";
    "visits" visits u32, "How often the search tried it.";
    "played" played bool, "Whether it was played.";
    "match" match_id u32, "The match.";
    "ply" ply u32, "Plies from the beginning of the match.";
}

record! { Labelled, "A state with a label", "The label: what the state is worth to each player.":
    "mover" mover Player, "Who is to move there.";
    "source" source u32, "Where the label comes from, as its maker numbers sources.";
    "match" match_id u32, "The match in which it was found.";
    "ply" ply u32, "Plies from the beginning of the match to where it was found.";
}

/// The names of facts and moves in the order of their numbers, each as the JSON list that the file's metadata holds.
#[derive(Clone, Debug, PartialEq)]
struct Names {
    facts: String,
    moves: String,
}

/// The keys of the names in the metadata.
const FACT_NAMES: &str = "fact_names";
const MOVE_NAMES: &str = "move_names";

impl Names {
    fn of(table: &dyn Table) -> Self {
        let json = |names: Vec<String>| serde_json::to_string(&names).expect("plain data");
        let info = table.info();
        let facts = json((0..info.facts).map(|f| table.fact_name(Fact(f))).collect());
        Names { facts, moves: json((0..info.moves).map(|m| table.move_name(Move(m))).collect()) }
    }
}

/// A table of records of one game, kept column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Records<R: Record> {
    game: String,
    facts: usize,
    players: usize,
    names: Option<Names>,
    rows: usize,
    bits: Vec<u8>,
    /// Row by row.
    whole: Vec<u32>,
    /// Values and results row by row, one number a player.
    payoffs: [Vec<f32>; 2],
    record: PhantomData<R>,
}

/// Bytes that so many facts take.
fn width(facts: usize) -> usize {
    facts.div_ceil(8).max(1)
}

/// Some of so many facts as a row of bits: equal for equal states.
pub fn fact_bits(facts: &[Fact], all: usize) -> Vec<u8> {
    let mut bits = vec![0; width(all)];
    facts.iter().for_each(|f| bits[f.index() / 8] |= 1 << (f.index() % 8));
    bits
}

impl<R: Record> Records<R> {
    /// No rows yet.
    pub fn new(info: &GameInfo) -> Self {
        Self::empty(info.name.clone(), info.facts as usize, info.players())
    }

    /// No rows yet; the file will name the facts and moves of this table.
    pub fn named(table: &dyn Table) -> Self {
        Records { names: Some(Names::of(table)), ..Self::new(table.info()) }
    }

    fn empty(game: String, facts: usize, players: usize) -> Self {
        let (bits, whole, payoffs) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        Records { game, facts, players, names: None, rows: 0, bits, whole, payoffs, record: PhantomData }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a row.
    pub fn push(&mut self, facts: &[Fact], record: &R) {
        self.bits.extend(fact_bits(facts, self.facts));
        let (whole, value, result) = record.cells();
        self.whole.extend(whole);
        self.payoffs[0].extend_from_slice(&value.as_slice()[..self.players]);
        self.payoffs[1].extend_from_slice(&result.as_slice()[..self.players]);
        self.rows += 1;
    }

    /// The match from row `from` on ended like this.
    pub fn set_result(&mut self, from: usize, result: &Payoffs) {
        for row in self.payoffs[1][from * self.players..].chunks_exact_mut(self.players) {
            row.copy_from_slice(&result.as_slice()[..self.players]);
        }
    }

    /// The facts of a row as bits: equal for equal states.
    pub fn key(&self, i: usize) -> &[u8] {
        &self.bits[i * width(self.facts)..(i + 1) * width(self.facts)]
    }

    /// The facts of row `i`, in increasing order.
    pub fn facts(&self, i: usize) -> Vec<Fact> {
        let holds = |f: &u32| self.key(i)[*f as usize / 8] >> (f % 8) & 1 == 1;
        (0..self.facts as u32).filter(holds).map(Fact).collect()
    }

    /// Row `i`, without its facts.
    pub fn row(&self, i: usize) -> R {
        let (n, p) = (R::COLUMNS.len(), self.players);
        let payoffs = |column: &[f32]| Payoffs::from_slice(&column[i * p..(i + 1) * p]);
        R::from_cells(&self.whole[i * n..(i + 1) * n], payoffs(&self.payoffs[0]), payoffs(&self.payoffs[1]))
    }

    /// All rows, without their facts.
    pub fn iter(&self) -> impl Iterator<Item = R> + '_ {
        (0..self.rows).map(|i| self.row(i))
    }

    fn schema(&self) -> Arc<Type> {
        let column = |name: &str, physical: Physical| {
            let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
            Arc::new(column.with_length(width(self.facts) as i32).build().expect("a sound column"))
        };
        let mut fields = vec![column("facts", Physical::FIXED_LEN_BYTE_ARRAY)];
        fields.extend(R::COLUMNS.iter().map(|name| column(name, Physical::INT32)));
        for what in ["payoff", "result"] {
            fields.extend((0..self.players).map(|p| column(&format!("{what}_{p}"), Physical::FLOAT)));
        }
        Arc::new(Type::group_type_builder("records").with_fields(fields).build().expect("a sound table"))
    }

    fn write(&self) -> parquet::errors::Result<Vec<u8>> {
        let about = [
            ("game", self.game.clone()),
            ("facts", self.facts.to_string()),
            ("players", self.players.to_string()),
            ("bits", "fact f holds if bit f % 8 of byte f / 8 of `facts` is set".into()),
            ("row", R::ABOUT.into()),
        ];
        let names = self.names.iter().flat_map(|n| [(FACT_NAMES, n.facts.clone()), (MOVE_NAMES, n.moves.clone())]);
        let about = about.into_iter().chain(names).map(|(key, value)| KeyValue::new(key.to_string(), value)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("ludex".into())
            .set_key_value_metadata(Some(about));
        let mut writer = SerializedFileWriter::new(Vec::new(), self.schema(), Arc::new(properties.build()))?;
        let mut group = writer.next_row_group()?;
        let column = |values: &[f32], p: usize| values.iter().skip(p).step_by(self.players).copied().collect();
        let mut floats = self.payoffs.iter().flat_map(|c| (0..self.players).map(move |p| -> Vec<f32> { column(c, p) }));
        let mut names = 0..R::COLUMNS.len();
        while let Some(mut column) = group.next_column()? {
            match column.untyped() {
                ColumnWriter::FixedLenByteArrayColumnWriter(w) => {
                    let rows: Vec<FixedLenByteArray> =
                        self.bits.chunks_exact(width(self.facts)).map(|b| ByteArray::from(b.to_vec()).into()).collect();
                    w.write_batch(&rows, None, None)?;
                }
                ColumnWriter::Int32ColumnWriter(w) => {
                    let c = names.next().expect("as the schema says");
                    let column = self.whole.iter().skip(c).step_by(R::COLUMNS.len());
                    w.write_batch(&column.map(|&n| n as i32).collect::<Vec<i32>>(), None, None)?;
                }
                ColumnWriter::FloatColumnWriter(w) => {
                    w.write_batch(&floats.next().expect("as the schema says"), None, None)?;
                }
                _ => unreachable!("the schema has no other columns"),
            }
            column.close()?;
        }
        group.close()?;
        writer.into_inner()
    }

    fn read(bytes: &[u8]) -> parquet::errors::Result<Option<Self>> {
        let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes))?;
        let about = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let find = |key: &str| about.iter().find(|k| k.key == key).and_then(|k| k.value.clone());
        let number = |key: &str| find(key).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
        let mut all = Self::empty(find("game").unwrap_or_default(), number("facts"), number("players"));
        all.names = find(FACT_NAMES).zip(find(MOVE_NAMES)).map(|(facts, moves)| Names { facts, moves });
        for g in 0..reader.num_row_groups() {
            let group = reader.get_row_group(g)?;
            let rows = group.metadata().num_rows() as usize;
            let (mut whole, mut floats): (Vec<Vec<i32>>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
            for i in 0..group.num_columns() {
                match group.get_column_reader(i)? {
                    ColumnReader::FixedLenByteArrayColumnReader(mut r) => {
                        let mut bits: Vec<FixedLenByteArray> = Vec::new();
                        r.read_records(rows, None, None, &mut bits)?;
                        bits.iter().for_each(|b| all.bits.extend_from_slice(b.data()));
                    }
                    ColumnReader::Int32ColumnReader(mut r) => {
                        whole.push(Vec::new());
                        r.read_records(rows, None, None, whole.last_mut().expect("just added"))?;
                    }
                    ColumnReader::FloatColumnReader(mut r) => {
                        floats.push(Vec::new());
                        r.read_records(rows, None, None, floats.last_mut().expect("just added"))?;
                    }
                    _ => return Ok(None),
                }
            }
            let full = whole.iter().all(|c| c.len() == rows) && floats.iter().all(|c| c.len() == rows);
            if !full || whole.len() != R::COLUMNS.len() || floats.len() != 2 * all.players {
                return Ok(None);
            }
            all.rows += rows;
            (0..rows).for_each(|row| all.whole.extend(whole.iter().map(|c| c[row] as u32)));
            for (to, from) in all.payoffs.iter_mut().zip(floats.chunks(all.players)) {
                (0..rows).for_each(|row| to.extend(from.iter().map(|c| c[row])));
            }
        }
        let sound =
            (1..=ludex_core::MAX_PLAYERS).contains(&all.players) && all.bits.len() == all.rows * width(all.facts);
        Ok(Some(all).filter(|_| sound))
    }
}

impl<R: Record> Artifact for Records<R> {
    const SUFFIX: &'static str = "parquet";

    fn to_bytes(&self) -> Vec<u8> {
        self.write().expect("a table in memory can be written")
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let read = Self::read(bytes).map_err(|e| e.to_string())?;
        read.ok_or_else(|| "its columns are not those of such records".into())
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }
}
