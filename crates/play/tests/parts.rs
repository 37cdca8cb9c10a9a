//! Parts: what is listed can be built and what can be built is listed; compositions are what they stand for; every
//! combination plays; parts of one's own are like all others.

mod common;

use common::{Folder, moves_head, rulesheet, value_head, write_untrained};
use ludex_core::toy::Nim;
use ludex_core::{Choice, Evaluator, Game, Payoffs, Rng, RootMove, Search};
use ludex_learn::Head;
use ludex_play::arena::{Contest, tally};
use ludex_play::openings::Openings;
use ludex_play::{
    Control, GAMES, Limit, LimitKind, NativeTable, OptionInfo, OptionType, PartInfo, PartKind, Spec, Stop, Table,
    TableBuilder, open,
};
use ludex_search::ExactObserver;
use ludex_search::mcts::*;
use std::path::Path;
use std::sync::Arc;

fn spec(text: &str) -> Spec {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// An agent in which a part of this kind does its work.
fn agent_with(kind: PartKind, part: Spec) -> Spec {
    let (mut agent, option) = match kind {
        PartKind::Search => return part,
        PartKind::Select => (spec("mcts(prior=value(eval=random))"), "select"),
        PartKind::Prior => (spec("mcts"), "prior"),
        PartKind::Expand => (spec("mcts"), "expand"),
        PartKind::Playout => (spec("mcts"), "playout"),
        PartKind::Backup => (spec("mcts"), "backup"),
        PartKind::Evaluator => (spec("minimax"), "eval"),
    };
    agent.set_part(option, part);
    agent
}

/// Values within the bounds of an option, and values outside.
fn values(table: &dyn Table, option: &OptionInfo) -> (Vec<String>, Vec<String>) {
    let mut outside: Vec<String> = ["-1", "nan", "\"\\n\"", "a(b=c)"].map(String::from).to_vec();
    let inside = match option.ty {
        OptionType::Whole(low, high) => {
            outside.extend(low.checked_sub(1).map(|n| n.to_string()));
            outside.extend([(high as u128 + 1).to_string(), "0.5".into()]);
            vec![low.to_string(), high.to_string()]
        }
        OptionType::Real(low, high) => {
            outside.extend([(low - 1e-3).to_string(), (high * 1.01 + 1.0).to_string(), "inf".into()]);
            vec![low.to_string(), high.to_string()]
        }
        OptionType::Word(words) => words.iter().map(|w| w.to_string()).collect(),
        OptionType::Part(kind) => {
            let names = table.parts().into_iter().filter(|p| p.kind == kind).map(|p| p.name.to_string());
            names.collect()
        }
        OptionType::Model => {
            outside = vec!["a(b=c)".into()];
            vec!["\"a run\"".into()]
        }
    };
    (inside, outside)
}

fn tables() -> Vec<Arc<dyn Table>> {
    let names = GAMES.iter().map(|g| g.name.to_string()).chain([rulesheet("tictactoe")]);
    names.map(|g| open(&g).unwrap()).collect()
}

/// Whether a value is refused only because this machine has too little memory for it.
fn no_memory(error: &str) -> bool {
    error.contains("MB of memory")
}

#[test]
fn every_listed_part_builds_with_every_value_it_lists_and_refuses_all_others() {
    for table in tables() {
        for part in table.parts() {
            let built = |option: Option<(&OptionInfo, &str)>| {
                let mut inner = Spec::word(part.name);
                if let Some((option, value)) = option {
                    inner.set_part(option.name, spec(value));
                    // A rule or a net that only some values of a composition or part use.
                    if ["minimax", "pvs"].contains(&part.name) && option.name == "model" {
                        inner.set("eval", "net");
                    }
                }
                let mut agent = agent_with(part.kind, inner);
                let selects_by_prior =
                    agent.get("select").is_some_and(|s| ["bonus", "mean", "qprior"].contains(&&*s.name));
                if part.kind == PartKind::Search && part.name == "mcts" && selects_by_prior {
                    agent.set_part("prior", spec("value(eval=random)"));
                }
                table.check(&agent).map_err(|e| e.to_string())
            };
            assert_eq!(built(None), Ok(()), "{} {}", table.info().name, part.name);
            for option in &part.options {
                let (mut inside, outside) = values(&*table, option);
                inside.extend((!option.default.is_empty()).then(|| option.default.to_string()));
                for value in inside {
                    let built = built(Some((option, &value)));
                    let fits = built.as_ref().err().is_none_or(|e| no_memory(e));
                    assert!(fits, "{}({}={value}): {built:?}", part.name, option.name);
                }
                for value in outside {
                    let error = built(Some((option, &value))).expect_err(&value);
                    let names_it = match option.ty {
                        OptionType::Part(kind) => error.contains(kind.name()),
                        _ => error.contains(&format!("{}=", option.name)),
                    };
                    assert!(names_it && !error.contains('\n'), "{}({}={value}): {error}", part.name, option.name);
                }
            }
            let error = built(Some((&OptionInfo::flag("no_such", "", ""), "on"))).unwrap_err();
            assert!(error.contains("has no option \"no_such\""), "{error}");
        }
    }
}

#[test]
fn a_name_builds_as_a_kind_exactly_if_it_is_listed_as_one() {
    for table in tables() {
        let parts = table.parts();
        for kind in PartKind::ALL {
            for name in parts.iter().map(|p| p.name).chain(["no_such", ""]) {
                let listed = parts.iter().filter(|p| p.kind == kind && p.name == name).count();
                assert!(listed <= 1, "{name} is listed twice");
                let agent = agent_with(kind, Spec::word(name));
                let refused = table.check(&agent).is_err_and(|e| e.to_string().contains("is called"));
                // An empty name leaves the default part.
                assert_eq!(refused, listed == 0 && (kind == PartKind::Search || !name.is_empty()), "{kind:?} {name}");
            }
        }
    }
}

#[test]
fn options_are_found_by_path_and_can_be_set_there() {
    let table = open("othello").unwrap();
    for part in table.parts() {
        let agent = agent_with(part.kind, Spec::word(part.name));
        let at = match part.kind {
            PartKind::Search => String::new(),
            PartKind::Evaluator => "eval.".into(),
            kind => format!("{kind:?}.").to_lowercase(),
        };
        for option in &part.options {
            assert_eq!(table.option(&agent, &format!("{at}{}", option.name)), Some(*option), "{agent}");
        }
        assert_eq!(table.option(&agent, &format!("{at}no_such")), None);
    }
    // Also where the part is not named because it is the default.
    for (agent, path, value, same) in [
        ("mcts", "select.c", "0.5", "mcts(select=ucb1(c=0.5))"),
        ("uct", "c", "0.5", "mcts(select=ucb1(c=0.5))"),
        ("uct(playout=mast)", "playout.eps", "0.1", "mcts(playout=mast(eps=0.1))"),
        (
            "neural(model=m)",
            "influence",
            "0.5",
            "mcts(model=m, prior=value, select=bonus(influence=0.5), expand=first)",
        ),
    ] {
        let mut agent = spec(agent);
        assert!(table.option(&agent, path).is_some(), "{agent} {path}");
        agent.set(path, value);
        assert_eq!(agent.to_string().parse::<Spec>().unwrap(), agent);
        assert!(table.check(&agent).is_ok(), "{agent}: {:?}", table.check(&agent));
        if !same.contains("model") {
            assert_eq!(choices(&*table, &agent), choices(&*table, &spec(same)), "{agent}");
        }
    }
    assert_eq!(table.option(&spec("uct"), "playout.eps"), None);
    assert_eq!(table.option(&spec("uct"), "c.x"), None);
}

/// What an agent chooses along a short line of play.
fn choices(table: &dyn Table, agent: &Spec) -> Vec<Choice> {
    let mut agent = table.agent(agent, 11).unwrap_or_else(|e| panic!("{agent}: {e}"));
    let (mut position, mut rng) = (table.start(), Rng::new(2));
    let mut choices = Vec::new();
    for _ in 0..4 {
        choices.push(agent.choose(&*position, &Limit::simulations(60).into()).unwrap());
        position.play(*rng.pick(&position.legal()).unwrap()).unwrap();
    }
    choices
}

#[test]
fn compositions_choose_bit_by_bit_what_they_stand_for() {
    for (number, game) in ["connect4", "dots:3x3", "morris"].into_iter().enumerate() {
        let (table, folder) = (open(game).unwrap(), Folder::new(&format!("compositions-{number}")));
        let (value, moves) = (folder.path().join("value"), folder.path().join("moves"));
        write_untrained(&*table, value_head(&*table), &value);
        write_untrained(&*table, moves_head(&*table), &moves);
        for (composition, stands_for, model) in [
            ("uct", "mcts", None),
            ("uct(c=0.7)", "mcts(select=ucb1(c=0.7), expand=random)", None),
            (
                "uct(c=0.3, form=kocsis, reward=signed, mean=abs, expand=second, final=max, solver=on)",
                "mcts(select=ucb1(c=0.3, form=kocsis, reward=signed, mean=abs), expand=second, final=max, solver=on)",
                None,
            ),
            (
                "uct(expand=all(from=leaf), playout=mast(eps=0.1), reuse=on)",
                "mcts(expand=all(from=leaf), playout=mast(eps=0.1), reuse=on)",
                None,
            ),
            ("tuned", "mcts(select=tuned)", None),
            ("tuned(c=0.5, expand=leftmost)", "mcts(select=tuned(c=0.5), expand=leftmost)", None),
            ("rave", "mcts(select=rave, expand=all)", None),
            ("rave(bias=0.1, c=0.2, expand=random)", "mcts(select=rave(bias=0.1, c=0.2), expand=random)", None),
            ("grave", "mcts(select=grave, expand=all)", None),
            (
                "grave(ref=5, bias=0.1, c=0.2, graph=on)",
                "mcts(select=grave(ref=5, bias=0.1, c=0.2), expand=all, graph=on)",
                None,
            ),
            ("neural", "mcts(select=bonus, prior=value, expand=first)", Some(&value)),
            (
                "neural(rule=mean, c=0.5, k=3, expand=second, from=leaf)",
                "mcts(select=mean(c=0.5, k=3), prior=value(eval=net), expand=second(from=leaf))",
                Some(&value),
            ),
            ("ranked", "mcts(select=ucb1(c=1.41, form=burger), expand=ranked, final=max)", Some(&moves)),
            (
                "ranked(scheme=linear, share=0.3, root=off, expand=first, c=0.5, final=robust)",
                "mcts(select=ucb1(c=0.5, form=burger), expand=ranked(scheme=linear, share=0.3, root=off, visit=first))",
                Some(&value),
            ),
            ("guided", "mcts(select=qprior, prior=scores, expand=leftmost)", Some(&moves)),
            (
                "guided(k=10, first=learned, c=1)",
                "mcts(select=qprior(k=10, first=learned, c=1), prior=scores, expand=leftmost)",
                Some(&moves),
            ),
        ] {
            let given = |text: &str| match model {
                Some(path) => spec(text).with("model", path.display()),
                None => spec(text),
            };
            assert_eq!(choices(&*table, &given(composition)), choices(&*table, &given(stands_for)), "{composition}");
        }
    }
}

/// Every part of a kind, with a model where it needs one.
fn all_of(table: &dyn Table, kind: PartKind, folder: &Path) -> Vec<Spec> {
    let model = |name: &str| match (kind, name) {
        (PartKind::Playout, "cut") => Some("wdl"),
        (PartKind::Playout, "valued") | (PartKind::Prior, "value") => Some("value"),
        (PartKind::Playout, "guided") | (PartKind::Prior, "scores") | (PartKind::Expand, "ranked") => Some("moves"),
        _ => None,
    };
    let with_model = |p: PartInfo| match model(p.name) {
        Some(file) => Spec::word(p.name).with("model", folder.join(file).display()),
        None => Spec::word(p.name),
    };
    table.parts().into_iter().filter(|p| p.kind == kind).map(with_model).collect()
}

#[test]
fn every_selection_plays_with_every_prior_expansion_and_playout() {
    for (number, game) in ["tictactoe".to_string(), "dots:2x2".into(), rulesheet("tictactoe")].into_iter().enumerate() {
        let (table, folder) = (open(&game).unwrap(), Folder::new(&format!("combinations-{number}")));
        for (file, head) in [("value", value_head(&*table)), ("moves", moves_head(&*table)), ("wdl", Head::WinDrawLoss)]
        {
            write_untrained(&*table, head, &folder.path().join(file));
        }
        let of = |kind| all_of(&*table, kind, folder.path());
        let backups = of(PartKind::Backup);
        let mut played = 0;
        for select in of(PartKind::Select) {
            for prior in of(PartKind::Prior) {
                for expand in of(PartKind::Expand) {
                    for playout in of(PartKind::Playout) {
                        let mut agent = spec("mcts(sims=12)");
                        for (option, part) in
                            [("select", &select), ("prior", &prior), ("expand", &expand), ("playout", &playout)]
                        {
                            agent.set_part(option, part.clone());
                        }
                        // What is not a part goes round.
                        agent.set_part("backup", backups[played % backups.len()].clone());
                        agent.set("solver", ["off", "ends", "on", "shared"][played % 4]);
                        agent.set("graph", ["off", "on"][played / 4 % 2]);
                        agent.set("final", ["robust", "max", "secure"][played % 3]);
                        let built = table.agent(&agent, 1);
                        if ["bonus", "mean", "qprior"].contains(&&*select.name) && prior.name == "none" {
                            let line = format!("mcts: select={} needs a prior=", select.name);
                            assert!(built.err().unwrap().to_string().starts_with(&line));
                            continue;
                        }
                        let mut built = built.unwrap_or_else(|e| panic!("{agent}: {e}"));
                        let mut position = table.start();
                        for _ in 0..3 {
                            let m = built.choose(&*position, &Control::default()).unwrap().mv;
                            position.play(m).unwrap_or_else(|e| panic!("{agent}: {e}"));
                        }
                        played += 1;
                    }
                }
            }
        }
        assert!(played > 700, "{played}");
    }
}

#[test]
fn memory_that_the_machine_does_not_have_is_refused_in_one_line() {
    let table = open("gomoku").unwrap();
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    for (agent, megabytes) in [("minimax(table=65536)", 65_536), ("uct(nodes=2147483648)", 131_072)] {
        match table.check(&spec(agent)) {
            Ok(()) => assert!(available.is_none_or(|kb| kb >> 10 > megabytes / 2), "{agent}"),
            Err(e) => assert!(e.to_string().contains(&format!("takes {megabytes} MB of memory, ")), "{e}"),
        }
    }
    assert!(table.check(&spec("minimax(table=64)")).is_ok());
}

/// Takes so many, if it can.
struct Takes(u32);

impl Search<Nim> for Takes {
    fn search(&mut self, game: &Nim, s: &<Nim as Game>::State, _: &Control, _: &mut Rng) -> Choice {
        let mut moves = Vec::new();
        game.legal(s, &mut moves);
        let mv = moves[(self.0 as usize - 1).min(moves.len() - 1)];
        let root = moves.iter().map(|&mv| RootMove { mv, visits: 1, value: None, prior: 0.0, proven: false });
        let value = Payoffs::draw(2);
        Choice { mv, value, root: root.collect(), nodes: 1, simulations: 0, depth: 0, line: vec![mv], bytes: 0 }
    }

    fn limits(&self) -> &'static [LimitKind] {
        &[LimitKind::Depth]
    }

    fn default_limit(&self) -> Limit {
        Limit::default()
    }
}

/// The mover loses on multiples of four.
struct Theory;

impl Evaluator<Nim> for Theory {
    fn value(&mut self, game: &Nim, s: &<Nim as Game>::State) -> Payoffs {
        Payoffs::of(game.mover(s), if s.left.is_multiple_of(4) { -1.0 } else { 1.0 })
    }
}

/// Any child.
struct Anywhere;

impl Select for Anywhere {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        rng.below(at.tree.children(at.node()).len() as u32) as usize
    }
}

/// The value of Nim in place of a playout.
struct Known;

impl Playout<Nim> for Known {
    fn playout(&mut self, game: &Nim, s: &mut <Nim as Game>::State, _: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        game.outcome(s).or_else(|| Some(Theory.value(game, s)))
    }
}

const TAKES: &[OptionInfo] =
    &[OptionInfo::whole("n", "1", (1, 3), "how many"), OptionInfo::whole("depth", "", (1, 9), "of no effect")];

fn own_table() -> TableBuilder<Nim> {
    TableBuilder::new(Nim::new(21))
        .search("takes", "always as many", TAKES, |a| Ok(Box::new(Takes(a.whole("n")?))))
        .evaluator("theory", "knows all", &[], |_| Ok(Arc::new(|_| Box::new(Theory) as Box<dyn Evaluator<Nim>>)))
        .select("anywhere", "any child", &[], |_| Ok(Box::new(Anywhere)))
        .expand("lowest", "the lowest move first", &[], |_| Ok(Box::new(OneChild::new(Next::Leftmost))))
        .playout("known", "the value of Nim", &[], |_| Ok(Box::new(Known)))
}

#[test]
fn parts_of_ones_own_are_listed_named_in_specs_and_play_in_contests() {
    let table = own_table().build();
    let own: Vec<(PartKind, &str)> = table.parts().iter().filter(|p| p.own).map(|p| (p.kind, p.name)).collect();
    let kinds = [PartKind::Search, PartKind::Select, PartKind::Expand, PartKind::Playout, PartKind::Evaluator];
    assert_eq!(own, kinds.into_iter().zip(["takes", "anywhere", "lowest", "known", "theory"]).collect::<Vec<_>>());
    let agents = [
        "takes(n=2)",
        "minimax(depth=1, eval=theory)",
        "mcts(sims=40, select=anywhere, expand=lowest, playout=known, final=max)",
        "uct(sims=40, expand=lowest, playout=known)",
        "mcts(sims=40, prior=value(eval=theory), select=mean)",
    ];
    let contest = Contest {
        game: table.info().name.clone(),
        agents: agents.iter().map(|a| spec(a)).collect(),
        pairs: 8,
        openings: Openings::Random(2),
        seed: 1,
        sprt: None,
    };
    let results = contest.run(&*table, vec![], 2, &Stop::new(), |_| {}).unwrap();
    let tallies = tally(&contest, &results);
    assert_eq!(tallies.len(), 10);
    assert!(tallies.iter().all(|t| t.pairs.wdl().games() == 16 && t.faults == [[0; 2]; 2]));
    // Whoever knows the theory wins every pair against whoever always takes two, up to openings that are lost.
    assert!(tallies[0].pairs.wdl().score() < 0.3, "{:?}", tallies[0].pairs);
    // Options and limits are checked like all others.
    let error = |agent: &str| table.check(&spec(agent)).unwrap_err().to_string();
    assert_eq!(error("takes(n=4)"), "n=4 is not a whole number from 1 to 3 (column 9)");
    assert!(error("take(n=1)").contains("did you mean takes?"));
    let mut takes = table.agent(&spec("takes(depth=3)"), 1).unwrap();
    assert!(takes.choose(&*table.start(), &Control::default()).is_ok());
    let error = takes.choose(&*table.start(), &Limit::simulations(1).into()).unwrap_err();
    assert_eq!(error.to_string(), "takes has no limit sims: it has depth");
}

#[test]
#[should_panic(expected = "uct is the name of another agent")]
fn a_name_cannot_be_given_twice() {
    let _ = own_table().search("uct", "another", &[], |_| Ok(Box::new(Takes(1))));
}

/// What an extension adds: something that knows the type of the game.
trait Prover: Send + Sync {
    /// How many exact nodes a search finds at the start.
    fn proofs(&self, agent: &Spec) -> Result<usize, String>;
}

struct Proves<G: Game>(Arc<NativeTable<G>>);

#[derive(Default)]
struct Count(usize);

impl<G: Game> ExactObserver<G> for Count {
    fn exact(&mut self, _: &G, _: &G::State, _: Payoffs, _: ludex_search::Source) {
        self.0 += 1;
    }
}

impl<G: Game> Prover for Proves<G> {
    fn proofs(&self, agent: &Spec) -> Result<usize, String> {
        let game = self.0.game();
        let (mut search, limit) = self.0.observed_alphabeta(agent, 1, Count::default()).map_err(|e| e.to_string())?;
        search.search(game, &game.initial(), &limit.into(), &mut Rng::new(1));
        Ok(search.observer.0)
    }
}

#[test]
fn an_extension_is_found_again_by_its_type_and_knows_parts_of_ones_own() {
    let theory = || Ok(Arc::new(|_| Box::new(Theory) as Box<dyn Evaluator<Nim>>) as _);
    let table = own_table().evaluator("later", "after it", &[], move |_| theory()).build();
    assert!(table.extension::<dyn Prover>().is_none());
    let native = table.extension::<NativeTable<Nim>>().unwrap();
    table.extensions().attach(Arc::new(Proves(native)) as Arc<dyn Prover>);
    let prover = table.extension::<dyn Prover>().unwrap();
    assert!(prover.proofs(&spec("minimax(depth=21, eval=later)")).unwrap() > 0);
    assert!(prover.proofs(&spec("uct")).unwrap_err().contains("proves nothing"));
    assert!(prover.proofs(&spec("minimax(dept=6)")).unwrap_err().contains("did you mean depth?"));
}
