//! A game of one's own: add 1, 2 or 3 in turn, and whoever reaches 21 wins. Its laws are checked, then a search plays it.

use ludex_core::{Fact, Game, GameInfo, Limit, Move, Payoffs, Player, Rng, Search, TextError, laws};
use ludex_search::Mcts;

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
        let read =
            text.replace("start", "0 0").split_once(' ').and_then(|(t, p)| Some((t.parse().ok()?, p.parse().ok()?)));
        read.filter(|&(t, p)| t <= 21 && p < 2)
            .map(|(t, p)| (t, Player(p)))
            .ok_or(TextError::new("expected e.g. \"7 0\""))
    }
}

fn main() {
    let game = TwentyOne(GameInfo::two_player("twentyone", "Race to 21", 3, 24));
    laws::check(&game, &laws::Effort::default()).expect("every game keeps the laws");
    let choice = Mcts::uct(&game, 1.4).search(&game, &(6, Player(0)), &Limit::simulations(5_000), &mut Rng::new(1));
    println!("with 6 on the table play {} (9, 13, 17 and 21 win)", game.move_name(choice.mv));
}
