//! The bytes of a client and a program that speak another protocol than HTTP.
//!
//! ```text
//!   client ── reads ──> said ──> Way ──> machine
//!   client <── writes ── pieces <── Way <── machine
//! ```

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::timeout;

use crate::body::BrokenOff;

/// Most bytes of a client that are read at once.
const READ_BYTES: usize = 16 << 10;
/// Pieces of a client that wait for the program.
pub const SAID: usize = 1;

/// A client's connection that is to be handed over when the head of the answer is out.
#[derive(Debug)]
pub struct Tunnel {
    upgrade: OnUpgrade,
    said: mpsc::Sender<Bytes>,
    place: Option<OwnedSemaphorePermit>,
    patience: Duration,
}

impl Tunnel {
    /// A tunnel, and where what the client says comes out. It keeps its `place` until it ends. A client that takes no bytes for
    /// `patience` is cut off, and one that has ended when the program says nothing for as long.
    pub fn new(
        upgrade: OnUpgrade,
        place: Option<OwnedSemaphorePermit>,
        patience: Duration,
    ) -> (Self, mpsc::Receiver<Bytes>) {
        let (said, client) = mpsc::channel(SAID);
        let tunnel = Self {
            upgrade,
            said,
            place,
            patience,
        };
        (tunnel, client)
    }

    /// As [`carry`] does.
    pub async fn carry(self, pieces: mpsc::Receiver<Result<Bytes, BrokenOff>>) {
        let Self {
            upgrade,
            said,
            place,
            patience,
        } = self;
        if let Ok(Ok(connection)) = timeout(patience, upgrade).await {
            carry(TokioIo::new(connection), said, pieces, patience).await;
        }
        drop(place);
    }
}

/// Carries bytes between a client's connection and a program until both sides have ended, or one is gone: what the client says to `said`,
/// the program's `pieces` to the client. Bounds are those of [`Tunnel::new`].
pub async fn carry<S>(
    connection: S,
    said: mpsc::Sender<Bytes>,
    pieces: mpsc::Receiver<Result<Bytes, BrokenOff>>,
    patience: Duration,
) where
    S: AsyncRead + AsyncWrite,
{
    let (from, to) = tokio::io::split(connection);
    let (end, ended) = watch::channel(false);
    let reads = async {
        if read_all(from, said).await.is_ok() {
            end.send_replace(true);
            std::future::pending().await
        }
    };
    tokio::select! {
        // The program's end is that of both: nobody hears the client any more.
        () = write_all(to, pieces, ended, patience) => {}
        () = reads => {}
    }
}

/// Brings the program's bytes to the client, and its end. Once the client has ended, the program has `patience` for each of its own.
async fn write_all(
    mut to: WriteHalf<impl AsyncWrite>,
    mut pieces: mpsc::Receiver<Result<Bytes, BrokenOff>>,
    mut ended: watch::Receiver<bool>,
    patience: Duration,
) {
    loop {
        let has_ended = *ended.borrow_and_update();
        let piece = tokio::select! {
            biased;
            piece = pieces.recv() => piece,
            _ = ended.changed(), if !has_ended => continue,
            () = tokio::time::sleep(patience), if has_ended => return,
        };
        let Some(piece) = piece else { break };
        let Ok(piece) = piece else { return };
        let written = timeout(patience, async {
            to.write_all(&piece).await?;
            to.flush().await
        });
        if !matches!(written.await, Ok(Ok(()))) {
            return;
        }
    }
    // A client that is gone needs no end.
    let _ = timeout(patience, to.shutdown()).await;
}

/// The connection is lost, or nobody listens to the client any more.
struct Lost;

/// Hands on what the client says, until it ends.
async fn read_all(mut from: ReadHalf<impl AsyncRead>, said: mpsc::Sender<Bytes>) -> Result<(), Lost> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ_BYTES);
        match from.read_buf(&mut buffer).await {
            Ok(0) => return Ok(()),
            Ok(_) => said.send(buffer.split().freeze()).await.map_err(|_| Lost)?,
            Err(_) => return Err(Lost),
        }
    }
}
