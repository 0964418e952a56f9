//! A client's connection as it is, without HTTP: the program gets its bytes, whatever they are, and its machine is reset behind its end.

use std::sync::Arc;

use bytes::Bytes;
use mayfly_pool::{Completion, Outcome, Protocol, Watch};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::body::{BrokenOff, PIECES};
use crate::front::Front;
use crate::machines::{Asked, Told};
use crate::tunnel::{SAID, carry};

/// Whatever both sides say, until the program ends it.
#[derive(Debug)]
pub struct Raw;

impl Protocol for Raw {
    fn watch(&self, _: &[u8]) -> Box<dyn Watch> {
        Box::new(Raw)
    }
}

impl Watch for Raw {
    fn more(&mut self, _: &[u8]) -> bool {
        false
    }

    fn tells_end(&self) -> bool {
        true
    }
}

/// Hands a client's connection to a machine of its own.
pub async fn converse(front: &Arc<Front>, connection: impl AsyncRead + AsyncWrite) {
    // Nothing can be said to a client whose protocol is not known: over the bounds its connection ends.
    let Ok(asked) = front.machines.ask(Vec::new(), false) else {
        return;
    };
    let (said, client) = mpsc::channel(SAID);
    let (pieces, next) = mpsc::channel(PIECES);
    tokio::join!(
        relay(front, asked, client, pieces),
        carry(connection, said, next, front.limits.patience),
    );
}

/// Brings what the client says to the program and what the program says to the client, until one of them has enough.
async fn relay(
    front: &Front,
    mut asked: Asked,
    mut client: mpsc::Receiver<Bytes>,
    pieces: mpsc::Sender<Result<Bytes, BrokenOff>>,
) {
    // What the program had no room for yet.
    let mut pending: Option<Bytes> = None;
    let mut ended = false;
    loop {
        if pending.as_ref().is_some_and(|bytes| asked.send(bytes)) {
            pending = None;
        }
        tokio::select! {
            biased;
            // The request is dropped, and so called off.
            () = pieces.closed() => return,
            next = asked.next() => match next {
                Ok(Told::Piece(bytes)) => if pieces.send(Ok(bytes.into())).await.is_err() {
                    return;
                },
                Ok(Told::Room) => {}
                Ok(Told::Done(completion)) => return finish(front, *completion, &pieces).await,
                Err(_) => return,
            },
            said = client.recv(), if pending.is_none() && !ended => match said {
                Some(bytes) => pending = Some(bytes),
                None => {
                    asked.finish();
                    ended = true;
                }
            },
        }
    }
}

/// Brings the program's last bytes to the client, or breaks off.
async fn finish(front: &Front, completion: Completion, pieces: &mpsc::Sender<Result<Bytes, BrokenOff>>) {
    front.words.tell(&completion.traces);
    let last = match completion.outcome {
        Outcome::Answered(bytes) => Ok(bytes.into()),
        other => {
            eprintln!("mayfly: a connection: {other}");
            Err(BrokenOff)
        }
    };
    // The client may be gone.
    drop(pieces.send(last).await);
}
