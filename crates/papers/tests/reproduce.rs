//! Every paper is carried out at the shortest preset, goes on where it was, and refuses what cannot be carried out before any
//! work.

use ludex_papers::{Experiment, PAPERS, PaperTable, paper};
use ludex_play::{Control, Spec, play_match};
use ludex_train::store::{RunError, RunObserver, entries};
use ludex_train::{PRESETS, open, options, systems::system};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("papers {name}"));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn experiment(name: &str, game: &str, dir: &Path) -> Experiment {
    let (preset, seeds) = ("tick".into(), vec![1, 2]);
    Experiment { preset, seeds, threads: 2, ..Experiment::new(open(game).unwrap(), paper(name).unwrap(), dir) }
}

fn names(tables: &[PaperTable]) -> Vec<&str> {
    tables.iter().map(|t| t.name.as_str()).collect()
}

/// The tables as text, apart from those of times that are measured again.
fn lasting(tables: &[PaperTable]) -> String {
    let timed =
        |t: &&PaperTable| t.title.starts_with("a call of the net") || t.title.starts_with("share of each phase");
    tables.iter().filter(|t| !timed(t)).map(PaperTable::markdown).collect()
}

/// Carries out a paper twice: the second time nothing is played. Gives the tables.
fn reproduced(name: &str, game: &str, wanted: &[&str]) -> Vec<PaperTable> {
    let dir = folder(&format!("{name} {}", game.replace(':', " ")));
    let experiment = experiment(name, game, &dir);
    let first = experiment.reproduce().unwrap();
    assert_eq!(names(&first), wanted, "{name} {game}");
    for t in &first {
        let whole = t.rows.iter().all(|r| r.len() == t.columns.len());
        assert!(!t.rows.is_empty() && whole, "{name} {game} {}", t.name);
        assert!(!t.markdown().contains("NaN") && t.text().contains(&t.title), "{}", t.markdown());
        assert!(t.plot.as_ref().is_none_or(|p| std::fs::metadata(p).unwrap().len() > 1000));
    }
    assert_eq!(lasting(&first), lasting(&experiment.reproduce().unwrap()), "nothing is played twice");
    std::fs::remove_dir_all(dir).unwrap();
    first
}

#[test]
fn uct_ccnn_has_its_tables() {
    let wanted = ["Table 1", "Table 2", "Table 3", "Table 6", "Choices", "Ways", "Budgets"];
    reproduced("uct-ccnn", "othello", &wanted);
    let wanted = ["Table 1", "Table 4", "Table 5", "Table 6", "Choices", "Ways", "Budgets"];
    reproduced("uct-ccnn", "morris", &wanted);
}

#[test]
fn cut_has_its_tables() {
    let wanted = ["Table 3", "Table 4", "Table 5", "Equations 4-6", "Table 6", "Cost", "Sweep", "Accuracy", "Empty"];
    let tables = reproduced("cut", "dots", &wanted);
    assert_eq!(tables[0].rows[0][2], "0-0-2");
    let exact = tables[1].rows.last().unwrap();
    assert_eq!((exact[5].as_str(), exact[6].as_str()), ("0.0000", "0.0000"), "exact play loses nothing");
    let error = experiment("cut", "dots:4x4", &folder("small board")).reproduce().unwrap_err();
    assert!(error.to_string().contains("dots:5x5"), "{error}");
}

#[test]
fn exact_players_and_solutions_agree_on_the_family() {
    let table = open("dots").unwrap();
    let family: Vec<&str> = ludex_baselines::FAMILY.lines().filter_map(|l| l.split('\t').next()).collect();
    assert_eq!(family.len(), 50);
    for start in &family[..4] {
        let start = table.position(start).unwrap();
        let solution = table.solve(&*start).unwrap();
        let mut agents = [1, 2].map(|seed| table.agent(&Spec::word("exact"), seed).unwrap());
        let mut value = None;
        let episode = play_match(&*table, &*start, &mut agents, &Control::default(), &mut |view| {
            let worth = solution.worth(view.position).unwrap();
            let chosen = worth.iter().find(|w| w.mv == view.ply.choice.mv).unwrap();
            assert!(worth.iter().all(|w| w.margin <= chosen.margin));
            // For one player throughout: the value never changes under exact play.
            let mine = if view.ply.mover.0 == 0 { chosen.margin } else { -chosen.margin };
            assert_eq!(*value.get_or_insert(mine), mine);
        });
        assert!(episode.fault.is_none());
    }
    assert!(table.solve(&*table.start()).is_none());
}

#[test]
fn nhb_has_its_tables() {
    let connect4 = reproduced("nhb", "connect4", &["Table 1", "Direct", "Order"]);
    let othello = reproduced("nhb", "othello", &["Table 2", "Direct", "Order"]);
    assert!(connect4[0].plot.is_some() && othello[0].plot.is_some());
    assert!(othello[1].rows.iter().any(|r| r[0] == "positional"), "heuristics made by hand are opponents");
}

#[test]
fn uct_nn_has_its_figures() {
    let wanted = ["Figure 3", "Figure 4", "Figure 5", "Nets", "Sweep", "Cost", "Table 1", "Figure 6", "Time"];
    let tables = reproduced("uct-nn", "gomoku:5x5x4", &wanted);
    let rows = |name: &str| &tables.iter().find(|t| t.name == name).unwrap().rows;
    assert_eq!(rows("Figure 5")[0], ["0", "24 %", "48 %", "72 %", "48 %", "48 %"]);
    assert_eq!((rows("Table 1").len(), rows("Figure 6").len(), rows("Time").len()), (1, 5, 5));
    assert_eq!(rows("Sweep").len(), 4, "two sizes, one rate, two decays");
    let dir = folder("only");
    let only = Experiment { only: Some("6".into()), ..experiment("uct-nn", "gomoku:5x5x4", &dir) };
    assert_eq!(names(&only.reproduce().unwrap()), ["Figure 6"]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn carl_has_its_tables_and_learns_the_same_on_any_number_of_threads() {
    let wanted = ["Table 1", "Figure 4", "Figure 5", "Figure 6", "K", "Table 3", "Table 5 to Table 7"];
    reproduced("carl", "breakthrough:4x5", &wanted);
    let learned = |threads: usize| {
        let dir = folder(&format!("carl on {threads}"));
        let only = Some("K".into());
        Experiment { threads, only, ..experiment("carl", "breakthrough:4x5", &dir) }.reproduce().unwrap();
        let runs = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).filter(|p| !p.ends_with("arena"));
        let mut hashes: Vec<_> = runs.flat_map(|run| entries(&run).unwrap()).map(|e| (e.part, e.sha256)).collect();
        hashes.sort();
        std::fs::remove_dir_all(dir).unwrap();
        hashes
    };
    let one = learned(1);
    assert!(!one.is_empty());
    assert_eq!(one, learned(2));
}

#[test]
fn every_file_loads_with_every_preset() {
    for paper in PAPERS {
        for preset in PRESETS {
            let dir = folder("files");
            let (preset, only) = (preset.to_string(), Some("none".into()));
            let game = if paper.name == "cut" { "dots" } else { "connect4" };
            let all = Experiment { preset, only, ..experiment(paper.name, game, &dir) }.reproduce().unwrap();
            assert!(all.is_empty(), "{}", paper.name);
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

/// Stops an experiment after a while.
struct Deadline(Instant);

impl RunObserver for Deadline {
    fn stopped(&self) -> bool {
        Instant::now() > self.0
    }
}

/// The line with which an experiment is refused; nothing may have been done.
fn refused(experiment: &Experiment) -> String {
    let error = experiment.reproduce().unwrap_err();
    assert!(!matches!(error, RunError::Stopped | RunError::Learning(_)) && !experiment.dir.exists(), "{error}");
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn what_cannot_be_carried_out_is_refused_before_any_work() {
    let dir = folder("refused");
    let set = |name: &str, game: &str, setting: &str| {
        refused(&Experiment { settings: vec![setting.into()], ..experiment(name, game, &dir) })
    };
    assert!(set("nhb", "connect4", "reproduce.budgets=[]").contains("budgets is empty"));
    assert!(set("nhb", "connect4", "reproduce.cpu_ms=0").contains("cpu_ms"));
    assert!(set("nhb", "connect4", "reproduce.depths=3").contains("depths"));
    assert!(set("nhb", "connect4", "search.nodez=3").contains("nodez"));
    assert!(set("uct-ccnn", "connect4", "reproduce.ways=[\"neural(rule=sideways)\"]").contains("sideways"));
    assert!(set("uct-ccnn", "connect4", "reproduce.ratio=50000").contains("ratio"));
    assert!(set("uct-nn", "gomoku:5x5x5", "reproduce.boards=[\"gomoku:5x5x5\", \"chess\"]").contains("chess"));
    assert!(set("uct-nn", "connect4", "reproduce.constants=[1.0]").contains("two agents"));
    assert!(set("cut", "dots", "tables.rival=\"chainz\"").contains("chains"));
    assert!(set("carl", "connect4", "reproduce.literal=[\"train.gamez=1\"]").contains("gamez"));
    assert!(set("carl", "connect4", "reproduce.ks=[-1.0]").contains("ks"));
    let seeds = |seeds: &[u64]| refused(&Experiment { seeds: seeds.to_vec(), ..experiment("nhb", "connect4", &dir) });
    assert!(
        seeds(&[]).contains("seeds") && seeds(&[u64::MAX]).contains("at most") && seeds(&[3, 3]).contains("differ")
    );
    assert!(refused(&Experiment { preset: "tock".into(), ..experiment("nhb", "connect4", &dir) }).contains("tock"));
}

/// The paths of all options below a table.
fn leaves(options: &toml::Table, path: &str, out: &mut Vec<String>) {
    for (name, value) in options {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            toml::Value::Table(inner) => leaves(inner, &path, out),
            _ => out.push(path),
        }
    }
}

#[test]
fn no_value_of_any_option_makes_a_panic() {
    for paper in PAPERS {
        let mut file: toml::Table = paper.file.parse().unwrap();
        file.remove("preset");
        let mut keys = Vec::new();
        leaves(&file, "", &mut keys);
        assert!(keys.len() >= 7, "{}: {keys:?}", paper.name);
        let game = if paper.name == "cut" { "dots" } else { "tictactoe" };
        for key in &keys {
            for value in ["0", "-1", "1e300", "\"\"", "[]", "99999999999999", "sideways", "[0]", "[\"\"]", "nan"] {
                let dir = folder("extremes");
                let e = Experiment {
                    settings: vec![format!("{key}={value}")],
                    seeds: vec![1],
                    observer: Arc::new(Deadline(Instant::now() + Duration::from_millis(1500))),
                    ..experiment(paper.name, game, &dir)
                };
                match e.reproduce() {
                    Ok(tables) => assert!(!tables.is_empty()),
                    Err(RunError::Stopped) => {}
                    Err(e) => assert!(!e.to_string().contains('\n') && !e.to_string().is_empty(), "{key}={value}: {e}"),
                }
                let _ = std::fs::remove_dir_all(dir);
            }
        }
    }
}

#[test]
fn every_file_has_every_preset_and_every_name_leads_somewhere() {
    for p in PAPERS {
        assert!(system(p.system).is_ok(), "{}", p.name);
        assert!(p.games.iter().all(|g| open(g).is_ok()), "{}", p.name);
        for preset in PRESETS {
            options(p.file, preset, &[]).unwrap();
        }
    }
    let line = |name: &str| paper(name).unwrap_err().to_string();
    assert!(line("uct-nm").contains("uct-nn") && line("zero").contains("there are uct-ccnn"));
    assert!(line("carl-playout").contains("paper carl") && line("carl-selection").contains("paper carl"));
}

#[test]
fn limits_double_as_in_the_paper() {
    // Twenty million node visits, halved fifteen times; the paper's table has the first nine.
    let dir = folder("limits");
    let settings = vec!["reproduce.top=2442".into(), "reproduce.boards=[\"gomoku:5x5x5\"]".into()];
    let only = Some("Table".into());
    let tables = Experiment { settings, only, ..experiment("uct-nn", "gomoku:5x5x5", &dir) }.reproduce().unwrap();
    let table = tables.iter().find(|t| t.name == "Table 1").unwrap();
    let limits: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(limits, ["610", "1221", "2442"]);
    assert!(table.rows.iter().zip(["; - 0.8335", "; - <0.0001", "; +"]).all(|(row, quoted)| row[1].ends_with(quoted)));
    std::fs::remove_dir_all(dir).unwrap();
}
