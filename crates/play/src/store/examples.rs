//! Examples: states with what a search or a match says about them, as a Parquet table that any tool can read.
//!
//! `facts` is a row of bits, fact `f` being bit `f % 8` of byte `f / 8`; the file's metadata gives the game, the number of
//! facts and what each column means. Payoffs and results have one column for each player.

use super::Kept;
use bytes::Bytes;
use ludex_core::{Fact, GameInfo, Move, Payoffs, Player};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::sync::Arc;

/// A state and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The facts that hold, in increasing order.
    pub facts: Vec<Fact>,
    /// Who is to move there.
    pub mover: Player,
    /// Who chose the move that led there.
    pub chooser: Player,
    /// That move.
    pub mv: Move,
    /// How often the search went there.
    pub visits: u32,
    /// What the search expects for each player.
    pub payoffs: Payoffs,
    /// The match in which it was seen.
    pub match_id: u32,
    /// Plies from the beginning of the match.
    pub ply: u32,
    /// How the match ended.
    pub result: Payoffs,
    /// Where it comes from.
    pub source: Arc<str>,
}

/// A table of examples of one game, kept column by column.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Examples {
    game: String,
    facts: usize,
    players: usize,
    bits: Vec<u8>,
    mover: Vec<i32>,
    chooser: Vec<i32>,
    mv: Vec<i32>,
    visits: Vec<i32>,
    match_id: Vec<i32>,
    ply: Vec<i32>,
    payoffs: Vec<f32>,
    result: Vec<f32>,
    source: Vec<Arc<str>>,
}

impl Examples {
    /// No examples yet.
    pub fn new(info: &GameInfo) -> Self {
        let (facts, players) = (info.facts as usize, info.players());
        Examples { game: info.name.clone(), facts, players, ..Examples::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.mover.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.mover.is_empty()
    }

    fn width(&self) -> usize {
        self.facts.div_ceil(8).max(1)
    }

    /// Adds one.
    pub fn push(&mut self, e: &Example) {
        let start = self.bits.len();
        self.bits.resize(start + self.width(), 0);
        e.facts.iter().for_each(|f| self.bits[start + f.index() / 8] |= 1 << (f.index() % 8));
        self.mover.push(e.mover.0 as i32);
        self.chooser.push(e.chooser.0 as i32);
        self.mv.push(e.mv.0 as i32);
        self.visits.push(e.visits as i32);
        self.match_id.push(e.match_id as i32);
        self.ply.push(e.ply as i32);
        self.payoffs.extend_from_slice(&e.payoffs.as_slice()[..self.players]);
        self.result.extend_from_slice(&e.result.as_slice()[..self.players]);
        self.source.push(e.source.clone());
    }

    /// The match from row `from` on ended like this.
    pub fn finish(&mut self, from: usize, result: &Payoffs) {
        for row in self.result[from * self.players..].chunks_exact_mut(self.players) {
            row.copy_from_slice(&result.as_slice()[..self.players]);
        }
    }

    /// The facts of a row as bits: a key that is equal for equal states.
    pub fn key(&self, i: usize) -> &[u8] {
        &self.bits[i * self.width()..(i + 1) * self.width()]
    }

    /// Where row `i` comes from.
    pub fn source(&self, i: usize) -> &str {
        &self.source[i]
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> Example {
        let holds = |f: &u32| self.key(i)[*f as usize / 8] >> (f % 8) & 1 == 1;
        Example { facts: (0..self.facts as u32).filter(holds).map(Fact).collect(), ..self.brief(i) }
    }

    /// Row `i` without its facts, which are most of the work.
    pub fn brief(&self, i: usize) -> Example {
        let players = i * self.players..(i + 1) * self.players;
        Example {
            facts: Vec::new(),
            mover: Player(self.mover[i] as u8),
            chooser: Player(self.chooser[i] as u8),
            mv: Move(self.mv[i] as u32),
            visits: self.visits[i] as u32,
            payoffs: Payoffs::from_slice(&self.payoffs[players.clone()]),
            match_id: self.match_id[i] as u32,
            ply: self.ply[i] as u32,
            result: Payoffs::from_slice(&self.result[players]),
            source: self.source[i].clone(),
        }
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = Example> + '_ {
        (0..self.len()).map(|i| self.row(i))
    }

    fn schema(&self) -> Arc<Type> {
        let column = |name: &str, physical: Physical| {
            let mut column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
            if physical == Physical::FIXED_LEN_BYTE_ARRAY {
                column = column.with_length(self.width() as i32);
            }
            if physical == Physical::BYTE_ARRAY {
                column = column.with_converted_type(ConvertedType::UTF8);
            }
            Arc::new(column.build().expect("a sound column"))
        };
        let mut fields = vec![column("facts", Physical::FIXED_LEN_BYTE_ARRAY)];
        fields.extend(["mover", "chooser", "move", "visits", "match", "ply"].map(|name| column(name, Physical::INT32)));
        for what in ["payoff", "result"] {
            fields.extend((0..self.players).map(|p| column(&format!("{what}_{p}"), Physical::FLOAT)));
        }
        fields.push(column("source", Physical::BYTE_ARRAY));
        Arc::new(Type::group_type_builder("examples").with_fields(fields).build().expect("a sound table"))
    }

    fn by_player(values: &[f32], players: usize, p: usize) -> Vec<f32> {
        values.iter().skip(p).step_by(players).copied().collect()
    }

    fn write(&self) -> parquet::errors::Result<Vec<u8>> {
        let about = [
            ("game", self.game.clone()),
            ("facts", self.facts.to_string()),
            ("players", self.players.to_string()),
            ("bits", "fact f holds if bit f % 8 of byte f / 8 of `facts` is set".into()),
            ("visits", "how often the search went to the state".into()),
            ("payoff_p", "what the search expects for player p; result_p: what player p got in the end".into()),
        ];
        let about = about.map(|(key, value)| KeyValue::new(key.to_string(), value)).to_vec();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("ludex".into())
            .set_key_value_metadata(Some(about));
        let mut writer = SerializedFileWriter::new(Vec::new(), self.schema(), Arc::new(properties.build()))?;
        let mut group = writer.next_row_group()?;
        let integers = [&self.mover, &self.chooser, &self.mv, &self.visits, &self.match_id, &self.ply];
        let mut floats = [&self.payoffs, &self.result]
            .into_iter()
            .flat_map(|v| (0..self.players).map(move |p| Self::by_player(v, self.players, p)));
        let mut integers = integers.into_iter();
        while let Some(mut column) = group.next_column()? {
            match column.untyped() {
                ColumnWriter::FixedLenByteArrayColumnWriter(w) => {
                    let rows: Vec<FixedLenByteArray> =
                        self.bits.chunks_exact(self.width()).map(|b| ByteArray::from(b.to_vec()).into()).collect();
                    w.write_batch(&rows, None, None)?;
                }
                ColumnWriter::Int32ColumnWriter(w) => {
                    w.write_batch(integers.next().expect("as the schema says"), None, None)?;
                }
                ColumnWriter::FloatColumnWriter(w) => {
                    w.write_batch(&floats.next().expect("as the schema says"), None, None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let rows: Vec<ByteArray> = self.source.iter().map(|s| ByteArray::from(&**s)).collect();
                    w.write_batch(&rows, None, None)?;
                }
                _ => unreachable!("the schema has no other columns"),
            }
            column.close()?;
        }
        group.close()?;
        writer.into_inner()
    }

    fn read(bytes: &[u8]) -> parquet::errors::Result<Self> {
        let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes))?;
        let about = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let text = |key: &str| about.iter().find(|k| k.key == key).and_then(|k| k.value.clone()).unwrap_or_default();
        let number = |key: &str| text(key).parse::<usize>().unwrap_or(0);
        let mut all =
            Examples { game: text("game"), facts: number("facts"), players: number("players"), ..Default::default() };
        for g in 0..reader.num_row_groups() {
            let group = reader.get_row_group(g)?;
            let rows = group.metadata().num_rows() as usize;
            let mut integers: Vec<Vec<i32>> = Vec::new();
            let mut floats: Vec<Vec<f32>> = Vec::new();
            for i in 0..group.num_columns() {
                match group.get_column_reader(i)? {
                    ColumnReader::FixedLenByteArrayColumnReader(mut r) => {
                        let mut bits: Vec<FixedLenByteArray> = Vec::new();
                        r.read_records(rows, None, None, &mut bits)?;
                        bits.iter().for_each(|b| all.bits.extend_from_slice(b.data()));
                    }
                    ColumnReader::Int32ColumnReader(mut r) => {
                        integers.push(Vec::new());
                        r.read_records(rows, None, None, integers.last_mut().expect("just added"))?;
                    }
                    ColumnReader::FloatColumnReader(mut r) => {
                        floats.push(Vec::new());
                        r.read_records(rows, None, None, floats.last_mut().expect("just added"))?;
                    }
                    ColumnReader::ByteArrayColumnReader(mut r) => {
                        let mut names: Vec<ByteArray> = Vec::new();
                        r.read_records(rows, None, None, &mut names)?;
                        let mut last: Arc<str> = "".into();
                        for name in &names {
                            if last.as_bytes() != name.data() {
                                last = String::from_utf8_lossy(name.data()).into();
                            }
                            all.source.push(last.clone());
                        }
                    }
                    _ => return Err(parquet::errors::ParquetError::General("not a table of examples".into())),
                }
            }
            let columns =
                [&mut all.mover, &mut all.chooser, &mut all.mv, &mut all.visits, &mut all.match_id, &mut all.ply];
            columns.into_iter().zip(integers).for_each(|(to, from)| to.extend(from));
            for i in 0..rows {
                (0..all.players).for_each(|p| all.payoffs.push(floats[p][i]));
                (0..all.players).for_each(|p| all.result.push(floats[all.players + p][i]));
            }
        }
        Ok(all)
    }
}

impl Kept for Examples {
    const SUFFIX: &'static str = "parquet";

    fn to_bytes(&self) -> Vec<u8> {
        self.write().expect("a table in memory can be written")
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let all = Examples::read(bytes).map_err(|e| e.to_string())?;
        let n = all.mover.len();
        let lengths = [all.chooser.len(), all.mv.len(), all.visits.len(), all.match_id.len(), all.ply.len()];
        let whole = lengths.iter().all(|&l| l == n)
            && all.source.len() == n
            && all.bits.len() == n * all.width()
            && all.payoffs.len() == n * all.players;
        if whole { Ok(all) } else { Err("its columns have different lengths".into()) }
    }

    fn rows(&self) -> u64 {
        self.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_as_it_was_written_and_has_the_same_bytes_each_time() {
        let table = crate::open("connect4").unwrap();
        let info = table.info();
        let mut all = Examples::new(info);
        for i in 0..500u32 {
            all.push(&Example {
                facts: (0..info.facts).filter(|f| f * 7 % 11 == i % 11).map(Fact).collect(),
                mover: Player((i % 2) as u8),
                chooser: Player((i / 2 % 2) as u8),
                mv: Move(i % 7),
                visits: i * i,
                payoffs: Payoffs::of(Player(0), i as f32 / 500.0),
                match_id: i / 30,
                ply: i % 30,
                result: Payoffs::win(Player((i / 30 % 2) as u8)),
                source: if i < 200 { "start".into() } else { "random".into() },
            });
        }
        let bytes = all.to_bytes();
        let back = Examples::from_bytes(&bytes).unwrap();
        assert_eq!(back, all);
        assert_eq!(back.to_bytes(), bytes);
        assert_eq!(back.row(123), all.row(123));
        assert!(Examples::from_bytes(&bytes[..bytes.len() / 2]).is_err());
        let empty = Examples::new(info);
        assert_eq!(Examples::from_bytes(&empty.to_bytes()).unwrap(), empty);
    }
}
