//! References to learned models, and models ready for search.
//!
//! A model is named by a path: of a model file, of a bundle, or of a run, which stands for the models it ended with. Models are shared
//! while something uses them and forgotten when nothing does.

use crate::bundle::{self, Bundle, BundleError};
use crate::manifest;
use ludex_core::{GameInfo, Rng};
use ludex_learn::{
    Activation, Encoder, Error, Head, InferenceNet, Layer, LinearScorer, Link, Mlp, Model, Net, QuantisedNnue,
};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::SystemTime;

/// Where a model is: a model file, a bundle, a run, or a bundle that comes with the program (`ready:connect4`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ModelRef(PathBuf);

/// The bytes of a model: a file, or a part of a bundle.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ModelFile {
    path: PathBuf,
    /// Which model of the bundle that the path names.
    inside: Option<usize>,
}

impl ModelRef {
    /// The model at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        ModelRef(path.into())
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The bundle that comes with the program, if it is one.
    pub(crate) fn ready_made(&self) -> Option<&'static Bundle> {
        bundle::ready_made_named(self.0.to_str()?.strip_prefix("ready:")?)
    }

    /// The files that it stands for: one, or one for each role.
    fn files(&self) -> Result<Vec<ModelFile>, ModelError> {
        let whole = |path| ModelFile { path, inside: None };
        if self.ready_made().is_some() || Bundle::is_bundle(&self.0) {
            let models = Bundle::read(self)?.models.len();
            return Ok((0..models).map(|i| ModelFile { path: self.0.clone(), inside: Some(i) }).collect());
        }
        match self.0.is_dir() {
            true => {
                let files = manifest::final_models(&self.0).map_err(|e| ModelError::Run(self.0.clone(), e))?;
                Ok(files.into_iter().map(whole).collect())
            }
            false => Ok(vec![whole(self.0.clone())]),
        }
    }
}

impl From<&str> for ModelRef {
    fn from(path: &str) -> Self {
        ModelRef::new(path)
    }
}

/// The path as it stands in a spec; quoted there where need be.
impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

/// Why a model cannot be used: one line.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The run has no models that can be used.
    #[error("{}: {}", .0.display(), .1)]
    Run(PathBuf, manifest::ManifestError),
    /// The file cannot be read.
    #[error("cannot read the model {}: {}", .0.display(), .1)]
    File(PathBuf, std::io::Error),
    /// The file is no model of this game.
    #[error("the model {} cannot be used: {}", .0.display(), .1)]
    Model(PathBuf, ludex_learn::Error),
    /// The bundle cannot be used.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// There are neither one model nor as many as roles.
    #[error("{0} has models of {1} roles, {2} has {3}")]
    Roles(ModelRef, usize, String, usize),
}

/// A model, ready for search.
pub struct LoadedModel {
    pub(crate) head: Head,
    net: LoadedNet,
    /// A linear net that scores moves, as the first and, if it is mirrored, as the second player sees it; else nothing.
    pub(crate) linear: Vec<LinearScorer>,
}

/// A net, laid out for search.
enum LoadedNet {
    Float(Box<InferenceNet>),
    Nnue(Arc<QuantisedNnue>),
}

impl LoadedModel {
    /// A net that is no NNUE, with its head.
    pub(crate) fn new(head: Head, net: InferenceNet) -> Self {
        LoadedModel { head, net: LoadedNet::Float(Box::new(net)), linear: Vec::new() }
    }

    /// The NNUE, if it is one.
    pub(crate) fn nnue(&self) -> Option<&Arc<QuantisedNnue>> {
        match &self.net {
            LoadedNet::Nnue(net) => Some(net),
            LoadedNet::Float(_) => None,
        }
    }

    /// The net that is no NNUE; those judge states only, by an evaluator of their own.
    pub(crate) fn net(&self) -> &InferenceNet {
        match &self.net {
            LoadedNet::Float(net) => net,
            LoadedNet::Nnue(_) => unreachable!("an NNUE is asked through its evaluator"),
        }
    }
}

/// What a part needs of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// It says what a state is worth to players.
    Value,
    /// It scores moves.
    MoveScores,
    /// It says how likely win, draw and loss are.
    Wdl,
    /// Any will do.
    Any,
}

impl Need {
    pub fn fits(self, head: Head) -> bool {
        match self {
            Need::Value => !matches!(head, Head::MoveScores { .. }),
            Need::MoveScores => matches!(head, Head::MoveScores { .. } | Head::PolicyValue { .. }),
            Need::Wdl => head == Head::WinDrawLoss,
            Need::Any => true,
        }
    }

    /// What a model that does not fit fails to do.
    pub fn text(self) -> &'static str {
        match self {
            Need::Value => "judge positions",
            Need::MoveScores => "score moves",
            Need::Wdl => "say win, draw and loss",
            Need::Any => "fit",
        }
    }

    /// A model that never learned anything, to see whether a part can be built before there is a model.
    pub fn placeholder(self, info: &GameInfo) -> Arc<LoadedModel> {
        let head = match self {
            Need::Value | Need::Any => Head::Value { outputs: if info.zero_sum { 1 } else { info.players() } },
            Need::MoveScores => Head::MoveScores { moves: info.moves as usize },
            Need::Wdl => Head::WinDrawLoss,
        };
        untrained_as(info, head, 1, 1)
    }
}

/// The models of all roles, or one for all of them.
pub(crate) fn load_roles(model: &ModelRef, info: &GameInfo) -> Result<Vec<Arc<LoadedModel>>, ModelError> {
    let models: Vec<Arc<LoadedModel>> =
        model.files()?.into_iter().map(|f| load_file(f, info)).collect::<Result<_, _>>()?;
    match models.len() {
        n if n == 1 || n == info.players() => Ok(models),
        n => Err(ModelError::Roles(model.clone(), n, info.name.clone(), info.players())),
    }
}

/// Tells apart the contents of a file at different times, and the rules it is read for.
type Stamp = (u64, Option<SystemTime>, u64);

/// Models in use, by file.
type InUse = HashMap<ModelFile, (Stamp, Weak<LoadedModel>)>;

impl ModelFile {
    fn stamp(&self, info: &GameInfo) -> Result<Stamp, ModelError> {
        if ModelRef::new(&self.path).ready_made().is_some() {
            return Ok((0, None, info.rules_hash));
        }
        let meta = std::fs::metadata(&self.path).map_err(|e| ModelError::File(self.path.clone(), e))?;
        Ok((meta.len(), meta.modified().ok(), info.rules_hash))
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        match self.inside {
            Some(i) => Ok(Bundle::read(&ModelRef::new(&self.path))?.models.swap_remove(i)),
            None => std::fs::read(&self.path).map_err(|e| ModelError::File(self.path.clone(), e)),
        }
    }
}

fn load_file(file: ModelFile, info: &GameInfo) -> Result<Arc<LoadedModel>, ModelError> {
    static IN_USE: OnceLock<Mutex<InUse>> = OnceLock::new();
    let stamp = file.stamp(info)?;
    let in_use = || IN_USE.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner());
    if let Some(model) = in_use().get(&file).filter(|(s, _)| *s == stamp).and_then(|(_, m)| m.upgrade()) {
        return Ok(model);
    }
    let model = Arc::new(read(&file, info)?);
    let mut in_use = in_use();
    in_use.retain(|_, (_, m)| m.strong_count() > 0);
    in_use.insert(file, (stamp, Arc::downgrade(&model)));
    Ok(model)
}

fn read(file: &ModelFile, info: &GameInfo) -> Result<LoadedModel, ModelError> {
    let bytes = file.bytes()?;
    let refused = |e| ModelError::Model(file.path.clone(), e);
    let model = Model::for_game(&bytes, info).map_err(refused)?;
    fits_game(&model, info).map_err(|e| refused(Error::Shape(e)))?;
    let net = match &model.net {
        Net::Nnue(_) => LoadedNet::Nnue(Arc::new(model.nnue().map_err(refused)?)),
        _ => LoadedNet::Float(Box::new(model.inference_net().map_err(refused)?)),
    };
    let linear = match model.head {
        Head::MoveScores { .. } => {
            let views = 1 + model.encoder.mirror().is_some() as usize;
            (0..views).map_while(|v| LinearScorer::new(&model.net, &model.encoder, v == 1)).collect()
        }
        _ => Vec::new(),
    };
    Ok(LoadedModel { head: model.head, net, linear })
}

/// Refuses a model whose sizes are not those of the game, though it claims its rules.
fn fits_game(model: &Model, info: &GameInfo) -> Result<(), String> {
    let facts = model.encoder.fact_count();
    if facts != info.facts as usize {
        return Err(format!("it has {facts} facts, {} has {}", info.name, info.facts));
    }
    let fits = match model.head {
        Head::Value { outputs } => outputs == info.players() || (outputs == 1 && info.zero_sum),
        Head::WinDrawLoss => info.zero_sum,
        Head::MoveScores { moves } => moves == info.moves as usize,
        Head::PolicyValue { moves } => info.zero_sum && moves == info.moves as usize,
    };
    if fits { Ok(()) } else { Err(format!("its outputs {:?} do not fit {}", model.head, info.name)) }
}

/// A net that never learned: the shape of an extreme learning machine with all its weights drawn from the seed. The output
/// weights are so small that no value leaves [-1, 1], for a value that is cut off there is the same for many states.
pub(crate) fn untrained(info: &GameInfo, hidden: usize, seed: u64) -> Arc<LoadedModel> {
    untrained_as(info, Head::Value { outputs: if info.zero_sum { 1 } else { info.players() } }, hidden, seed)
}

fn untrained_as(info: &GameInfo, head: Head, hidden: usize, seed: u64) -> Arc<LoadedModel> {
    let mut rng = Rng::new(seed);
    let mut draw = |n: usize, bound: f32| (0..n).map(|_| bound * (2.0 * rng.unit() as f32 - 1.0)).collect::<Vec<f32>>();
    let encoder = Encoder::facts(info.facts as usize);
    let (inputs, outputs) = (encoder.inputs(), head.outputs());
    let first = Layer { inputs, outputs: hidden, weights: draw(inputs * hidden, 1.0), bias: draw(hidden, 1.0) };
    let weights = draw(hidden * outputs, 1.0 / hidden as f32);
    let last = Layer { inputs: hidden, outputs, weights, bias: vec![0.0; outputs] };
    let net = Mlp { layers: vec![first, last], hidden: Activation::Logistic, link: Link::Each(Activation::Identity) };
    let net = InferenceNet::new(&Net::Mlp(net), &encoder, head).expect("the parts fit one another");
    Arc::new(LoadedModel::new(head, net))
}
