//! The answer of a guest: any bytes, read as HTTP/1.1.

use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use hyper::{HeaderMap, StatusCode};
use mayfly_pool::{Protocol, Watch};

use crate::request::UPGRADES;

/// Most header fields of an answer.
const FIELDS_MAX: usize = 128;
/// Longest head of an answer, in bytes.
const HEAD_MAX: usize = 64 << 10;
/// Longest line with the size of a chunk, or of a field behind the last chunk.
const LINE_MAX: usize = 4096;

/// HTTP/1.1 as the end of an answer is known by.
#[derive(Debug)]
pub struct Http;

impl Protocol for Http {
    fn watch(&self, request: &[u8]) -> Box<dyn Watch> {
        let asked = Request {
            is_head: request.starts_with(b"HEAD "),
            // A body may end so too. Who brings the answer to the client knows better, and takes no other protocol then.
            upgrades: request.ends_with(UPGRADES),
        };
        Box::new(Reader::new(asked, false))
    }
}

impl Watch for Reader {
    fn more(&mut self, bytes: &[u8]) -> bool {
        // What is no answer is judged when it is read.
        !matches!(self.read(bytes), Ok(Progress::Partial))
    }

    fn tells_end(&self) -> bool {
        self.at == At::Tunnel
    }
}

/// What of a request its answer depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// It is HEAD: the answer has no body.
    pub is_head: bool,
    /// It asks for another protocol.
    pub upgrades: bool,
}

/// Why bytes are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More must come, or the connection must end.
    Partial,
    /// Its end was seen.
    Whole,
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Head,
    /// So many bytes of the body are to come.
    Length(u64),
    /// Before the line with a chunk's size.
    ChunkSize,
    /// So many bytes of a chunk are to come, the line's end behind it included.
    Chunk(u64),
    /// In the fields behind the last chunk.
    Trailers,
    /// The body ends with the connection.
    Close,
    /// Another protocol is spoken until the connection ends.
    Tunnel,
    End,
}

/// The head of an answer.
#[derive(Debug)]
pub struct Head {
    /// Its status.
    pub status: StatusCode,
    /// Its fields, but those that are about the connection; `upgrade` is among them where it changes the protocol.
    pub fields: HeaderMap,
    /// The length of its body in bytes, where it is known.
    pub length: Option<u64>,
}

/// Reads an answer piece by piece.
#[derive(Debug)]
pub struct Reader {
    asked: Request,
    keeps_body: bool,
    at: At,
    /// Bytes of a head or a line that is not whole.
    pending: Vec<u8>,
    head: Option<Head>,
    body: Vec<u8>,
}

impl Reader {
    /// A reader of the answer to a request.
    #[must_use]
    pub fn new(asked: Request, keeps_body: bool) -> Self {
        Self {
            asked,
            keeps_body,
            at: At::Head,
            pending: Vec::new(),
            head: None,
            body: Vec::new(),
        }
    }

    /// Takes the next bytes. What lies behind the end is not looked at.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Progress, Malformed> {
        let mut bytes = bytes;
        loop {
            match self.at {
                At::End => return Ok(Progress::Whole),
                At::Head => match self.head(bytes)? {
                    Some(behind) => bytes = &bytes[bytes.len() - behind..],
                    None => return Ok(Progress::Partial),
                },
                At::Close | At::Tunnel => {
                    self.keep(bytes);
                    return Ok(Progress::Partial);
                }
                At::Length(left) => {
                    let (now, rest) = split(bytes, left);
                    self.keep(now);
                    bytes = rest;
                    match left - now.len() as u64 {
                        0 => self.at = At::End,
                        left => {
                            self.at = At::Length(left);
                            return Ok(Progress::Partial);
                        }
                    }
                }
                At::Chunk(left) => {
                    let (now, rest) = split(bytes, left);
                    // The last two bytes end the line.
                    self.keep(&now[..now.len().min((left - 2.min(left)) as usize)]);
                    bytes = rest;
                    match left - now.len() as u64 {
                        0 => self.at = At::ChunkSize,
                        left => {
                            self.at = At::Chunk(left);
                            return Ok(Progress::Partial);
                        }
                    }
                }
                At::ChunkSize | At::Trailers => {
                    let Some((line, rest)) = self.line(bytes)? else {
                        return Ok(Progress::Partial);
                    };
                    bytes = rest;
                    self.at = match self.at {
                        At::Trailers if line.iter().all(|byte| matches!(byte, b'\r' | b'\n')) => At::End,
                        At::Trailers => At::Trailers,
                        _ => match httparse::parse_chunk_size(&line) {
                            Ok(httparse::Status::Complete((_, 0))) => At::Trailers,
                            Ok(httparse::Status::Complete((_, size))) => {
                                At::Chunk(size.checked_add(2).ok_or(Malformed("a chunk is too long"))?)
                            }
                            _ => return Err(Malformed("the size of a chunk is no number")),
                        },
                    };
                }
            }
        }
    }

    /// The head, once, when it was read.
    pub fn take_head(&mut self) -> Option<Head> {
        self.head.take()
    }

    /// What was read of the body since it was taken.
    pub fn take_body(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }

    /// Checks that the answer is whole, when its connection has ended.
    ///
    /// # Errors
    /// It ends too early.
    pub fn finish(&self) -> Result<(), Malformed> {
        match self.at {
            At::End | At::Close | At::Tunnel => Ok(()),
            At::Head => Err(Malformed("it ends within its head")),
            _ => Err(Malformed("it ends within its body")),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeps_body {
            self.body.extend_from_slice(bytes);
        }
    }

    /// A whole line, and what lies behind it.
    fn line<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<Line<'a>>, Malformed> {
        let end = bytes.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let (now, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        if self.pending.len() + now.len() > LINE_MAX {
            return Err(Malformed("a line is too long"));
        }
        self.pending.extend_from_slice(now);
        Ok(end.map(|_| (std::mem::take(&mut self.pending), rest)))
    }

    /// Reads the head; how many of the bytes lie behind it, if it is whole.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let before = self.pending.len();
        self.pending.extend_from_slice(bytes);
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut head = httparse::Response::new(&mut fields);
        let length = match head.parse(&self.pending) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if self.pending.len() > HEAD_MAX => {
                return Err(Malformed("its head is too long"));
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Malformed("its head is no HTTP/1")),
        };
        if length > HEAD_MAX {
            return Err(Malformed("its head is too long"));
        }
        let status = head.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or(Malformed("its status is no status"))?;
        let mut found = HeaderMap::new();
        for field in head.headers.iter() {
            let name = HeaderName::from_bytes(field.name.as_bytes());
            let value = HeaderValue::from_bytes(field.value);
            match (name, value) {
                (Ok(name), Ok(value)) => found.append(name, value),
                _ => return Err(Malformed("a field of its head is malformed")),
            };
        }
        let behind = before + bytes.len() - length;
        self.pending = Vec::new();
        if status.is_informational() {
            return match status {
                StatusCode::SWITCHING_PROTOCOLS => self.upgrade(&found).map(|()| Some(behind)),
                _ => Ok(Some(behind)),
            };
        }
        self.at = self.body_of(status, &found)?;
        self.head = Some(Head {
            status,
            fields: without_connection(found, self.asked.is_head || status == StatusCode::NOT_MODIFIED),
            length: match self.at {
                At::Length(length) => Some(length),
                At::End => Some(0),
                _ => None,
            },
        });
        Ok(Some(behind))
    }

    /// From here on the connection speaks another protocol.
    fn upgrade(&mut self, found: &HeaderMap) -> Result<(), Malformed> {
        if !self.asked.upgrades {
            return Err(Malformed("it changes the protocol, which nobody asked for"));
        }
        let protocol = found.get(UPGRADE).cloned();
        let protocol = protocol.ok_or(Malformed("it changes to a protocol that it does not name"))?;
        let mut fields = without_connection(found.clone(), false);
        fields.insert(UPGRADE, protocol);
        self.at = At::Tunnel;
        self.head = Some(Head {
            status: StatusCode::SWITCHING_PROTOCOLS,
            fields,
            length: None,
        });
        Ok(())
    }

    fn body_of(&self, status: StatusCode, fields: &HeaderMap) -> Result<At, Malformed> {
        if self.asked.is_head || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return Ok(At::End);
        }
        let codings: Vec<&HeaderValue> = fields.get_all(TRANSFER_ENCODING).iter().collect();
        match codings[..] {
            [] => {}
            [one] if one.as_bytes().eq_ignore_ascii_case(b"chunked") => return Ok(At::ChunkSize),
            _ => return Err(Malformed("its transfer coding is another than chunked")),
        }
        let lengths: Vec<&HeaderValue> = fields.get_all(CONTENT_LENGTH).iter().collect();
        match lengths[..] {
            [] => Ok(At::Close),
            [one] => {
                let digits = one
                    .to_str()
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let length = digits.and_then(|text| text.parse().ok());
                length
                    .map(At::Length)
                    .ok_or(Malformed("its content-length is no number"))
            }
            _ => Err(Malformed("it has several content-lengths")),
        }
    }
}

/// A line, and what lies behind it.
type Line<'a> = (Vec<u8>, &'a [u8]);

fn split(bytes: &[u8], most: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len()))
}

/// The fields less those that are about a connection (RFC 9110, section 7.6.1): that of the front is another.
fn without_connection(mut fields: HeaderMap, keeps_length: bool) -> HeaderMap {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        fields.remove(name);
    }
    for name in crate::request::CONNECTION_FIELDS {
        fields.remove(name);
    }
    if !keeps_length {
        fields.remove(CONTENT_LENGTH);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Answer {
        status: StatusCode,
        fields: HeaderMap,
        body: Vec<u8>,
    }

    /// Reads an answer in pieces of a length, and ends.
    fn read(bytes: &[u8], to_head: bool, piece: usize) -> Result<(Answer, bool), Malformed> {
        let asked = Request {
            is_head: to_head,
            upgrades: false,
        };
        let mut reader = Reader::new(asked, true);
        let mut whole = false;
        for piece in bytes.chunks(piece) {
            whole = reader.read(piece)? == Progress::Whole;
        }
        reader.finish()?;
        let head = reader.take_head().unwrap();
        let answer = Answer {
            status: head.status,
            fields: head.fields,
            body: reader.take_body(),
        };
        assert!(
            !whole
                || head
                    .length
                    .is_none_or(|length| length == answer.body.len() as u64)
        );
        Ok((answer, whole))
    }

    #[test]
    fn bodies_are_read_whatever_the_pieces() {
        let cases: [(&[u8], bool, u16, &[u8]); 6] = [
            (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", true, 200, b"hello"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello, and more", true, 200, b"hello"),
            (
                b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n3\r\n, y\r\n0\r\nx: y\r\n\r\n",
                true,
                404,
                b"hello, y",
            ),
            (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", false, 200, b"until the end"),
            (
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
                true,
                201,
                b"",
            ),
            (b"HTTP/1.1 204 None\r\ncontent-length: 7\r\n\r\n", true, 204, b""),
        ];
        for (bytes, ends, status, body) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                let (answer, whole) = read(bytes, false, piece).unwrap();
                assert_eq!(
                    (answer.status.as_u16(), &answer.body[..], whole),
                    (status, body, ends)
                );
            }
        }
    }

    #[test]
    fn another_protocol_goes_on_until_the_connection_ends() {
        let asked = Request {
            is_head: false,
            upgrades: true,
        };
        let mut reader = Reader::new(asked, true);
        let bytes = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nconnection: upgrade\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
        for piece in bytes.chunks(3) {
            assert_eq!(reader.read(piece), Ok(Progress::Partial));
        }
        let head = reader.take_head().unwrap();
        assert_eq!(head.status, StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(
            (head.fields.len(), &head.fields[UPGRADE]),
            (2, &"websocket".parse().unwrap())
        );
        assert_eq!(reader.take_body(), b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(reader.finish(), Ok(()));
        let unnamed = Reader::new(asked, true).read(b"HTTP/1.1 101 Switching\r\n\r\n");
        assert!(unnamed.is_err());
    }

    #[test]
    fn an_answer_to_head_has_a_length_and_no_body() {
        let (answer, whole) = read(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", true, 9).unwrap();
        assert!(whole && answer.body.is_empty());
        assert_eq!(answer.fields[CONTENT_LENGTH], "5");
    }

    #[test]
    fn fields_of_the_connection_stay_inside() {
        let bytes = b"HTTP/1.1 200 OK\r\nconnection: close, x-own\r\nx-own: 1\r\nkeep-alive: timeout=5\r\ncontent-length: 0\r\nset-cookie: a\r\nset-cookie: b\r\n\r\n";
        let (answer, _) = read(bytes, false, 1000).unwrap();
        assert_eq!(answer.fields.len(), 2);
        assert_eq!(answer.fields.get_all("set-cookie").iter().count(), 2);
    }

    #[test]
    fn what_is_no_answer_says_why() {
        let cases: [(&[u8], &str); 11] = [
            (b"", "within its head"),
            (b"HTTP/1.1 200 OK\r\nfoo", "within its head"),
            (b"hello\r\n\r\n", "no HTTP/1"),
            (
                b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi",
                "within its body",
            ),
            (b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhi", "no number"),
            (
                b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nhi",
                "several",
            ),
            (
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nhi",
                "another than chunked",
            ),
            (
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxx\r\n",
                "no number",
            ),
            (
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe",
                "within its body",
            ),
            (
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                "too long",
            ),
            (
                b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\n\r\n",
                "changes the protocol",
            ),
        ];
        for (bytes, why) in cases {
            let Err(Malformed(said)) = read(bytes, false, 1000) else {
                panic!("{bytes:?} was taken");
            };
            assert!(said.contains(why), "{bytes:?}: {said}");
        }
        let long = [&b"HTTP/1.1 200 OK\r\n"[..], &b"a: b\r\n".repeat(20_000)].concat();
        assert!(read(&long, false, 1000).is_err());
    }
}
