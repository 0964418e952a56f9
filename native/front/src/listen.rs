//! Addresses that the front listens on, and the connections that come there.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::PathBuf;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

/// Connections that wait for `accept`.
const BACKLOG: i32 = 1024;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// TCP.
    Tcp(SocketAddr),
    /// A path of a UNIX socket, which is made anew.
    Unix(PathBuf),
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl std::str::FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("a path after unix: is wanted".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => {
                let address = text.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
                let address = address.as_deref().unwrap_or(text).parse();
                address
                    .map(Self::Tcp)
                    .map_err(|_| "ADDRESS:PORT or unix:PATH is wanted".into())
            }
        }
    }
}

/// One thread's listener.
pub(crate) enum Listener {
    Tcp(std::net::TcpListener),
    Unix(StdUnixListener),
}

impl Listener {
    /// A listener for each of so many threads, and the address, for a port that was left open.
    pub(crate) fn bind(listen: &Listen, threads: usize) -> io::Result<(Vec<Self>, Listen)> {
        let mut listeners = Vec::new();
        match listen {
            Listen::Tcp(address) => {
                let first = tcp_listener(*address)?;
                let address = first.local_addr()?;
                listeners.push(Self::Tcp(first));
                for _ in 1..threads {
                    listeners.push(Self::Tcp(tcp_listener(address)?));
                }
                Ok((listeners, Listen::Tcp(address)))
            }
            Listen::Unix(path) => {
                match std::fs::remove_file(path) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                    _ => {}
                }
                let first = StdUnixListener::bind(path)?;
                first.set_nonblocking(true)?;
                for _ in 1..threads {
                    listeners.push(Self::Unix(first.try_clone()?));
                }
                listeners.push(Self::Unix(first));
                Ok((listeners, listen.clone()))
            }
        }
    }

    /// For the runtime of the calling thread.
    pub(crate) fn into_async(self) -> io::Result<AsyncListener> {
        Ok(match self {
            Self::Tcp(listener) => AsyncListener::Tcp(TcpListener::from_std(listener)?),
            Self::Unix(listener) => AsyncListener::Unix(UnixListener::from_std(listener)?),
        })
    }
}

/// A listener of an event loop.
pub(crate) enum AsyncListener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl AsyncListener {
    /// The next connection, and where it comes from.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Some(from.ip())))
            }
            Self::Unix(listener) => Ok((Stream::Unix(listener.accept().await?.0), None)),
        }
    }
}

/// A client's connection before anything was said.
pub(crate) enum Stream {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

fn tcp_listener(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_wrong_ones_told() {
        assert_eq!(
            "127.0.0.1:80".parse(),
            Ok(Listen::Tcp(([127, 0, 0, 1], 80).into()))
        );
        assert_eq!(":80".parse(), Ok(Listen::Tcp(([0; 4], 80).into())));
        assert_eq!("unix:/a".parse(), Ok(Listen::Unix("/a".into())));
        for wrong in ["unix:", "80", "localhost:80", "127.0.0.1:99999"] {
            assert!(wrong.parse::<Listen>().is_err(), "{wrong}");
        }
    }
}
