//! Parses the Knowledge Interchange Format: text into nested lists, each with its place in the text.
//!
//! Lists are `(head arg ..)`, names are separated by white space, and `;` starts a comment to the end of the line. The parser
//! is iterative and limits the nesting, so that code that walks the lists may recurse. It does not know the language: which
//! names are keywords or variables is for [`crate::rulesheet`].

use crate::error::{Error, ErrorKind, Place};

/// The deepest nesting that is accepted.
pub(crate) const MAX_DEPTH: usize = 200;

/// A name or a list of expressions, with its place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expr<'a> {
    pub at: Place,
    pub kind: ExprKind<'a>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ExprKind<'a> {
    Name(&'a str),
    List(Vec<Expr<'a>>),
}

/// Parses all expressions of a text, in order.
pub(crate) fn read(text: &str) -> Result<Vec<Expr<'_>>, Error> {
    let mut open: Vec<(Place, Vec<Expr>)> = Vec::new();
    let mut done = Vec::new();
    let mut at = Place { line: 1, column: 0 };
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        at.column += 1;
        match c {
            '\n' => at = Place { line: at.line + 1, column: 0 },
            '\u{feff}' => {}
            c if c.is_whitespace() => {}
            ';' => while chars.next_if(|&(_, c)| c != '\n').is_some() {},
            '(' => {
                if open.len() == MAX_DEPTH {
                    return Err(ErrorKind::TooDeep(MAX_DEPTH).at(at));
                }
                open.push((at, Vec::new()));
            }
            ')' => {
                let (at, list) = open.pop().ok_or_else(|| ErrorKind::Unopened.at(at))?;
                open.last_mut().map_or(&mut done, |o| &mut o.1).push(Expr { at, kind: ExprKind::List(list) });
            }
            _ => {
                let place = at;
                let mut end = start + c.len_utf8();
                let in_name = |c: char| !c.is_whitespace() && !matches!(c, '(' | ')' | ';');
                while let Some((i, c)) = chars.next_if(|&(_, c)| in_name(c)) {
                    end = i + c.len_utf8();
                    at.column += 1;
                }
                let name = Expr { at: place, kind: ExprKind::Name(&text[start..end]) };
                open.last_mut().map_or(&mut done, |o| &mut o.1).push(name);
            }
        }
    }
    match open.pop() {
        Some((at, _)) => Err(ErrorKind::Unclosed.at(at)),
        None => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(e: &Expr) -> String {
        match &e.kind {
            ExprKind::Name(n) => n.to_string(),
            ExprKind::List(l) => format!("({})", l.iter().map(write).collect::<Vec<_>>().join(" ")),
        }
    }

    #[test]
    fn comments_and_white_space_separate_and_mean_nothing() {
        let text = "\u{feff}(role\tx);a (comment\n;; another\n(<= terminal;c\n (true(step 5)) )open";
        let read: Vec<String> = read(text).unwrap().iter().map(write).collect();
        assert_eq!(read, ["(role x)", "(<= terminal (true (step 5)))", "open"]);
    }

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let exprs = read("; é\n  (a\n   ö (b))").unwrap();
        assert_eq!(exprs[0].at, Place { line: 2, column: 3 });
        let ExprKind::List(list) = &exprs[0].kind else { panic!() };
        assert_eq!(list[1].at, Place { line: 3, column: 4 });
        assert_eq!(list[2].at, Place { line: 3, column: 6 });
    }

    #[test]
    fn unbalanced_and_bottomless_texts_are_refused_with_the_place() {
        let kind = |text: &str| read(text).unwrap_err();
        assert_eq!(kind("(a\n ) )"), ErrorKind::Unopened.at(Place { line: 2, column: 4 }));
        assert_eq!(kind("(a\n (b)"), ErrorKind::Unclosed.at(Place { line: 1, column: 1 }));
        assert_eq!(kind(&"(".repeat(10_000)).kind, ErrorKind::TooDeep(MAX_DEPTH));
    }
}
