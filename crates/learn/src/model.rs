//! Models: a net with all that is needed to use it and to know where it came from.
//!
//! A model file is a safetensors file (see `tensor_file`): its header is readable text, its last 32 bytes are the
//! sha256 of all before. A file that is truncated, altered, or made for another game or other rules is refused with an
//! error of one line. Here a model is bytes; the caller reads and writes files.

use crate::nnue::HIDDEN;
use crate::tensor_file::{Tensor, TensorFile};
use crate::{
    Activation, Cascade, Encoder, Error, Head, InferenceNet, InputCodes, Layer, Link, Mlp, MoveInputs, Net, Nnue,
    Phases, QuantisedNnue, Unit,
};
use ludex_core::{Fact, GameInfo, Mirror, Move};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A net with its encoder and head, the game it is for, and where it came from.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// The game's full name.
    pub game: String,
    /// The hash of the game's rules.
    pub rules_hash: u64,
    /// From facts to inputs.
    pub encoder: Encoder,
    /// What the outputs mean.
    pub head: Head,
    /// The net itself.
    pub net: Net,
    /// How it was made.
    pub provenance: Provenance,
}

/// How a model was made.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// The system that made it.
    pub system: String,
    /// The system's full configuration, as text.
    pub config: String,
    /// The seed of the run.
    pub seed: u64,
    /// The sha256 of the training examples ([`crate::Data::hash`]).
    pub data_hash: String,
    /// What was measured, such as `test_mse`. Values that are not finite are not written to the file.
    pub metrics: BTreeMap<String, f64>,
    /// The version of the program.
    pub version: String,
}

/// The names of facts and moves, for the metadata of an exported file; empty lists are left out.
#[derive(Clone, Debug, Default)]
pub struct ExportNames {
    /// The name of each fact.
    pub facts: Vec<String>,
    /// The name of each move.
    pub moves: Vec<String>,
}

impl ExportNames {
    /// The entries of the metadata: a key and a JSON list.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (String, String)> {
        let lists = [("facts", &self.facts), ("moves", &self.moves)];
        let json = |names: &Vec<String>| serde_json::to_string(names).expect("plain data");
        lists.into_iter().filter(|l| !l.1.is_empty()).map(move |(key, names)| (key.to_string(), json(names)))
    }
}

/// The version of model files.
const VERSION: u32 = 1;

/// The largest size that a header may ask for, so that a wrong one does not exhaust memory.
const LARGEST: usize = 1 << 28;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncoderHeader {
    version: u32,
    facts: usize,
    mover_relative: bool,
    coded: bool,
    actions: MoveInputs,
    #[serde(default, skip_serializing_if = "is_zero")]
    movers: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum NetHeader {
    Mlp {
        sizes: Vec<usize>,
        hidden: Activation,
        link: Link,
    },
    Cascade {
        inputs: usize,
        outputs: usize,
        units: Vec<(Activation, u32)>,
        link: Link,
    },
    Nnue {
        facts: usize,
        width: usize,
        movers: usize,
        outputs: usize,
        phase_starts: Vec<u32>,
        most_active: usize,
        link: Link,
    },
}

impl Model {
    /// The contents of the model's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_tensors(&ExportNames::default())
    }

    /// The model's file with the names of facts and moves in its header: still a model file, with another hash.
    pub fn to_tensors(&self, names: &ExportNames) -> Vec<u8> {
        let mut file = TensorFile::default();
        file.text.extend(names.texts());
        file.text.insert("game".into(), self.game.clone());
        file.text.insert("rules".into(), format!("{:016x}", self.rules_hash));
        file.put_json("head", &self.head);
        let mut provenance = self.provenance.clone();
        provenance.metrics.retain(|_, v| v.is_finite());
        file.put_json("provenance", &provenance);
        self.put_encoder(&mut file);
        self.put_net(&mut file);
        file.write("model", VERSION)
    }

    /// Reads a model file of any game.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, Error> {
        let file = TensorFile::read(bytes, "model", VERSION)?;
        let rules = u64::from_str_radix(file.get("rules")?, 16).map_err(|_| Error::Malformed("rules".into()))?;
        let model = Model {
            game: file.get("game")?.into(),
            rules_hash: rules,
            encoder: encoder(&file)?,
            head: file.json("head")?,
            net: net(&file)?,
            provenance: file.json("provenance")?,
        };
        // A model that was read can be used.
        match &model.net {
            Net::Nnue(_) => model.nnue().map(|_| ())?,
            _ => model.inference_net().map(|_| ())?,
        }
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

    /// The model's name: the sha256 of its file, as hexadecimal digits.
    pub fn id(&self) -> String {
        crate::tensor_file::hex(&Sha256::digest(self.to_bytes()))
    }

    /// The net laid out for search; an error if net, encoder and head do not fit together.
    pub fn inference_net(&self) -> Result<InferenceNet, Error> {
        InferenceNet::new(&self.net, &self.encoder, self.head)
    }

    /// The net laid out for search, if it is an NNUE; an error if it is none, or does not fit encoder and head.
    pub fn nnue(&self) -> Result<QuantisedNnue, Error> {
        let Net::Nnue(net) = &self.net else { return Err(Error::Shape("the net is no NNUE".into())) };
        if (self.encoder.fact_count(), self.encoder.movers()) != (net.facts(), net.movers) {
            return Err(Error::Shape(format!(
                "an NNUE of {} facts for {} encoded",
                net.facts(),
                self.encoder.fact_count()
            )));
        }
        if self.head != (Head::Value { outputs: 1 }) || net.outputs() != 1 {
            return Err(Error::Shape("an NNUE has one output, the mover's value".into()));
        }
        QuantisedNnue::new(net)
    }

    fn encoder_header(&self) -> EncoderHeader {
        EncoderHeader {
            version: Encoder::VERSION,
            facts: self.encoder.fact_count(),
            mover_relative: self.encoder.mirror().is_some(),
            coded: self.encoder.codes().is_some(),
            actions: self.encoder.move_inputs(),
            movers: self.encoder.movers(),
        }
    }

    /// The header of the encoder, as JSON.
    pub(crate) fn encoder_text(&self) -> String {
        serde_json::to_string(&self.encoder_header()).expect("plain data")
    }

    fn put_encoder(&self, file: &mut TensorFile) {
        file.put_json("encoder", &self.encoder_header());
        if let Some(mirror) = self.encoder.mirror() {
            let list = |v: Vec<u32>| Tensor::U32(vec![v.len()], v);
            file.put("encoder.mirror.facts", list(mirror.facts.iter().map(|f| f.0).collect()));
            file.put("encoder.mirror.moves", list(mirror.moves.iter().map(|m| m.0).collect()));
        }
        if let Some(codes) = self.encoder.codes() {
            let (n, by_fact) = (codes.by_fact.len(), &codes.by_fact);
            file.put("encoder.base", Tensor::F32(vec![codes.base.len()], codes.base.clone()));
            let inputs = by_fact.iter().map(|c| c.map_or(u32::MAX, |(i, _)| i)).collect();
            file.put("encoder.codes.inputs", Tensor::U32(vec![n], inputs));
            let values = by_fact.iter().map(|c| c.map_or(0.0, |(_, v)| v)).collect();
            file.put("encoder.codes.values", Tensor::F32(vec![n], values));
        }
    }

    fn put_net(&self, file: &mut TensorFile) {
        match &self.net {
            Net::Mlp(m) => {
                let sizes = m.layers[..1].iter().map(|l| l.inputs).chain(m.layers.iter().map(|l| l.outputs)).collect();
                file.put_json("net", &NetHeader::Mlp { sizes, hidden: m.hidden, link: m.link });
                m.layers.iter().enumerate().for_each(|(k, layer)| put_layer(file, &format!("layer{k}"), layer));
            }
            Net::Cascade(c) => {
                let units = c.units.iter().map(|u| (u.act, u.depth)).collect();
                let header = NetHeader::Cascade { inputs: c.inputs, outputs: c.out.len(), units, link: c.link };
                file.put_json("net", &header);
                for (k, unit) in c.units.iter().enumerate() {
                    file.put(format!("unit{k}"), Tensor::F32(vec![unit.weights.len()], unit.weights.clone()));
                }
                let shape = vec![c.out.len(), 1 + c.inputs + c.units.len()];
                file.put("outputs", Tensor::F32(shape, c.out.concat()));
            }
            Net::Nnue(n) => {
                file.put_json(
                    "net",
                    &NetHeader::Nnue {
                        facts: n.facts(),
                        width: n.width(),
                        movers: n.movers,
                        outputs: n.outputs(),
                        phase_starts: n.phases.starts.clone(),
                        most_active: n.most_active,
                        link: n.link,
                    },
                );
                if !n.phases.is_empty() {
                    let counted: Vec<u32> = n.phases.counted.iter().map(|&c| c as u32).collect();
                    file.put("phases.counted", Tensor::U32(vec![counted.len()], counted));
                }
                put_layer(file, "transformer", &n.transformer);
                for (h, head) in n.heads.iter().enumerate() {
                    head.iter().enumerate().for_each(|(k, layer)| put_layer(file, &format!("head{h}.layer{k}"), layer));
                }
            }
        }
    }
}

fn put_layer(file: &mut TensorFile, name: &str, layer: &Layer) {
    let shape = vec![layer.inputs, layer.outputs];
    file.put(format!("{name}.weights"), Tensor::F32(shape, layer.weights.clone()));
    file.put(format!("{name}.bias"), Tensor::F32(vec![layer.outputs], layer.bias.clone()));
}

fn layer(file: &TensorFile, name: &str, inputs: usize, outputs: usize) -> Result<Layer, Error> {
    let weights = file.floats(&format!("{name}.weights"), inputs * outputs)?;
    Ok(Layer { inputs, outputs, weights, bias: file.floats(&format!("{name}.bias"), outputs)? })
}

fn check_sizes(sizes: &[usize]) -> Result<(), Error> {
    let product = sizes.windows(2).try_fold(0usize, |most, w| Some(most.max(w[0].checked_mul(w[1])?)));
    match product {
        Some(most) if most <= LARGEST && sizes.iter().all(|&n| n <= LARGEST) => Ok(()),
        _ => Err(Error::Malformed(format!("sizes {sizes:?}"))),
    }
}

fn encoder(file: &TensorFile) -> Result<Encoder, Error> {
    let header: EncoderHeader = file.json("encoder")?;
    if header.version != Encoder::VERSION {
        let (found, known) = (format!("encoder {}", header.version), format!("encoder {}", Encoder::VERSION));
        return Err(Error::Version { found, known });
    }
    let moves = match header.actions {
        MoveInputs::None => 0,
        MoveInputs::Beside { moves } | MoveInputs::Crossed { moves } => moves,
    };
    check_sizes(&[header.facts, moves.max(1)])?;
    let mut encoder = Encoder::facts(header.facts);
    if header.mover_relative {
        let facts = file.integers("encoder.mirror.facts")?.into_iter().map(Fact).collect();
        let moves = file.integers("encoder.mirror.moves")?.into_iter().map(Move).collect();
        encoder = encoder.mover_relative(Mirror { facts, moves })?;
    }
    if header.coded {
        let inputs = file.integers("encoder.codes.inputs")?;
        let values = file.floats("encoder.codes.values", inputs.len())?;
        let base = match file.tensors.get("encoder.base") {
            Some(Tensor::F32(_, base)) => base.clone(),
            _ => return Err(Error::Malformed("tensor encoder.base".into())),
        };
        let code = |(i, v): (u32, f32)| (i != u32::MAX).then_some((i, v));
        encoder =
            encoder.with_codes(InputCodes { base, by_fact: inputs.into_iter().zip(values).map(code).collect() })?;
    }
    if header.movers > 0 {
        return encoder.with_movers(header.movers);
    }
    encoder.with_moves(header.actions)
}

fn net(file: &TensorFile) -> Result<Net, Error> {
    match file.json("net")? {
        NetHeader::Mlp { sizes, hidden, link } => {
            check_sizes(&sizes)?;
            let layers = sizes.windows(2).enumerate().map(|(k, w)| layer(file, &format!("layer{k}"), w[0], w[1]));
            let layers: Vec<Layer> = layers.collect::<Result<_, Error>>()?;
            Ok(Net::Mlp(Mlp { layers, hidden, link }))
        }
        NetHeader::Cascade { inputs, outputs, units, link } => {
            check_sizes(&[outputs, 1 + inputs.min(LARGEST) + units.len()])?;
            check_sizes(&[inputs, 1])?;
            let unit = |(k, &(act, depth)): (usize, &(Activation, u32))| {
                Ok(Unit { act, depth, weights: file.floats(&format!("unit{k}"), 1 + inputs + k)? })
            };
            let width = 1 + inputs + units.len();
            let out = file.floats("outputs", outputs * width)?.chunks(width).map(<[f32]>::to_vec).collect();
            let units = units.iter().enumerate().map(unit).collect::<Result<_, Error>>()?;
            Ok(Net::Cascade(Cascade { inputs, units, out, link }))
        }
        NetHeader::Nnue { facts, width, movers, outputs, phase_starts: starts, most_active, link } => {
            check_sizes(&[facts, width, HIDDEN, outputs])?;
            check_sizes(&[movers.saturating_mul(starts.len() + 1), width])?;
            let counted = match starts.is_empty() {
                true => Vec::new(),
                false => file.integers("phases.counted")?.into_iter().map(|c| c != 0).collect(),
            };
            let phases = Phases { counted, starts };
            let sizes = [(width, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, outputs)];
            let read = |h: usize, k: usize| layer(file, &format!("head{h}.layer{k}"), sizes[k].0, sizes[k].1);
            let head = |h: usize| Ok([read(h, 0)?, read(h, 1)?, read(h, 2)?]);
            let heads = (0..movers * phases.len()).map(head).collect::<Result<_, Error>>()?;
            let transformer = layer(file, "transformer", facts, width)?;
            Ok(Net::Nnue(Nnue { transformer, heads, movers, phases, most_active, link }))
        }
    }
}
