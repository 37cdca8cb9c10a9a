//! The messages between a match host and its players (Genesereth & Love 2005; Genesereth & Thielscher 2014, chapter 3).
//!
//! `( START id role (rules) startclock playclock )`, `( PLAY id (move ..) )` with `NIL` the first time, `( STOP id (move ..) )`,
//! `( ABORT id )`, `( INFO )`, `( PING )`, `( PREVIEW (rules) clock )`; keywords in any case. The newer notation writes the
//! keyword in front, `play(id,[mark(1,3),noop])`: there, a name right before a parenthesis is the head of what follows, and
//! lists stand in brackets. An opening parenthesis of its own begins the prefix notation again, as for the rules.
//!
//! The reader is iterative and bounds the nesting; whatever is wrong is one line.

/// A message to a player.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// Asks for our name and whether we are free.
    Info,
    /// Asks whether we are there.
    Ping,
    /// Begins a match.
    Start {
        /// The match.
        id: String,
        /// Our role.
        role: String,
        /// The rulesheet, exactly as it came.
        rules: String,
        /// Seconds until the first move is asked for.
        start: f64,
        /// Seconds for each move.
        play: f64,
    },
    /// Asks for a move after this joint move; none the first time.
    Play {
        /// The match.
        id: String,
        /// The move of each role.
        joint: Option<Vec<String>>,
    },
    /// Ends a match after this joint move.
    Stop {
        /// The match.
        id: String,
        /// The move of each role.
        joint: Option<Vec<String>>,
    },
    /// Calls a match off.
    Abort {
        /// The match.
        id: String,
    },
    /// Announces a game that may be played later.
    Preview {
        /// The rulesheet, exactly as it came.
        rules: String,
        /// Seconds to prepare for it.
        clock: f64,
    },
}

/// How a message was written, and so how its answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notation {
    /// `info()` instead of `( INFO )`.
    pub infix: bool,
    /// The keyword came in capitals.
    pub uppercase: bool,
}

impl Notation {
    /// A word of the protocol.
    pub fn word(&self, word: &str) -> String {
        if self.uppercase { word.to_uppercase() } else { word.to_string() }
    }

    /// A move that is known in prefix notation.
    pub fn term(&self, text: &str) -> String {
        match read(text) {
            Ok((terms, _)) if self.infix && terms.len() == 1 => terms[0].infix(),
            _ => text.to_string(),
        }
    }
}

/// The deepest nesting of parentheses; no rulesheet may have more.
const MAX_DEPTH: usize = 220;

/// The longest clock in seconds: a day. Longer ones count as this.
const MAX_CLOCK: f64 = 86_400.0;

/// A name, or a list with its place in the text.
#[derive(Debug)]
enum Term<'a> {
    Name(&'a str),
    List(Vec<Term<'a>>, std::ops::Range<usize>),
}

impl Term<'_> {
    fn prefix(&self) -> String {
        match self {
            Term::Name(name) => name.to_string(),
            Term::List(list, _) => format!("({})", list.iter().map(Term::prefix).collect::<Vec<_>>().join(" ")),
        }
    }

    fn infix(&self) -> String {
        match self {
            Term::Name(name) => name.to_string(),
            Term::List(list, _) => match list.split_first() {
                Some((head @ Term::Name(_), rest)) => {
                    format!("{}({})", head.infix(), rest.iter().map(Term::infix).collect::<Vec<_>>().join(","))
                }
                _ => format!("[{}]", list.iter().map(Term::infix).collect::<Vec<_>>().join(",")),
            },
        }
    }
}

/// A list whose end has not come yet.
struct OpenList<'a> {
    close: char,
    infix: bool,
    start: usize,
    items: Vec<Term<'a>>,
}

/// All terms of a text, and whether it is in infix notation.
fn read(text: &str) -> Result<(Vec<Term<'_>>, bool), String> {
    let text_infix = text.trim_start().starts_with(|c| c != '(' && c != ';');
    let mut open: Vec<OpenList> = vec![OpenList { close: '\0', infix: text_infix, start: 0, items: Vec::new() }];
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let depth = open.len();
        let innermost = open.last_mut().ok_or("nothing is open")?;
        match c {
            ';' => while chars.next_if(|&(_, c)| c != '\n').is_some() {},
            ',' if innermost.infix => {}
            c if c.is_whitespace() || c == '\u{feff}' => {}
            '(' | '[' if depth > MAX_DEPTH => {
                return Err(format!("more than {MAX_DEPTH} parentheses inside one another ({at})"));
            }
            '(' => open.push(OpenList { close: ')', infix: false, start: at, items: Vec::new() }),
            '[' if innermost.infix => open.push(OpenList { close: ']', infix: true, start: at, items: Vec::new() }),
            c if c == ')' || (c == ']' && innermost.infix) => {
                if innermost.close != c {
                    return Err(format!("\"{c}\" closes nothing (byte {at})"));
                }
                let Some(OpenList { start, items, .. }) = open.pop() else { return Err("nothing is open".into()) };
                let list = Term::List(items, start..at + 1);
                open.last_mut().ok_or("nothing is open")?.items.push(list);
            }
            _ => {
                let infix = innermost.infix;
                let plain = |c: char| !(c.is_whitespace() || "();".contains(c) || infix && "[],".contains(c));
                let mut end = at + c.len_utf8();
                while let Some((i, c)) = chars.next_if(|&(_, c)| plain(c)) {
                    end = i + c.len_utf8();
                }
                let name = Term::Name(&text[at..end]);
                match infix && chars.next_if(|&(_, c)| c == '(').is_some() {
                    true if depth > MAX_DEPTH => {
                        return Err(format!("more than {MAX_DEPTH} parentheses inside one another ({at})"));
                    }
                    true => open.push(OpenList { close: ')', infix: true, start: at, items: vec![name] }),
                    false => innermost.items.push(name),
                }
            }
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(innermost), true) => Ok((innermost.items, text_infix)),
        (Some(innermost), false) => Err(format!("\"(\" at byte {} is never closed", innermost.start)),
        (None, _) => Err("nothing is open".into()),
    }
}

impl Message {
    /// Reads a message, and how it was written.
    pub fn read(text: &str) -> Result<(Message, Notation), String> {
        let (mut terms, infix) = read(text)?;
        let items = match (terms.len(), terms.pop()) {
            (1, Some(Term::List(items, _))) => items,
            (1, Some(name)) => vec![name],
            (0, _) => return Err("the message is empty".into()),
            _ => return Err("a message is one expression".into()),
        };
        let Some((Term::Name(verb), rest)) = items.split_first() else {
            return Err("a message begins with its keyword".into());
        };
        let notation = Notation { infix, uppercase: verb.chars().any(|c| c.is_ascii_uppercase()) };
        let verb = verb.to_ascii_lowercase();
        let message = match (verb.as_str(), rest) {
            ("info", _) => Message::Info,
            ("ping", _) => Message::Ping,
            ("start", [Term::Name(id), role, rules, start, play]) => Message::Start {
                id: id.to_string(),
                role: role.prefix(),
                rules: rulesheet(text, rules)?,
                start: clock(start)?,
                play: clock(play)?,
            },
            ("play", [Term::Name(id), joint]) => Message::Play { id: id.to_string(), joint: joint_move(joint) },
            ("stop", [Term::Name(id), joint]) => Message::Stop { id: id.to_string(), joint: joint_move(joint) },
            ("stop", [Term::Name(id)]) => Message::Stop { id: id.to_string(), joint: None },
            ("abort", [Term::Name(id)]) => Message::Abort { id: id.to_string() },
            ("preview", [rules, clock_]) => Message::Preview { rules: rulesheet(text, rules)?, clock: clock(clock_)? },
            ("start" | "play" | "stop" | "abort" | "preview", _) => {
                return Err(format!("{verb} does not take these {} arguments", rest.len()));
            }
            _ => return Err("the keyword is none of info, ping, start, play, stop, abort, preview".into()),
        };
        Ok((message, notation))
    }
}

fn rulesheet(text: &str, term: &Term<'_>) -> Result<String, String> {
    match term {
        Term::List(_, place) if text[place.clone()].starts_with('(') => Ok(text[place.clone()].to_string()),
        Term::List(..) => Ok(term.prefix()),
        Term::Name(_) => Err("the rules are not a list".into()),
    }
}

fn clock(term: &Term<'_>) -> Result<f64, String> {
    let Term::Name(text) = term else { return Err("a clock is a number of seconds".into()) };
    let seconds: Option<f64> = text.parse().ok();
    seconds.filter(|s| *s >= 0.0).map(|s| s.min(MAX_CLOCK)).ok_or("a clock is a number of seconds".into())
}

/// A joint move; `NIL` or an empty list is none.
fn joint_move(term: &Term<'_>) -> Option<Vec<String>> {
    match term {
        Term::Name(name) if name.eq_ignore_ascii_case("nil") => None,
        Term::Name(_) => Some(vec![term.prefix()]),
        Term::List(list, _) if list.is_empty() => None,
        Term::List(list, _) => Some(list.iter().map(Term::prefix).collect()),
    }
}

/// A joint move as a host sends it.
pub fn joint_text(joint: Option<&[String]>) -> String {
    joint.map_or("NIL".into(), |moves| format!("( {} )", moves.join(" ")))
}

/// A rulesheet on one line and without comments, because some players can read nothing else.
pub fn one_line(rules: &str) -> String {
    let code = rules.lines().map(|line| line.split(';').next().unwrap_or_default());
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Tells when a message whose length was not announced is complete: when all its parentheses are closed.
#[derive(Default)]
pub struct ParenBalance {
    depth: usize,
    opened: bool,
    comment: bool,
}

impl ParenBalance {
    /// Reads the next bytes, and tells whether the message is complete with them.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        for &b in bytes {
            match b {
                b'\n' => self.comment = false,
                _ if self.comment => {}
                b';' => self.comment = true,
                b'(' | b'[' => {
                    self.depth += 1;
                    self.opened = true;
                }
                b')' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.complete()
    }

    /// Whether all that was opened is closed.
    pub fn complete(&self) -> bool {
        self.opened && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::read(text).unwrap().0
    }

    fn strings(list: &[&str]) -> Option<Vec<String>> {
        Some(list.iter().map(|s| s.to_string()).collect())
    }

    #[test]
    fn the_messages_of_the_standard_server_are_read() {
        let start = "( START match.1 xplayer (( role xplayer ) (role oplayer)\n;c )\n (<= terminal (true x))) 3 30)";
        let Message::Start { id, role, rules, start, play } = message(start) else { panic!() };
        assert_eq!((id.as_str(), role.as_str(), start, play), ("match.1", "xplayer", 3.0, 30.0));
        assert_eq!(rules, "(( role xplayer ) (role oplayer)\n;c )\n (<= terminal (true x)))");
        assert_eq!(message("( PLAY match.1 NIL )"), Message::Play { id: "match.1".into(), joint: None });
        assert_eq!(message("(play match.1 nil)"), Message::Play { id: "match.1".into(), joint: None });
        let joint = strings(&["(mark 1 3)", "noop"]);
        assert_eq!(message("( PLAY match.1 (( mark 1 3 ) noop ) )"), Message::Play { id: "match.1".into(), joint });
        let joint = strings(&["(Mark 2 (F 3))", "Noop"]);
        assert_eq!(message("( Stop match.1 ((Mark 2 (F 3))Noop))"), Message::Stop { id: "match.1".into(), joint });
        assert_eq!(message("( ABORT match.1 )"), Message::Abort { id: "match.1".into() });
        assert_eq!(message("( INFO )"), Message::Info);
        assert_eq!(message("(ping)"), Message::Ping);
        assert_eq!(message("(PREVIEW ((role x)) 5)"), Message::Preview { rules: "((role x))".into(), clock: 5.0 });
    }

    #[test]
    fn the_newer_notation_means_the_same() {
        assert_eq!(message("info()"), Message::Info);
        assert_eq!(message(" ping ( ) ".replace(" ( ", "(").trim()), Message::Ping);
        let joint = strings(&["(mark 1 (f 3))", "noop"]);
        assert_eq!(message("play(m.1, [mark(1,f(3)), noop])"), Message::Play { id: "m.1".into(), joint });
        assert_eq!(message("play(m.1,nil)"), Message::Play { id: "m.1".into(), joint: None });
        let Message::Start { rules, role, .. } = message("start(m.1,x,((role x)(<= terminal(true (a,b 1)))),3,3)")
        else {
            panic!()
        };
        assert_eq!((rules.as_str(), role.as_str()), ("((role x)(<= terminal(true (a,b 1))))", "x"));
        let (_, notation) = Message::read("INFO()").unwrap();
        assert_eq!((notation.term("(mark 1 (f 3))"), notation.term("noop")), ("mark(1,f(3))".into(), "noop".into()));
        assert_eq!(notation.word("ready"), "READY");
    }

    #[test]
    fn nonsense_is_one_line_and_never_a_panic() {
        let deep = "(".repeat(100_000);
        let deep_infix = "f(".repeat(100_000);
        for bad in [
            "",
            "   ",
            ")",
            "(",
            "((",
            "]",
            "(a]",
            "()",
            "(())",
            "hello",
            "(HELLO)",
            "( START )",
            "(play x)",
            "(play (x) nil)",
            "(START m x rules 3 3)",
            "(START m x ((role x)) -1 3)",
            "(START m x ((role x)) nan 3)",
            "info() info()",
            "\u{0}",
            &deep,
            &deep_infix,
        ] {
            let line = Message::read(bad).unwrap_err();
            assert!(!line.is_empty() && !line.contains('\n'), "{line}");
        }
        let mut rng = ludex_core::Rng::new(5);
        let pieces = ["(", ")", "[", "]", ",", " ", "START", "play", "nil", "é", ";", "\n", "1", "-", "m.1", "info"];
        for _ in 0..20_000 {
            let text: String = (0..rng.below(20)).map(|_| *rng.pick(&pieces).unwrap()).collect();
            let _ = Message::read(&text);
        }
    }

    #[test]
    fn a_message_is_complete_when_all_is_closed() {
        let mut b = ParenBalance::default();
        assert!(!b.feed(b"  ( PLAY m ((mark 1"));
        assert!(!b.feed(b" ;)))\n 3) noop) "));
        assert!(b.feed(b")"));
    }
}
