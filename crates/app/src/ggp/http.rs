//! The part of HTTP that the protocol needs: one message a connection, from clients that may not announce its length, send it
//! in the address of a GET, or never finish.
//!
//! A message is read until as many bytes came as were announced, or until its parentheses are closed, or until the sender
//! ends or falls silent. Everything is bounded: bytes of head and body, the time for both, and the number of connections that
//! are still being read. One more connection closes the oldest, so that slow senders cannot keep a host's message out.

use super::lock;
use super::message::ParenBalance;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most bytes of a body; a rulesheet may have four million.
pub const MAX_BODY: usize = 5 << 20;
/// The most bytes of a head.
const MAX_HEAD: usize = 64 << 10;
/// The time in which a whole message must come.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// A sender that did not announce a length and is silent for so long has sent everything.
const IDLE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The same for a sender that announced more than has come, though all parentheses are closed.
const CLOSED_IDLE_TIMEOUT: Duration = Duration::from_millis(300);
/// The most connections that are read at the same time.
const MAX_UNREAD: usize = 64;

/// A connection to a sender.
pub trait Connection {
    /// Reads some bytes, 0 at the end; an error of kind `TimedOut` if none came in time.
    fn read_some(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sends an interim response.
    fn write_interim(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Connection for &TcpStream {
    fn read_some(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if timeout.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.set_read_timeout(Some(timeout.max(Duration::from_millis(1))))?;
        loop {
            match io::Read::read(self, buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
                result => return result,
            }
        }
    }

    fn write_interim(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }
}

/// A request, without the headers.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, `OPTIONS` ..
    pub method: String,
    /// The message: the body, or what the address of a GET holds.
    pub message: String,
}

/// Why a request is refused: an HTTP status and a line.
#[derive(Debug, PartialEq, Eq)]
pub struct HttpError(pub u16, pub &'static str);

/// Reads from a connection, with a deadline.
struct ByteReader<'a, S> {
    connection: &'a mut S,
    /// Bytes that have come and were not taken yet.
    bytes: Vec<u8>,
    /// When everything must have come.
    deadline: Instant,
    /// How long a sender may be silent in the middle of a line, a chunk or an announced body.
    idle_timeout: Duration,
}

impl<S: Connection> ByteReader<'_, S> {
    /// Waits for more bytes; `false` if none came within `idle_timeout`, or the sender has ended.
    fn more(&mut self, idle_timeout: Duration) -> Result<bool, HttpError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut buffer = [0; 16 << 10];
        match self.connection.read_some(&mut buffer, idle_timeout.min(left)) {
            Ok(n) => {
                self.bytes.extend_from_slice(&buffer[..n]);
                Ok(n > 0)
            }
            Err(e) if e.kind() == io::ErrorKind::TimedOut && left > idle_timeout => Ok(false),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => Err(HttpError(408, "the message did not come in time")),
            Err(_) => Err(HttpError(400, "the connection was lost")),
        }
    }

    /// Takes a line without its end.
    fn line(&mut self) -> Result<String, HttpError> {
        let mut seen = 0;
        loop {
            if let Some(n) = self.bytes[seen..].iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..seen + n + 1).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_string());
            }
            seen = self.bytes.len();
            if seen > MAX_HEAD {
                return Err(HttpError(431, "the head is too long"));
            }
            if !self.more(self.idle_timeout)? {
                return Err(HttpError(400, "the head is not complete"));
            }
        }
    }

    /// Takes so many bytes, or fewer if no more come although the message is complete.
    fn exactly(&mut self, length: usize) -> Result<Vec<u8>, HttpError> {
        let mut balance = ParenBalance::default();
        let mut complete = balance.feed(&self.bytes);
        while self.bytes.len() < length {
            let before = self.bytes.len();
            if !self.more(if complete { CLOSED_IDLE_TIMEOUT } else { self.idle_timeout })? {
                break;
            }
            complete = balance.feed(&self.bytes[before..]);
        }
        self.bytes.truncate(length);
        Ok(std::mem::take(&mut self.bytes))
    }

    /// Takes bytes until the message is complete.
    fn balanced(&mut self, idle_timeout: Duration) -> Result<Vec<u8>, HttpError> {
        let mut balance = ParenBalance::default();
        let mut complete = balance.feed(&self.bytes);
        while !complete && self.bytes.len() <= MAX_BODY {
            let before = self.bytes.len();
            if !self.more(idle_timeout)? {
                break;
            }
            complete = balance.feed(&self.bytes[before..]);
        }
        if self.bytes.len() > MAX_BODY {
            return Err(HttpError(413, "the message is too long"));
        }
        Ok(std::mem::take(&mut self.bytes))
    }

    /// Takes chunks, each announced by a line with its length in hexadecimal.
    fn chunks(&mut self) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16).map_err(|_| HttpError(400, "a chunk has no length"))?;
            if length > MAX_BODY - body.len() {
                return Err(HttpError(413, "the message is too long"));
            }
            while self.bytes.len() < length + usize::from(length > 0) {
                if !self.more(self.idle_timeout)? {
                    return Err(HttpError(400, "a chunk is not complete"));
                }
            }
            if length == 0 {
                return Ok(body);
            }
            body.extend(self.bytes.drain(..length));
            self.line()?;
        }
    }
}

/// Reads a request.
pub fn read_request(connection: &mut impl Connection, deadline: Instant) -> Result<Request, HttpError> {
    let mut reader = ByteReader { connection, bytes: Vec::new(), deadline, idle_timeout: MESSAGE_TIMEOUT };
    let mut first = reader.line()?;
    if first.is_empty() {
        first = reader.line()?;
    }
    let mut words = first.split_ascii_whitespace();
    let method = words.next().unwrap_or_default().to_ascii_uppercase();
    if method.is_empty() || method.len() > 16 || !method.bytes().all(|b| b.is_ascii_alphabetic()) {
        return Err(HttpError(400, "this is not HTTP"));
    }
    let target = first[method.len().min(first.len())..].trim();
    let target = target.rsplit_once(" HTTP/").map_or(target, |(t, _)| t).trim();
    let (mut length, mut chunked, mut head) = (None, false, first.len());
    loop {
        let line = reader.line()?;
        head += line.len();
        if head > MAX_HEAD {
            return Err(HttpError(431, "the head is too long"));
        }
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "content-length" => {
                length = Some(value.parse::<u64>().map_err(|_| HttpError(400, "Content-Length is not a number"))?)
            }
            "transfer-encoding" => chunked = value.to_ascii_lowercase().contains("chunked"),
            "expect" => {
                let _ = reader.connection.write_interim(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            _ => {}
        }
    }
    let asked = decode(target.trim_start_matches('/'));
    let asked =
        asked.split_once('=').filter(|(key, _)| key.starts_with('?')).map_or(asked.as_str(), |(_, value)| value);
    let body = match length {
        _ if method == "OPTIONS" || method == "HEAD" => Vec::new(),
        _ if chunked => reader.chunks()?,
        Some(n) if n > MAX_BODY as u64 => return Err(HttpError(413, "the message is too long")),
        Some(n) => reader.exactly(n as usize)?,
        None if method != "GET" => reader.balanced(IDLE_TIMEOUT)?,
        None if asked.is_empty() => reader.balanced(CLOSED_IDLE_TIMEOUT)?,
        None => Vec::new(),
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    let message = if body.trim().is_empty() && method == "GET" { asked.to_string() } else { body };
    Ok(Request { method, message })
}

/// Decodes the percent-encoding of an address.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).and_then(|&b| (b as char).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        match (bytes[i], digit(i + 1), digit(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                i += 2;
            }
            (b'+', ..) => out.push(b' '),
            (b, ..) => out.push(b),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A response, with headers that allow scripts on web pages to ask.
pub fn response(status: u16, body: &str) -> String {
    let reason = match status {
        200 => "OK",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Bad Request",
    };
    format!(
        "HTTP/1.0 {status} {reason}\r\nContent-Type: text/acl\r\nContent-Length: {}\r\nAccess-Control-Allow-Origin: *\r\n\
        Access-Control-Allow-Methods: POST, GET, OPTIONS\r\nAccess-Control-Allow-Headers: Content-Type, Sender, Receiver\r\n\
        Access-Control-Max-Age: 86400\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Connections that are still being read, oldest first.
type Unread = Arc<Mutex<VecDeque<(u64, TcpStream)>>>;

/// Answers requests for ever, each on a thread of its own. The answer gets the moment at which the connection was made.
pub fn serve(listener: &TcpListener, answer: impl Fn(Request, Instant) -> (u16, String) + Send + Sync + 'static) {
    let answer = Arc::new(answer);
    let unread: Unread = Unread::default();
    for number in 0.. {
        let Ok((stream, _)) = listener.accept() else {
            // Most likely the process is out of descriptors: some will be free soon.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let arrived = Instant::now();
        if let Ok(copy) = stream.try_clone() {
            let mut list = lock(&unread);
            list.push_back((number, copy));
            if list.len() > MAX_UNREAD
                && let Some((_, oldest)) = list.pop_front()
            {
                let _ = oldest.shutdown(Shutdown::Both);
            }
        }
        let (answer, unread) = (answer.clone(), unread.clone());
        let handle = move || {
            let request = read_request(&mut &stream, arrived + MESSAGE_TIMEOUT);
            lock(&unread).retain(|(n, _)| *n != number);
            let (status, body) = match request {
                Ok(request) if request.method == "OPTIONS" || request.method == "HEAD" => (200, String::new()),
                Ok(request) => answer(request, arrived),
                Err(HttpError(status, line)) => (status, line.to_string()),
            };
            close(&stream, &response(status, &body));
        };
        // Without a thread the connection is simply closed.
        let _ = std::thread::Builder::new().name("message".into()).spawn(handle);
    }
}

/// Sends a response and closes the connection. What the sender still sends is read for a moment, because closing a connection
/// with unread bytes may destroy the answer on its way.
fn close(mut stream: &TcpStream, response: &str) {
    let _ = stream.set_write_timeout(Some(Duration::from_secs(2)));
    let _ = stream.set_nodelay(true);
    if stream.write_all(response.as_bytes()).is_err() || stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let until = Instant::now() + Duration::from_millis(500);
    let mut buffer = [0; 16 << 10];
    while let Ok(n) = stream.read_some(&mut buffer, until.saturating_duration_since(Instant::now())) {
        if n == 0 {
            break;
        }
    }
}

/// Why a message got no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The deadline has passed.
    TimedOut,
    /// There was no connection, or it broke.
    Broken(String),
}

/// Sends a message to a player as the standard server does, and gives its answer.
pub fn ask(address: &str, message: &str, deadline: Instant) -> Result<String, NoAnswer> {
    let broken = |e: io::Error| match e.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => NoAnswer::TimedOut,
        _ => NoAnswer::Broken(e.to_string()),
    };
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let mut stream = Err(io::Error::other("the name has no address"));
    for address in address.to_socket_addrs().map_err(broken)? {
        stream = TcpStream::connect_timeout(&address, left());
        if stream.is_ok() {
            break;
        }
    }
    let stream = stream.map_err(broken)?;
    let request = format!(
        "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: {address}\r\nSender: GAMESERVER\r\nReceiver: PLAYER\r\n\
        Content-Type: text/acl\r\nContent-Length: {}\r\n\r\n{message}",
        message.len()
    );
    let _ = stream.set_nodelay(true);
    stream.set_write_timeout(Some(left())).map_err(broken)?;
    (&stream).write_all(request.as_bytes()).map_err(broken)?;
    let mut reader = ByteReader { connection: &mut &stream, bytes: Vec::new(), deadline, idle_timeout: Duration::MAX };
    let lost = |HttpError(status, line): HttpError| match status {
        408 => NoAnswer::TimedOut,
        _ => NoAnswer::Broken(line.into()),
    };
    let mut length = None;
    if !reader.line().map_err(lost)?.starts_with("HTTP/") {
        return Err(NoAnswer::Broken("the answer is not HTTP".into()));
    }
    loop {
        let line = reader.line().map_err(lost)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    while reader.bytes.len() < length.unwrap_or(MAX_BODY).min(MAX_BODY) && reader.more(Duration::MAX).map_err(lost)? {}
    reader.bytes.truncate(length.unwrap_or(MAX_BODY));
    Ok(String::from_utf8_lossy(&reader.bytes).trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in pieces, then silence or the end.
    struct Script(VecDeque<Vec<u8>>, bool);

    impl Connection for Script {
        fn read_some(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
            match self.0.pop_front() {
                Some(piece) => {
                    buffer[..piece.len()].copy_from_slice(&piece);
                    Ok(piece.len())
                }
                None if self.1 => Ok(0),
                None => Err(io::ErrorKind::TimedOut.into()),
            }
        }

        fn write_interim(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
    }

    fn request(pieces: &[&str], ends: bool) -> Result<Request, HttpError> {
        let pieces = pieces.iter().map(|p| p.as_bytes().to_vec()).collect();
        read_request(&mut Script(pieces, ends), Instant::now() + Duration::from_secs(60))
    }

    fn message(pieces: &[&str]) -> String {
        request(pieces, false).unwrap().message
    }

    #[test]
    fn messages_arrive_in_every_way_that_clients_send_them() {
        assert_eq!(message(&["POST / HTTP/1.0\r\nContent-length: 8\r\n\r\n( INFO )"]), "( INFO )");
        assert_eq!(message(&["POST / HTTP/1.0\nContent-Len", "gth: 8\n\n( IN", "FO )"]), "( INFO )");
        assert_eq!(
            message(&["POST / HTTP/1.1\r\nHost: x\r\n\r\n( PL", "AY m NIL", " )"]),
            "( PLAY m NIL )",
            "no length"
        );
        assert_eq!(
            message(&["POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n( INFO )"]),
            "( INFO )",
            "too great a length"
        );
        assert_eq!(
            message(&["POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n( I\r\n5;x\r\nNFO )\r\n0\r\n\r\n"]),
            "( INFO )"
        );
        assert_eq!(message(&["GET /%28%20INFO+%29 HTTP/1.1\r\n\r\n"]), "( INFO )");
        assert_eq!(message(&["GET /?m=%28INFO%29 HTTP/1.1\r\n\r\n"]), "(INFO)");
        assert_eq!(message(&["GET /( INFO ) HTTP/1.1\r\n\r\n"]), "( INFO )");
        assert_eq!(message(&["GET / HTTP/1.1\r\nContent-Length: 8\r\n\r\n( INFO )"]), "( INFO )", "a body after GET");
        assert_eq!(message(&["GET / HTTP/1.1\r\n\r\n", "( INFO )"]), "( INFO )", "a body after GET without length");
        assert_eq!(message(&["GET / HTTP/1.1\r\n\r\n"]), "");
        assert_eq!(request(&["OPTIONS * HTTP/1.1\r\n\r\n"], false).unwrap().method, "OPTIONS");
        assert_eq!(request(&["POST / HTTP/1.0\r\n\r\nhello"], true).unwrap().message, "hello", "until the end");
    }

    #[test]
    fn hostile_requests_are_refused_with_a_status() {
        let status = |pieces: &[&str], ends| request(pieces, ends).unwrap_err().0;
        assert_eq!(status(&["POST / HTTP/1.0\r\nContent-Length: 1000000000\r\n\r\n( INFO )"], false), 413);
        assert_eq!(status(&["POST / HTTP/1.0\r\nContent-Length: -5\r\n\r\n"], false), 400);
        assert_eq!(status(&["POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n"], false), 413);
        assert_eq!(status(&["POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], false), 400);
        assert_eq!(status(&["\u{1}\u{2}garbage\n\n"], true), 400);
        assert_eq!(status(&["POST"], true), 400);
        let header = format!("X: {}\r\n", "y".repeat(10_000));
        let mut head = vec!["GET / HTTP/1.0\r\n"];
        head.extend(std::iter::repeat_n(header.as_str(), 50));
        assert_eq!(status(&head, false), 431);
    }

    #[test]
    fn a_sender_that_never_finishes_runs_out_of_time() {
        let mut script = Script(VecDeque::from([b"POST / HT".to_vec()]), false);
        assert_eq!(read_request(&mut script, Instant::now()).unwrap_err().0, 408);
    }
}
