//! One connection to the outside: made, and its bytes carried both ways until both sides are done or one is gone.

use std::io::Error;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use mayfly_pool::{Link, LinkError};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::outgoing::{Bounds, Counts};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An address that is allowed itself.
    Address(SocketAddr),
    /// A name that is allowed, and which of its addresses the program was given.
    Name(String, SocketAddr),
}

impl Target {
    /// Connects. A name's addresses are asked for anew, and none but those are connected to: the one that the program has if it is still
    /// among them, else the others in their order.
    async fn connect(&self) -> Result<TcpStream, LinkError> {
        let (name, wanted) = match self {
            Self::Address(to) => return TcpStream::connect(to).await.map_err(|e| of_error(&e)),
            Self::Name(name, wanted) => (name, *wanted),
        };
        let found = lookup_host((name.as_str(), wanted.port())).await;
        let mut found: Vec<SocketAddr> = found.map_err(|_| LinkError::HostUnreachable)?.collect();
        if found.contains(&wanted) {
            found = vec![wanted];
        }
        let mut failed = LinkError::HostUnreachable;
        for to in found {
            match TcpStream::connect(to).await {
                Ok(stream) => return Ok(stream),
                Err(e) => failed = of_error(&e),
            }
        }
        Err(failed)
    }
}

/// Makes a connection and carries its bytes. `news` is told of what the program does.
pub(super) async fn carry(target: Target, link: &Link, news: &Notify, bounds: Bounds, counts: &Counts) {
    let failed = |why| {
        counts.failed.fetch_add(1, Ordering::Relaxed);
        link.fail(why);
    };
    let connected = tokio::select! {
        biased;
        () = left(link, news) => return,
        connected = timeout(bounds.connect, target.connect()) => connected,
    };
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(why)) => return failed(why),
        Err(_) => return failed(LinkError::TimedOut),
    };
    // Without it small questions wait for acknowledgements; a socket that refuses is gone.
    if let Err(e) = stream.set_nodelay(true) {
        return failed(of_error(&e));
    }
    counts.made.fetch_add(1, Ordering::Relaxed);
    link.made();
    if let Err(why) = both_ways(stream, link, news, bounds, counts).await {
        link.fail(why);
    }
}

/// Waits until the program has closed the connection.
async fn left(link: &Link, news: &Notify) {
    while !link.is_closed() {
        news.notified().await;
    }
}

async fn both_ways(
    mut stream: TcpStream,
    link: &Link,
    news: &Notify,
    bounds: Bounds,
    counts: &Counts,
) -> Result<(), LinkError> {
    let (mut reader, mut writer) = stream.split();
    let mut piece = vec![0; PIECE];
    // What of the program's bytes is on its way, and how much of that is gone.
    let (mut bytes, mut sent) = (Vec::new(), 0);
    let (mut reads, mut writes) = (true, true);
    let (mut is_last, mut is_left) = (false, false);
    // The other side takes nothing more; what it said before is still read.
    let mut broken = None;
    loop {
        if sent == bytes.len() && !is_left {
            let written = link.take();
            (bytes, sent) = (written.bytes, 0);
            (is_last, is_left) = (written.finished, written.closed);
        }
        if broken.is_some() {
            sent = bytes.len();
        }
        let has_bytes = sent < bytes.len();
        if !has_bytes && is_left {
            return Ok(());
        }
        if !has_bytes && is_last && writes {
            let ended = writer.shutdown().await;
            broken = broken.or(ended.is_err().then_some(LinkError::Reset));
            writes = false;
        }
        if !reads && !writes {
            return Ok(());
        }
        let room = link.room().min(PIECE);
        // Behind the program's end nobody but the other side is waited for.
        let patience = if is_left { bounds.connect } else { bounds.idle };
        tokio::select! {
            () = news.notified() => {}
            read = reader.read(&mut piece[..room]), if reads && room > 0 && !is_left => {
                match read.map_err(|e| of_error(&e))? {
                    0 => match broken {
                        Some(why) => return Err(why),
                        None => {
                            reads = false;
                            link.end();
                        }
                    },
                    count => {
                        counts.received.fetch_add(count as u64, Ordering::Relaxed);
                        link.give(&piece[..count]);
                    }
                }
            }
            wrote = writer.write(&bytes[sent..]), if has_bytes => {
                match wrote {
                    Ok(count) => {
                        counts.sent.fetch_add(count as u64, Ordering::Relaxed);
                        sent += count;
                    }
                    Err(e) if reads => broken = Some(of_error(&e)),
                    Err(e) => return Err(of_error(&e)),
                }
            }
            () = sleep(patience) => return Err(LinkError::TimedOut),
        }
    }
}

/// What a program is told of an error of the host's.
fn of_error(error: &Error) -> LinkError {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => LinkError::Refused,
        Some(Errno::TIMEDOUT) => LinkError::TimedOut,
        Some(Errno::NETUNREACH | Errno::NETDOWN) => LinkError::NetworkUnreachable,
        Some(Errno::CONNRESET | Errno::CONNABORTED | Errno::PIPE) => LinkError::Reset,
        // The host has too few ports, or this process too few files.
        Some(Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE) => LinkError::TooMany,
        _ => LinkError::HostUnreachable,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What a target is connected to, on a runtime of its own.
    fn connect(target: &Target) -> Result<SocketAddr, LinkError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let connected = runtime.block_on(target.connect());
        connected.map(|stream| stream.peer_addr().expect("a peer"))
    }

    #[test]
    fn an_address_that_a_name_has_no_more_is_not_connected_to() {
        // Both listen: what decides is whose address the name has now.
        let now = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = now.local_addr().expect("an address");
        let then = SocketAddr::from(([127, 0, 0, 9], address.port()));
        let _then = TcpListener::bind(then).expect("the same port of another address");
        assert_eq!(connect(&Target::Name("localhost".into(), then)), Ok(address));
        assert_eq!(connect(&Target::Name("localhost".into(), address)), Ok(address));
        assert_eq!(connect(&Target::Address(then)), Ok(then));
        let unknown = Target::Name("no-such-name.invalid".into(), address);
        assert_eq!(connect(&unknown), Err(LinkError::HostUnreachable));
    }

    #[test]
    fn errors_of_the_host_are_told_as_linux_tells_them() {
        for (errno, why) in [
            (Errno::CONNREFUSED, LinkError::Refused),
            (Errno::TIMEDOUT, LinkError::TimedOut),
            (Errno::HOSTUNREACH, LinkError::HostUnreachable),
            (Errno::NETUNREACH, LinkError::NetworkUnreachable),
            (Errno::CONNRESET, LinkError::Reset),
            (Errno::PIPE, LinkError::Reset),
            (Errno::MFILE, LinkError::TooMany),
            (Errno::PERM, LinkError::HostUnreachable),
        ] {
            assert_eq!(of_error(&errno.into()), why);
        }
    }
}
