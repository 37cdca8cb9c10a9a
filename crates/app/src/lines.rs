//! Lines of input: read in a thread of its own, so that a search can be stopped when the next one arrives, and bounded, so that
//! no line can exhaust memory.

use ludex_play::Stop;
use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Longer lines are refused: no command needs them.
pub const LONGEST_LINE: usize = 1 << 20;

/// Lines that are read before they are asked for; then the reader waits.
const WAITING_LINES: usize = 64;

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Its text without its end; bytes that are no UTF-8 are replaced.
    Text(String),
    /// It was longer than [`LONGEST_LINE`] and has been skipped.
    TooLong,
}

/// Reads a line; `None` at the end of the input. What is beyond [`LONGEST_LINE`] is not kept.
pub fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let bytes = match input.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = bytes.iter().position(|&b| b == b'\n');
        let (part, read) = (&bytes[..end.unwrap_or(bytes.len())], end.map_or(bytes.len(), |end| end + 1));
        length += part.len();
        if length <= LONGEST_LINE {
            line.extend_from_slice(part);
        }
        input.consume(read);
        if end.is_none() && read > 0 {
            continue;
        }
        return Ok(match (length > LONGEST_LINE, end.is_none() && length == 0) {
            (true, _) => Some(Line::TooLong),
            (_, true) => None,
            _ => Some(Line::Text(String::from_utf8_lossy(&line).into_owned())),
        });
    }
}

/// Lines that have arrived and were not asked for yet.
#[derive(Default)]
pub struct Inbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<io::Result<Line>>,
    ended: bool,
    /// Raised when the next line arrives.
    stop: Option<Stop>,
}

impl Inbox {
    /// Begins to read in a thread of its own.
    pub fn open(mut input: impl BufRead + Send + 'static) -> io::Result<Arc<Inbox>> {
        let inbox = Arc::new(Inbox::default());
        let filled = inbox.clone();
        let read = move || {
            while let Some(line) = read_line(&mut input).transpose() {
                let failed = line.is_err();
                filled.put(line);
                if failed {
                    break;
                }
            }
            filled.end();
        };
        std::thread::Builder::new().name("input".into()).spawn(read)?;
        Ok(inbox)
    }

    /// An input that has ended.
    pub fn ended() -> Arc<Inbox> {
        let inbox = Inbox::default();
        inbox.end();
        Arc::new(inbox)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: io::Result<Line>) {
        let full = |q: &mut Queue| q.lines.len() >= WAITING_LINES;
        let mut queue = self.changed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        queue.lines.push_back(line);
        self.tell(queue);
    }

    fn end(&self) {
        let mut queue = self.lock();
        queue.ended = true;
        self.tell(queue);
    }

    fn tell(&self, mut queue: MutexGuard<'_, Queue>) {
        if let Some(stop) = queue.stop.take() {
            stop.raise();
        }
        self.changed.notify_all();
    }

    /// Waits for the next line; `None` at the end of the input.
    pub fn next(&self) -> io::Result<Option<Line>> {
        let empty = |q: &mut Queue| q.lines.is_empty() && !q.ended;
        let mut queue = self.changed.wait_while(self.lock(), empty).unwrap_or_else(PoisonError::into_inner);
        let line = queue.lines.pop_front();
        self.changed.notify_all();
        line.transpose()
    }

    /// A stop that is raised as soon as there is a line to read, or the input has ended.
    pub fn stop_at_next(&self) -> Stop {
        let stop = Stop::new();
        let mut queue = self.lock();
        match queue.lines.is_empty() && !queue.ended {
            true => queue.stop = Some(stop.clone()),
            false => stop.raise(),
        }
        stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn all(input: &[u8]) -> Vec<Line> {
        let mut input = BufReader::with_capacity(7, input);
        std::iter::from_fn(|| read_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_are_read_whole_whatever_their_end() {
        let text = |t: &str| Line::Text(t.into());
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\n\n"), [text(""), text("")]);
        assert_eq!(all(b"a long first line\nlast"), [text("a long first line"), text("last")]);
        assert_eq!(all(b"a\xffb\n"), [text("a\u{fffd}b")]);
    }

    #[test]
    fn a_long_line_is_skipped_and_not_kept() {
        let longest = vec![b'a'; LONGEST_LINE];
        let lines = all(&[&longest[..], b"\n", &longest, b"a\nb\n"].concat());
        assert!(matches!(&lines[..], [Line::Text(_), Line::TooLong, Line::Text(b)] if b == "b"));
        // Sixteen times the bound, without an end of line.
        let mut endless = BufReader::new(io::repeat(b'a').take(16 * LONGEST_LINE as u64));
        assert_eq!(read_line(&mut endless).unwrap(), Some(Line::TooLong));
        assert_eq!(read_line(&mut endless).unwrap(), None);
    }

    #[test]
    fn a_stop_is_raised_by_the_next_line_or_the_end() {
        let inbox = Inbox::default();
        let stop = inbox.stop_at_next();
        assert!(!stop.raised());
        inbox.put(Ok(Line::TooLong));
        assert!(stop.raised() && inbox.stop_at_next().raised());
        assert_eq!(inbox.next().unwrap(), Some(Line::TooLong));
        let stop = inbox.stop_at_next();
        assert!(!stop.raised());
        inbox.end();
        assert!(stop.raised() && inbox.stop_at_next().raised());
        assert_eq!(inbox.next().unwrap(), None);
    }

    #[test]
    fn more_lines_than_wait_are_all_read() {
        let text: String = (0..10 * WAITING_LINES).map(|i| format!("{i}\n")).collect();
        let inbox = Inbox::open(io::Cursor::new(text)).unwrap();
        for i in 0..10 * WAITING_LINES {
            assert_eq!(inbox.next().unwrap(), Some(Line::Text(i.to_string())));
        }
        assert_eq!(inbox.next().unwrap(), None);
    }
}
