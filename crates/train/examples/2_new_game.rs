//! A game of one's own: add 1, 2 or 3 in turn, and whoever reaches 21 wins. Its laws are checked, then it is played.

use ludex_core::{Fact, Game, GameInfo, Move, Payoffs, Player, TextError, laws};
use ludex_play::{Control, TableBuilder, play_match};

struct TwentyOne(GameInfo);

impl Game for TwentyOne {
    type State = (u32, Player);
    fn info(&self) -> &GameInfo {
        &self.0
    }
    fn initial(&self) -> Self::State {
        (0, Player(0))
    }
    fn mover(&self, s: &Self::State) -> Player {
        s.1
    }
    fn legal(&self, s: &Self::State, out: &mut Vec<Move>) {
        out.clear();
        out.extend((0..(21 - s.0).min(3)).map(Move));
    }
    fn play(&self, s: &mut Self::State, m: Move) {
        *s = (s.0 + m.0 + 1, s.1.other());
    }
    fn outcome(&self, s: &Self::State) -> Option<Payoffs> {
        (s.0 == 21).then(|| Payoffs::win(s.1.other()))
    }
    fn facts(&self, s: &Self::State, out: &mut Vec<Fact>) {
        *out = vec![Fact(s.0), Fact(22 + s.1.0 as u32)];
    }
    fn move_name(&self, m: Move) -> String {
        format!("+{}", m.0 + 1)
    }
    fn fact_name(&self, f: Fact) -> String {
        if f.0 < 22 { format!("(total {})", f.0) } else { format!("(control {})", ["x", "o"][f.index() - 22]) }
    }
    fn position(&self, s: &Self::State) -> String {
        format!("{} {}", s.0, s.1.0)
    }
    fn parse_position(&self, text: &str) -> Result<Self::State, TextError> {
        let words = text.replace("start", "0 0");
        let read = words.split_once(' ').and_then(|(t, p)| Some((t.parse().ok()?, Player(p.parse().ok()?))));
        read.filter(|(t, p)| *t <= 21 && p.0 < 2).ok_or(TextError::new("expected e.g. \"7 0\""))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut game = TwentyOne(GameInfo::two_player("twentyone", "Race to 21", 3, 24));
    game.0 = game.0.clone().sealed(&game); // names the rules, so that models learned for others are refused
    laws::check(&game, &laws::Effort::default())?;
    let table = TableBuilder::new(game).build();
    let mut agents = [table.agent(&"uct(sims=5000)".parse()?, 1)?, table.agent(&"random".parse()?, 2)?];
    let episode = play_match(&*table, &*table.start(), &mut agents, &Control::default(), &mut |view| {
        println!("{:>4} plays {}", view.position.text(), table.move_name(view.ply.choice.mv));
    });
    println!("payoffs {} (whoever comes to 1, 5, 9, 13 or 17 wins)", episode.outcome);
    Ok(())
}
