//! Models: a net with all that is needed to use it and to know where it came from.
//!
//! A model file is a safetensors file (see `store`): its header is readable text, its last 32 bytes are the sha256 of all
//! before. A file that is truncated, altered, or made for another game or other rules is refused with one clear line.
//! Reading and writing files is the caller's: here a model is bytes.

use crate::store::{Store, Tensor};
use crate::{Act, Actions, Cascade, Encoder, Error, Folded, Head, Layer, Link, Mlp, Net, Table, Unit};
use ludex_core::{Fact, GameInfo, Mirror, Move};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A net with its encoder and head, the game it is for, and where it came from.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// The game's full name.
    pub game: String,
    /// The hash of its rules.
    pub rules_hash: u64,
    /// How facts become inputs.
    pub encoder: Encoder,
    /// What outputs mean.
    pub head: Head,
    /// The weights.
    pub net: Net,
    /// Where it came from.
    pub provenance: Provenance,
}

/// Where a model came from.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// The system that made it.
    pub system: String,
    /// Its full configuration, as text.
    pub config: String,
    /// Its seed.
    pub seed: u64,
    /// The sha256 of the examples.
    pub data_hash: String,
    /// What was measured: `test_mse`, .. A figure that is not finite is not written.
    pub metrics: BTreeMap<String, f64>,
    /// The program's version.
    pub version: String,
}

/// The version of model files.
const VERSION: u32 = 1;

/// No layer, table or mirror is larger: what a damaged header may ask for at most.
const LARGEST: usize = 1 << 28;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncoderHeader {
    version: u32,
    facts: usize,
    mover_relative: bool,
    coded: bool,
    actions: Actions,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum NetHeader {
    Mlp { sizes: Vec<usize>, hidden: Act, link: Link },
    Cascade { inputs: usize, outputs: usize, units: Vec<(Act, u32)>, link: Link },
}

impl Model {
    /// The model as a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut store = Store::default();
        store.text.insert("game".into(), self.game.clone());
        store.text.insert("rules".into(), format!("{:016x}", self.rules_hash));
        store.put_json("head", &self.head);
        let mut provenance = self.provenance.clone();
        provenance.metrics.retain(|_, v| v.is_finite());
        store.put_json("provenance", &provenance);
        self.put_encoder(&mut store);
        self.put_net(&mut store);
        store.write("model", VERSION)
    }

    /// Reads a model file, whatever its game.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, Error> {
        let store = Store::read(bytes, "model", VERSION)?;
        let rules = u64::from_str_radix(store.get("rules")?, 16).map_err(|_| Error::Malformed("rules".into()))?;
        let model = Model {
            game: store.get("game")?.into(),
            rules_hash: rules,
            encoder: encoder(&store)?,
            head: store.json("head")?,
            net: net(&store)?,
            provenance: store.json("provenance")?,
        };
        model.fold()?; // so that whoever holds a model can use it
        Ok(model)
    }

    /// Reads a model file for this game; one for another game or other rules is refused.
    pub fn for_game(bytes: &[u8], info: &GameInfo) -> Result<Model, Error> {
        let model = Model::from_bytes(bytes)?;
        if model.rules_hash != info.rules_hash {
            return Err(Error::OtherGame {
                model: model.game,
                model_rules: model.rules_hash,
                game: info.name.clone(),
                game_rules: info.rules_hash,
            });
        }
        Ok(model)
    }

    /// The name of its file: the sha256 of its bytes, as hexadecimal digits.
    pub fn id(&self) -> String {
        crate::store::hex(&Sha256::digest(self.to_bytes()))
    }

    /// Folds it for search; refused if its parts do not fit together.
    pub fn fold(&self) -> Result<Folded, Error> {
        Folded::new(&self.net, &self.encoder, self.head)
    }

    fn encoder_header(&self) -> EncoderHeader {
        EncoderHeader {
            version: Encoder::VERSION,
            facts: self.encoder.fact_count(),
            mover_relative: self.encoder.mirror().is_some(),
            coded: self.encoder.table().is_some(),
            actions: self.encoder.actions(),
        }
    }

    /// What a file says about the encoder, as JSON.
    pub(crate) fn encoder_text(&self) -> String {
        serde_json::to_string(&self.encoder_header()).expect("plain data")
    }

    fn put_encoder(&self, store: &mut Store) {
        store.put_json("encoder", &self.encoder_header());
        if let Some(mirror) = self.encoder.mirror() {
            let list = |v: Vec<u32>| Tensor::U32(vec![v.len()], v);
            store.put("encoder.mirror.facts", list(mirror.facts.iter().map(|f| f.0).collect()));
            store.put("encoder.mirror.moves", list(mirror.moves.iter().map(|m| m.0).collect()));
        }
        if let Some(table) = self.encoder.table() {
            let (n, codes) = (table.codes.len(), &table.codes);
            store.put("encoder.base", Tensor::F32(vec![table.base.len()], table.base.clone()));
            let inputs = codes.iter().map(|c| c.map_or(u32::MAX, |(i, _)| i)).collect();
            store.put("encoder.codes.inputs", Tensor::U32(vec![n], inputs));
            let values = codes.iter().map(|c| c.map_or(0.0, |(_, v)| v)).collect();
            store.put("encoder.codes.values", Tensor::F32(vec![n], values));
        }
    }

    fn put_net(&self, store: &mut Store) {
        match &self.net {
            Net::Mlp(m) => {
                let sizes = m.layers[..1].iter().map(|l| l.inputs).chain(m.layers.iter().map(|l| l.outputs)).collect();
                store.put_json("net", &NetHeader::Mlp { sizes, hidden: m.hidden, link: m.link });
                for (k, layer) in m.layers.iter().enumerate() {
                    let shape = vec![layer.inputs, layer.outputs];
                    store.put(format!("layer{k}.weights"), Tensor::F32(shape, layer.weights.clone()));
                    store.put(format!("layer{k}.bias"), Tensor::F32(vec![layer.outputs], layer.bias.clone()));
                }
            }
            Net::Cascade(c) => {
                let units = c.units.iter().map(|u| (u.act, u.depth)).collect();
                let header = NetHeader::Cascade { inputs: c.inputs, outputs: c.out.len(), units, link: c.link };
                store.put_json("net", &header);
                for (k, unit) in c.units.iter().enumerate() {
                    store.put(format!("unit{k}"), Tensor::F32(vec![unit.weights.len()], unit.weights.clone()));
                }
                let shape = vec![c.out.len(), 1 + c.inputs + c.units.len()];
                store.put("outputs", Tensor::F32(shape, c.out.concat()));
            }
        }
    }
}

fn sane(sizes: &[usize]) -> Result<(), Error> {
    let product = sizes.windows(2).try_fold(0usize, |most, w| Some(most.max(w[0].checked_mul(w[1])?)));
    match product {
        Some(most) if most <= LARGEST && sizes.iter().all(|&n| n <= LARGEST) => Ok(()),
        _ => Err(Error::Malformed(format!("sizes {sizes:?}"))),
    }
}

fn encoder(store: &Store) -> Result<Encoder, Error> {
    let header: EncoderHeader = store.json("encoder")?;
    if header.version != Encoder::VERSION {
        let (found, known) = (format!("encoder {}", header.version), format!("encoder {}", Encoder::VERSION));
        return Err(Error::Version { found, known });
    }
    let moves = match header.actions {
        Actions::None => 0,
        Actions::Beside { moves } | Actions::Crossed { moves } => moves,
    };
    sane(&[header.facts, moves.max(1)])?;
    let mut encoder = Encoder::facts(header.facts);
    if header.mover_relative {
        let facts = store.integers("encoder.mirror.facts")?.into_iter().map(Fact).collect();
        let moves = store.integers("encoder.mirror.moves")?.into_iter().map(Move).collect();
        encoder = encoder.relative(Mirror { facts, moves })?;
    }
    if header.coded {
        let inputs = store.integers("encoder.codes.inputs")?;
        let values = store.floats("encoder.codes.values", inputs.len())?;
        let base = match store.tensors.get("encoder.base") {
            Some(Tensor::F32(_, base)) => base.clone(),
            _ => return Err(Error::Malformed("tensor encoder.base".into())),
        };
        let code = |(i, v): (u32, f32)| (i != u32::MAX).then_some((i, v));
        encoder = encoder.coded(Table { base, codes: inputs.into_iter().zip(values).map(code).collect() })?;
    }
    encoder.with(header.actions)
}

fn net(store: &Store) -> Result<Net, Error> {
    match store.json("net")? {
        NetHeader::Mlp { sizes, hidden, link } => {
            sane(&sizes)?;
            let layer = |(k, w): (usize, &[usize])| {
                Ok(Layer {
                    inputs: w[0],
                    outputs: w[1],
                    weights: store.floats(&format!("layer{k}.weights"), w[0] * w[1])?,
                    bias: store.floats(&format!("layer{k}.bias"), w[1])?,
                })
            };
            let layers: Vec<Layer> = sizes.windows(2).enumerate().map(layer).collect::<Result<_, Error>>()?;
            Ok(Net::Mlp(Mlp { layers, hidden, link }))
        }
        NetHeader::Cascade { inputs, outputs, units, link } => {
            sane(&[outputs, 1 + inputs.min(LARGEST) + units.len()])?;
            sane(&[inputs, 1])?;
            let unit = |(k, &(act, depth)): (usize, &(Act, u32))| {
                Ok(Unit { act, depth, weights: store.floats(&format!("unit{k}"), 1 + inputs + k)? })
            };
            let width = 1 + inputs + units.len();
            let out = store.floats("outputs", outputs * width)?.chunks(width).map(<[f32]>::to_vec).collect();
            let units = units.iter().enumerate().map(unit).collect::<Result<_, Error>>()?;
            Ok(Net::Cascade(Cascade { inputs, units, out, link }))
        }
    }
}
