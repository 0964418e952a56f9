//! The bodies of answers: whole, or as they come.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;

/// Pieces of an answer that wait for the client.
pub const PIECES: usize = 2;

/// An answer that breaks off: its client is to see that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer breaks off")
    }
}

impl std::error::Error for BrokenOff {}

/// A body.
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Whole(Full<Bytes>),
    /// As it comes.
    Pieces {
        /// What comes next.
        next: mpsc::Receiver<Result<Bytes, BrokenOff>>,
        /// Bytes to come, where that is known.
        left: Option<u64>,
    },
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(Full::new(Bytes::from(bytes)))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            Self::Whole(whole) => Pin::new(whole)
                .poll_frame(context)
                .map_err(|never: Infallible| match never {}),
            Self::Pieces { next, left } => Poll::Ready(match ready!(next.poll_recv(context)) {
                Some(Ok(piece)) => {
                    if let Some(left) = left {
                        *left = left.saturating_sub(piece.len() as u64);
                    }
                    Some(Ok(Frame::data(piece)))
                }
                Some(Err(e)) => Some(Err(e)),
                None => None,
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.is_end_stream(),
            Self::Pieces { left, .. } => *left == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Pieces { left, .. } => left.map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}
