//! The way of one request: its body to the program, the answer to the client, both as they come. With another protocol (WebSocket) the
//! bytes of both sides go on behind the heads.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use mayfly_pool::{Completion, Outcome, Refused};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::answer::{self, Head, Malformed, Reader};
use crate::body::{Body, BrokenOff, PIECES};
use crate::front::Front;
use crate::machines::{Asked, Told};
use crate::problem::{of_outcome, problem};
use crate::request::{Client, Framing, LAST_CHUNK, chunk, to_bytes, wanted_protocol};
use crate::tunnel::Tunnel;

/// Bytes of a body that come before a machine is asked: who is slow with less holds none.
const AHEAD: usize = 64 << 10;

/// An answer of the front's own, in place of the program's.
type Problem = (StatusCode, &'static str);

const BODY_TOO_LONG: Problem = (StatusCode::PAYLOAD_TOO_LARGE, "The request's body is too long");
const BODY_MALFORMED: Problem = (StatusCode::BAD_REQUEST, "The request's body is malformed");
const BODY_TOO_SLOW: Problem = (StatusCode::REQUEST_TIMEOUT, "The request's body took too long");
const TOO_MANY: Problem = (StatusCode::SERVICE_UNAVAILABLE, "Too many requests wait");
const ENDS: Problem = (StatusCode::SERVICE_UNAVAILABLE, "The server ends");
const BAD_ANSWER: Problem = (StatusCode::BAD_GATEWAY, "The program's answer is no answer");

/// Answers one request.
pub async fn answer(front: &Arc<Front>, request: Request<Incoming>, client: Client) -> Response<Body> {
    match respond(front, request, client).await {
        Ok(response) => response,
        Err((status, detail)) => problem(status, detail),
    }
}

async fn respond(
    front: &Arc<Front>,
    mut request: Request<Incoming>,
    client: Client,
) -> Result<Response<Body>, Problem> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, body) = request.into_parts();
    let length = body.size_hint().exact();
    let mut upload = Upload {
        body,
        left: front.limits.body_bytes,
        framing: Framing::Chunks,
        place: None,
    };
    if length.is_some_and(|length| length > upload.left) {
        return Err(BODY_TOO_LONG);
    }
    let patience = Instant::now() + front.limits.patience;
    let mut ahead = Vec::new();
    let mut whole = false;
    while ahead.len() < AHEAD && !whole {
        let piece = timeout_at(patience, upload.next()).await;
        match piece.map_err(|_| BODY_TOO_SLOW)?? {
            Some(piece) => ahead.extend_from_slice(&piece),
            None => whole = true,
        }
    }
    let length = if whole { Some(ahead.len() as u64) } else { length };
    upload.framing = length.map_or(Framing::Chunks, Framing::Length);
    let protocol = wanted_protocol(&parts).filter(|_| whole && ahead.is_empty());
    let bytes = to_bytes(&parts, &ahead, upload.framing, protocol, client)
        .ok_or((StatusCode::NOT_IMPLEMENTED, "CONNECT is for proxies"))?;
    drop(ahead);
    let upgrades = protocol.is_some();
    let ends = whole && !upgrades;
    if !ends {
        let place = timeout_at(patience, front.uploads.clone().acquire_owned()).await;
        upload.place = Some(place.map_err(|_| TOO_MANY)?.map_err(|_| ENDS)?);
    }
    let asked = front.machines.ask(bytes, ends).map_err(refusal)?;
    let expected = answer::Request {
        is_head: parts.method == Method::HEAD,
        upgrades,
    };
    let mut way = Way {
        reader: Reader::new(expected, true),
        front: front.clone(),
        asked,
        parts,
        upgrade: None,
    };
    let told = match ends {
        true => match way.asked.next().await.map_err(refusal)? {
            Told::Done(completion) => return way.end(*completion),
            told => Some(told),
        },
        false => None,
    };
    let source = if upgrades {
        let (tunnel, client) = Tunnel::new(upgrade, upload.place, front.limits.patience);
        way.upgrade = Some(tunnel);
        Some(Source::Client(client))
    } else {
        (!whole).then_some(Source::Body(upload))
    };
    // Its answer comes in pieces, or its body is to go there still.
    let (tell, head) = oneshot::channel();
    tokio::spawn(way.follow(told, source, tell));
    head.await.map_err(|_| ENDS)?
}

fn refusal(why: Refused) -> Problem {
    match why {
        Refused::Full => TOO_MANY,
        Refused::Closed => ENDS,
    }
}

/// A body on its way.
struct Upload {
    body: Incoming,
    /// Bytes that may still come.
    left: u64,
    framing: Framing,
    /// Among those whose bodies come while their machines wait.
    place: Option<OwnedSemaphorePermit>,
}

impl Upload {
    /// The next piece of it; `None` at its end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            // Trailers are not for the guest.
            if let Ok(piece) = frame.map_err(|_| BODY_MALFORMED)?.into_data() {
                self.left = self.left.checked_sub(piece.len() as u64).ok_or(BODY_TOO_LONG)?;
                return Ok(Some(piece));
            }
        }
    }
}

/// A request under way.
struct Way {
    front: Arc<Front>,
    asked: Asked,
    reader: Reader,
    parts: Parts,
    /// The client's connection, for another protocol that it asked for, until the program's head is there.
    upgrade: Option<Tunnel>,
}

/// What comes to the program behind the first bytes of a request.
enum Source {
    Body(Upload),
    /// What the client says in another protocol.
    Client(mpsc::Receiver<Bytes>),
}

/// To the client: first the head, then pieces.
enum Reply {
    Head(oneshot::Sender<Result<Response<Body>, Problem>>),
    Pieces(mpsc::Sender<Result<Bytes, BrokenOff>>),
}

impl Reply {
    /// Waits until nobody hears it any more.
    async fn closed(&mut self) {
        match self {
            Self::Head(head) => head.closed().await,
            Self::Pieces(pieces) => pieces.closed().await,
        }
    }

    /// Ends it without an answer of the program's.
    async fn fail(self, why: Problem) {
        // Who asked may be gone.
        match self {
            Self::Head(head) => drop(head.send(Err(why))),
            Self::Pieces(pieces) => drop(pieces.send(Err(BrokenOff)).await),
        }
    }
}

impl Way {
    /// Brings the rest of a body to the program and the answer to the client, until one of them has enough.
    async fn follow(
        mut self,
        first: Option<Told>,
        mut source: Option<Source>,
        head: oneshot::Sender<Result<Response<Body>, Problem>>,
    ) {
        let patience = self.front.limits.patience;
        let mut reply = Reply::Head(head);
        // What the program had no room for yet.
        let mut pending: Option<Piece> = None;
        let mut told = first;
        loop {
            match told.take() {
                Some(Told::Piece(bytes)) => match self.pass_on(&bytes, reply).await {
                    Some(next) => reply = next,
                    None => return,
                },
                Some(Told::Done(completion)) => return self.finish(*completion, reply).await,
                Some(Told::Room) | None => {}
            }
            if let Some(piece) = &pending
                && self.asked.send(&piece.bytes)
            {
                if piece.is_last {
                    self.asked.finish();
                    source = None;
                }
                pending = None;
            }
            tokio::select! {
                biased;
                // The request is dropped, and so called off.
                () = reply.closed() => return,
                next = self.asked.next() => match next {
                    Ok(next) => told = Some(next),
                    Err(why) => return reply.fail(refusal(why)).await,
                },
                piece = read_on(&mut source, patience), if pending.is_none() => match piece {
                    Ok(piece) => pending = Some(piece),
                    Err(why) => return reply.fail(why).await,
                },
            }
        }
    }

    /// Brings the next bytes of the answer to the client. `None` when that was the end of it.
    async fn pass_on(&mut self, bytes: &[u8], reply: Reply) -> Option<Reply> {
        if let Err(why) = self.reader.read(bytes) {
            self.tell_malformed(why);
            reply.fail(BAD_ANSWER).await;
            return None;
        }
        let body = self.reader.take_body();
        let pieces = match (reply, self.reader.take_head()) {
            (Reply::Head(head), None) => return Some(Reply::Head(head)),
            (Reply::Head(head), Some(found)) => {
                let (pieces, next) = mpsc::channel(PIECES);
                // Without another protocol the client says nothing more: its half goes with the tunnel.
                let tunnel = self.upgrade.take();
                let body = match tunnel.filter(|_| found.status == StatusCode::SWITCHING_PROTOCOLS) {
                    Some(tunnel) => {
                        tokio::spawn(tunnel.carry(next));
                        Body::from(Vec::new())
                    }
                    None => {
                        let left = found.length;
                        Body::Pieces { next, left }
                    }
                };
                head.send(Ok(response(found, body))).ok()?;
                pieces
            }
            (Reply::Pieces(pieces), _) => pieces,
        };
        if !body.is_empty() {
            // A client that is gone wants no more.
            pieces.send(Ok(body.into())).await.ok()?;
        }
        Some(Reply::Pieces(pieces))
    }

    /// Ends an answer that came in pieces.
    async fn finish(mut self, completion: Completion, reply: Reply) {
        match reply {
            Reply::Head(head) => drop(head.send(self.end(completion))),
            Reply::Pieces(pieces) => {
                let last = match self.last(&completion) {
                    Ok(()) => self.reader.take_body(),
                    Err(_) => return drop(pieces.send(Err(BrokenOff)).await),
                };
                if !last.is_empty() {
                    drop(pieces.send(Ok(last.into())).await);
                }
            }
        }
    }

    /// The answer of a request that is done, of which nothing was brought to the client.
    fn end(&mut self, completion: Completion) -> Result<Response<Body>, Problem> {
        self.last(&completion)?;
        let head = self.reader.take_head().ok_or(BAD_ANSWER)?;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            // It ended at once: there is nobody to speak another protocol with.
            return Err(BAD_ANSWER);
        }
        Ok(response(head, Body::from(self.reader.take_body())))
    }

    /// Reads the last bytes of an answer.
    fn last(&mut self, completion: &Completion) -> Result<(), Problem> {
        self.front.words.tell(&completion.traces);
        let Outcome::Answered(bytes) = &completion.outcome else {
            self.tell(&completion.outcome.to_string());
            return Err(of_outcome(&completion.outcome));
        };
        let read = self.reader.read(bytes).and_then(|_| self.reader.finish());
        read.map_err(|why| {
            self.tell_malformed(why);
            BAD_ANSWER
        })
    }

    fn tell_malformed(&self, why: Malformed) {
        self.tell(&format!("the program's answer: {}", why.0));
    }

    fn tell(&self, what: &str) {
        eprintln!("mayfly: {} {}: {what}", self.parts.method, self.parts.uri.path());
    }
}

/// A piece of a body as the program gets it.
struct Piece {
    bytes: Vec<u8>,
    is_last: bool,
}

/// The next piece for the program; never, if there is none.
async fn read_on(source: &mut Option<Source>, patience: Duration) -> Result<Piece, Problem> {
    let upload = match source {
        None => return std::future::pending().await,
        Some(Source::Body(upload)) => upload,
        Some(Source::Client(client)) => {
            let said = client.recv().await;
            return Ok(Piece {
                is_last: said.is_none(),
                bytes: said.map_or_else(Vec::new, Vec::from),
            });
        }
    };
    let piece = timeout(patience, upload.next()).await;
    let piece = piece.map_err(|_| BODY_TOO_SLOW)??;
    let is_last = piece.is_none();
    let mut bytes = piece.map_or_else(Vec::new, Vec::from);
    if upload.framing == Framing::Chunks {
        let piece = std::mem::take(&mut bytes);
        chunk(&piece, &mut bytes);
        if is_last {
            bytes.extend_from_slice(LAST_CHUNK);
        }
    }
    Ok(Piece { bytes, is_last })
}

fn response(head: Head, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.fields;
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let upgrade = HeaderValue::from_static("upgrade");
        response.headers_mut().insert(CONNECTION, upgrade);
    }
    response
}
