//! The conversation: a person plays against an agent, and may ask, take back, save and begin again.

use super::board::{BoardStyle, Marks, difference};
use super::commands::{Command, HELP, rules};
use super::moves::{Meaning, find};
use super::review::{Mistake, in_order, percent, review};
use super::saved::{KeptGames, Saved, free_name};
use super::terminal::{Asked, THINKING, Terminal};
use super::threats::threatened;
use crate::errors::{agent_error, usage};
use crate::shell::shell_word;
use crate::verbs::say;
use crate::{open, spec};
use anyhow::Result;
use ludex_core::{Choice, Move, Player};
use ludex_play::{Position, Session, Spec, Table};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The opponent if none is named, and the adviser of a person whose opponent does not search.
pub const DEFAULT_AGENT: &str = "uct(ms=1000)";

/// What a game begins with.
pub struct Setup {
    pub table: Arc<dyn Table>,
    pub opponent: Spec,
    /// The position, with the moves that led to it.
    pub position: Box<dyn Position>,
    pub person: Player,
    pub seed: u64,
    /// The file among the unfinished games from which it comes.
    pub kept: Option<PathBuf>,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    End,
}

/// A game between a person and an agent.
pub struct Game {
    terminal: Terminal,
    table: Arc<dyn Table>,
    session: Session,
    /// The agent that gives hints and reviews, once it has been asked.
    adviser: Option<Session>,
    person: Player,
    seed: u64,
    resigned: bool,
    /// The board has been drawn, and the result told.
    drawn: bool,
    /// Where the game is kept while it is unfinished.
    kept: Option<PathBuf>,
}

impl Game {
    /// Sets up a game; an agent that cannot be made is an error.
    pub fn new(setup: Setup, terminal: Terminal) -> Result<Self> {
        let Setup { table, opponent, position, person, seed, kept } = setup;
        let session = session(&table, &opponent, seed, position)?;
        Ok(Game { terminal, table, session, adviser: None, person, seed, resigned: false, drawn: false, kept })
    }

    /// Plays until the person leaves; where nobody sits at the terminal, until the game is over.
    pub fn play(&mut self) -> Result<()> {
        self.greet()?;
        loop {
            let flow = match (self.over(), self.session.position().mover() == self.person) {
                (true, _) => self.after()?,
                (false, true) => self.turn()?,
                (false, false) => self.reply()?,
            };
            if flow == Flow::End {
                return Ok(());
            }
        }
    }

    fn greet(&self) -> Result<()> {
        let (info, spec) = (self.table.info(), self.session.spec());
        self.terminal.say(format!("{}: you are {}, against {spec}.", info.title, self.piece(self.person)))?;
        self.terminal.say("Type a move; help shows what else you can type.\n")
    }

    fn over(&self) -> bool {
        self.resigned || self.session.position().outcome().is_some()
    }

    fn role(&self, p: Player) -> String {
        self.table.info().roles[p.index()].to_uppercase()
    }

    /// A role with the disc it is drawn as, where it is.
    fn piece(&self, p: Player) -> String {
        let role = self.role(p);
        match (self.terminal.style.discs, role.as_str()) {
            (true, "X") => "X (●)".into(),
            (true, "O") => "O (○)".into(),
            _ => role,
        }
    }

    /// The person's turn: draws the board and does what is typed.
    fn turn(&mut self) -> Result<Flow> {
        if !std::mem::replace(&mut self.drawn, true) {
            self.draw()?;
        }
        let prompt = format!("{}> ", self.role(self.person));
        match self.ask(&prompt)? {
            Command::Move(text) => self.play_typed(&text),
            Command::Resign => {
                (self.resigned, self.drawn) = (true, false);
                Ok(Flow::On)
            }
            command => self.obey(command),
        }
    }

    /// The agent's turn.
    fn reply(&mut self) -> Result<Flow> {
        let (role, open) = (self.role(self.person.other()), self.opponent_is_open());
        let mover = self.person.other();
        let watched = self.terminal.watch(move |c: &Choice| match open {
            true => format!("{THINKING} {:.0} % for {role}", percent(&c.value, mover)),
            false => THINKING.into(),
        });
        let choice = self.session.choose(&watched.control)?;
        drop(watched);
        self.session.play(choice.mv)?;
        let played = if open { self.opinion(&choice) } else { self.table.move_name(choice.mv) };
        self.terminal.say(format!("{} plays {played}", self.role(mover)))?;
        self.moved();
        Ok(Flow::On)
    }

    /// After the game: the result, then what is typed. Where nobody sits at the terminal, a line that does not ask for
    /// something ends it.
    fn after(&mut self) -> Result<Flow> {
        if !std::mem::replace(&mut self.drawn, true) {
            self.tell_result()?;
        }
        let interactive = self.terminal.interactive();
        match self.ask("review, rematch, undo, quit> ")? {
            Command::Quit if interactive => self.quit(),
            Command::Quit => Ok(Flow::End),
            Command::Move(_) | Command::Resign | Command::Hint | Command::Eval | Command::Moves if interactive => {
                self.terminal.say("The game is over. Type review, rematch, new, undo, save, load, show or quit.")?;
                Ok(Flow::On)
            }
            Command::Move(_) | Command::Resign | Command::Hint | Command::Eval | Command::Moves => Ok(Flow::End),
            command => self.obey(command),
        }
    }

    fn tell_result(&mut self) -> Result<()> {
        self.forget();
        if self.resigned {
            return self.terminal.say(format!("You resign; {} wins.", self.role(self.person.other())));
        }
        self.draw()?;
        let mine = self.session.position().outcome().map_or(0.0, |p| p[self.person]);
        self.terminal.say(match mine {
            mine if mine > 0.0 => "You win.",
            mine if mine < 0.0 => "You lose.",
            _ => "A draw.",
        })
    }

    /// Asks for a command. The end of the input means to quit, and so does Ctrl-C if the person says so.
    fn ask(&mut self, prompt: &str) -> Result<Command> {
        match self.terminal.ask(prompt)? {
            Asked::Line(line) => Ok(Command::read(&line)),
            Asked::End => Ok(Command::Quit),
            Asked::TooLong => {
                self.terminal.say("That line is too long.")?;
                Ok(Command::Nothing)
            }
            Asked::Interrupted => match self.terminal.ask("Leave the game? (y or n) ")? {
                Asked::Line(line) if !line.trim().to_lowercase().starts_with('y') => Ok(Command::Nothing),
                Asked::TooLong => Ok(Command::Nothing),
                _ => Ok(Command::Quit),
            },
        }
    }

    /// Does what can be done whether the game is over or not.
    fn obey(&mut self, command: Command) -> Result<Flow> {
        match command {
            Command::Quit => return self.quit(),
            Command::Help => self.terminal.say(format!("{}\n{HELP}", self.moves()))?,
            Command::Rules => self.terminal.say(rules(&*self.table))?,
            Command::Moves => self.terminal.say(self.moves())?,
            Command::Hint => self.hint()?,
            Command::Eval => self.eval()?,
            Command::Undo => self.undo()?,
            Command::Switch => {
                self.person = self.person.other();
                self.drawn = false;
                self.keep();
                self.terminal.say(format!("You are {} now.", self.piece(self.person)))?;
            }
            Command::Show => self.draw()?,
            Command::Save(file) => self.save(&file)?,
            Command::Load(file) => self.load(&file)?,
            Command::Review => self.review()?,
            Command::New => self.begin_again(self.person)?,
            Command::Rematch => self.begin_again(self.person.other())?,
            Command::Nothing | Command::Resign | Command::Move(_) => {}
        }
        Ok(Flow::On)
    }

    /// Plays the move that was typed, or says why not.
    fn play_typed(&mut self, text: &str) -> Result<Flow> {
        match find(&*self.table, &self.session.position().legal(), text) {
            Meaning::Move(m) => {
                self.session.play(m)?;
                self.moved();
            }
            Meaning::Ambiguous(moves) => self.terminal.say(format!("Which one: {}?", self.names(&moves)))?,
            Meaning::Nothing => {
                let short: String = text.chars().take(40).collect();
                self.terminal.say(format!("\"{short}\" is not a legal move here. {}", self.moves()))?;
            }
        }
        Ok(Flow::On)
    }

    /// A move was played: the board has changed, and the game is kept.
    fn moved(&mut self) {
        self.drawn = false;
        if !self.over() {
            self.keep();
        }
    }

    /// Keeps the unfinished game, if anything was played; whether it could.
    fn keep(&mut self) -> bool {
        if self.session.position().moves().is_empty() {
            self.forget();
            return false;
        }
        let Some(games) = KeptGames::open() else { return false };
        let file = self.kept.get_or_insert_with(|| games.new_file(self.table.info())).clone();
        games.keep(&self.saved(), &file).is_ok()
    }

    /// Keeps the game no longer.
    fn forget(&mut self) {
        if let Some(file) = self.kept.take() {
            let _ = std::fs::remove_file(file); // what cannot be removed is only kept longer
        }
    }

    fn saved(&self) -> Saved {
        Saved::new(&*self.table, self.session.position(), self.session.spec(), self.person, self.seed)
    }

    fn quit(&mut self) -> Result<Flow> {
        if !self.over() && self.keep() {
            let game = &self.table.info().name;
            self.terminal.say("The game is kept. To go on with it:")?;
            say(format!("  ludex play {} --resume", shell_word(game)))?; // never wrapped: it is there to be copied
        }
        self.terminal.say("Good-bye.")?;
        Ok(Flow::End)
    }

    /// The agent whose view hints, evaluations and reviews give: the strongest at hand. That is the opponent, at its best
    /// level if it has levels; for an opponent that does not search, the agent that plays if none is named.
    fn best(&self) -> Spec {
        let opponent = self.session.spec();
        match level(opponent) {
            None if self.session.limits().is_empty() => spec(DEFAULT_AGENT).expect("the default agent is well formed"),
            _ => at_best(opponent),
        }
    }

    /// Whether the opponent tells its view and its plan: not if it does not search, for then it has none; nor if it plays
    /// below its best, for then its view is wrong and its plan would give it away.
    fn opponent_is_open(&self) -> bool {
        !self.session.limits().is_empty() && at_best(self.session.spec()) == *self.session.spec()
    }

    /// Makes the agent that advises, or brings it to this position.
    fn prepare_adviser(&mut self) -> Result<()> {
        let (best, position) = (self.best(), self.session.position().boxed_clone());
        match &mut self.adviser {
            Some(adviser) => adviser.set(position)?,
            none => *none = Some(session(&self.table, &best, self.seed, position)?),
        }
        Ok(())
    }

    /// What the best agent thinks of the position.
    fn advice(&mut self) -> Result<Choice> {
        self.prepare_adviser()?;
        let (role, person) = (self.role(self.person), self.person);
        let watched = self.terminal.watch(move |c| format!("{THINKING} {:.0} % for {role}", percent(&c.value, person)));
        let adviser = self.adviser.as_mut().expect("it was made");
        Ok(adviser.choose(&watched.control)?)
    }

    // An adviser that fails costs its answer, not the game.

    fn hint(&mut self) -> Result<()> {
        let advice = self.advice();
        self.terminal.say(match advice {
            Ok(choice) => format!("{} would play {}", self.best(), self.opinion(&choice)),
            Err(e) => format!("There is no hint: {e:#}"),
        })
    }

    fn eval(&mut self) -> Result<()> {
        let advice = self.advice();
        self.terminal.say(match advice {
            Ok(c) => format!("Your chances: {:.0} %, judged by {}.", percent(&c.value, self.person), self.best()),
            Err(e) => format!("There is no evaluation: {e:#}"),
        })
    }

    fn review(&mut self) -> Result<()> {
        let (mistakes, whole) = match self.mistakes() {
            Ok(found) => found,
            Err(e) => return self.terminal.say(format!("There is no review: {e:#}")),
        };
        let (count, best) = (mistakes.len(), self.best());
        let part = if whole { "" } else { " in the part that was gone over" };
        self.terminal.say(match count {
            0 => format!("No mistakes of yours{part}, judged by {best}."),
            1 => format!("One mistake of yours{part}, judged by {best}:"),
            4.. => format!("{count} mistakes of yours{part}, judged by {best}, the worst three first:"),
            _ => format!("{count} mistakes of yours{part}, judged by {best}:"),
        })?;
        let name = |m| self.table.move_name(m);
        for m in in_order(mistakes) {
            let (played, better) = (name(m.played), name(m.better));
            let chances = format!("your chances fell from {:.0} % to {:.0} %", m.before, m.after);
            self.terminal.say(format!("  move {}: {played}, better {better}: {chances}", m.number))?;
        }
        Ok(())
    }

    /// The person's mistakes so far, and whether the whole game was gone over.
    fn mistakes(&mut self) -> Result<(Vec<Mistake>, bool)> {
        self.prepare_adviser()?;
        let watched = self.terminal.watch(|_| String::new());
        let adviser = self.adviser.as_mut().expect("it was made");
        review(adviser, self.session.position(), self.person, &watched)
    }

    /// Takes back to the person's move before.
    fn undo(&mut self) -> Result<()> {
        self.drawn = false;
        if std::mem::take(&mut self.resigned) {
            self.keep();
            return self.terminal.say("Taken back.");
        }
        let mut position = self.session.position().boxed_clone();
        while position.undo() {
            if position.mover() == self.person {
                self.session.set(position)?;
                self.keep();
                return self.terminal.say("Taken back.");
            }
        }
        self.terminal.say("There is no move to take back.")
    }

    /// Begins again where this game began. An unfinished one stays kept.
    fn begin_again(&mut self, person: Player) -> Result<()> {
        let mut start = self.session.position().boxed_clone();
        while start.undo() {}
        self.session.set(start)?;
        (self.person, self.resigned, self.drawn, self.kept) = (person, false, false, None);
        self.terminal.say(format!("A new game: you are {}.", self.piece(person)))
    }

    fn save(&self, file: &str) -> Result<()> {
        let file = if file.is_empty() { free_name(self.table.info()) } else { PathBuf::from(file) };
        match self.saved().write(&file) {
            Ok(()) => {
                self.terminal.say(format!("Saved in {}. To go on with it:", file.display()))?;
                say(format!("  ludex play --load {}", shell_word(&file.to_string_lossy())))
            }
            Err(e) => self.terminal.say(format!("{e:#}")),
        }
    }

    /// Goes on with a saved game in place of this one, which stays kept; a file that cannot be read changes nothing.
    fn load(&mut self, file: &str) -> Result<()> {
        if file.is_empty() {
            return self.terminal.say("Which file? load FILE");
        }
        let loaded = Saved::read(Path::new(file)).and_then(|saved| {
            let table = open(&saved.game)?;
            let setup = setup(table, saved, None)?;
            let made = session(&setup.table, &setup.opponent, setup.seed, setup.position.clone())?;
            Ok((setup, made))
        });
        let (setup, made) = match loaded {
            Ok(loaded) => loaded,
            Err(e) => return self.terminal.say(format!("{e:#}")),
        };
        (self.table, self.session, self.adviser) = (setup.table, made, None);
        (self.person, self.seed, self.kept) = (setup.person, setup.seed, None);
        (self.resigned, self.drawn) = (false, false);
        self.greet()
    }

    /// Draws the board, and marks what the last turn changed and what can be taken.
    fn draw(&self) -> Result<()> {
        let (position, style) = (self.session.position(), self.terminal.style);
        let shown = position.show();
        let mut marks = Marks::default();
        if style.colour {
            marks.changed = before_last_turn(position).map_or_else(Default::default, |b| difference(&b, &shown));
            if !self.over() && position.mover() == self.person {
                marks.threatened = threatened(&*self.table, position);
            }
        }
        let board = BoardStyle::new(&self.table.info().roles, &self.table.start().show(), style);
        say(format!("\n{}", board.draw(&shown, &marks)))?;
        match marks.threatened.is_empty() {
            true => Ok(()),
            false => self.terminal.say(format!("{} could take what is underlined.", self.role(self.person.other()))),
        }
    }

    /// A move with an agent's view of the position, from the person's side.
    fn opinion(&self, c: &Choice) -> String {
        let (yours, line) = (percent(&c.value, self.person), &c.line[..c.line.len().min(6)]);
        let name = self.table.move_name(c.mv);
        format!("{name}   (your chances {yours:.0} %, expecting {})", self.names(line))
    }

    fn names(&self, moves: &[Move]) -> String {
        moves.iter().map(|&m| self.table.move_name(m)).collect::<Vec<_>>().join(" ")
    }

    fn moves(&self) -> String {
        match self.over() {
            true => "The game is over.".into(),
            false => format!("You can play: {}", self.names(&self.session.position().legal())),
        }
    }
}

/// An agent at a position.
fn session(table: &Arc<dyn Table>, spec: &Spec, seed: u64, position: Box<dyn Position>) -> Result<Session> {
    if table.info().players() != 2 {
        return Err(usage("play is for games of two"));
    }
    let mut session = Session::new(table.clone(), spec.clone(), seed).map_err(|e| agent_error(&**table, spec, &e))?;
    session.set(position)?;
    Ok(session)
}

/// What a saved game begins with.
pub fn setup(table: Arc<dyn Table>, saved: Saved, kept: Option<PathBuf>) -> Result<Setup> {
    let (position, person, seed) = (saved.position(&*table)?, saved.person(table.info())?, saved.seed()?);
    Ok(Setup { table, opponent: saved.opponent, position, person, seed, kept })
}

/// The level of an agent `level:N` or `level:N@PATH`, and the rest of its name.
fn level(spec: &Spec) -> Option<(&str, &str)> {
    let level = spec.name.strip_prefix("level:")?;
    Some(level.split_at(level.find('@').unwrap_or(level.len())))
}

/// The agent at the best of its levels; itself if it has none.
fn at_best(spec: &Spec) -> Spec {
    let mut best = spec.clone();
    if let Some((_, model)) = level(spec) {
        best.name = format!("level:best{model}");
    }
    best
}

/// The board before the moves with which one player ended the game so far; `None` if nothing was played.
fn before_last_turn(position: &dyn Position) -> Option<String> {
    let mut before = position.boxed_clone();
    let mut last = None;
    loop {
        let shown = before.boxed_clone();
        if !before.undo() {
            return last.map(|_: Player| shown.show());
        }
        if last.is_some_and(|p| p != before.mover()) {
            return Some(shown.show());
        }
        last = Some(before.mover());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_from_the_name_of_an_agent() {
        let read = |name: &str| level(&Spec::word(name)).map(|(l, m)| format!("{l} {m}"));
        assert_eq!(read("level:3").as_deref(), Some("3 "));
        assert_eq!(read("level:best@runs/x").as_deref(), Some("best @runs/x"));
        assert_eq!(read("uct"), None);
        let best = |name: &str| at_best(&Spec::word(name)).name;
        assert_eq!([best("level:3"), best("level:3@a b")], ["level:best", "level:best@a b"]);
        assert_eq!([best("level:best@x"), best("random")], ["level:best@x", "random"]);
    }

    #[test]
    fn the_last_turn_may_have_several_moves() {
        let table = ludex_play::open("dots:1x2").unwrap();
        let mut p = table.start();
        assert_eq!(before_last_turn(&*p), None);
        let mut shown = vec![p.show()];
        // The last edge of the box keeps the turn.
        for name in ["h0,0", "h1,0", "v0,0", "v0,1", "v1,0"] {
            p.play(table.parse_move(name).unwrap()).unwrap();
            shown.push(p.show());
        }
        assert_eq!(before_last_turn(&*p), Some(shown[3].clone()));
        p.undo();
        p.undo();
        assert_eq!(before_last_turn(&*p), Some(shown[2].clone()));
    }
}
