//! The server: listeners on threads of their own, each with its event loop.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::admin::Counts;
use crate::machines::Machines;
use crate::request::Client;
use crate::tls::HTTP_2;
use crate::way::answer;

/// Connections that wait for `accept`.
const BACKLOG: i32 = 1024;
/// Streams of one HTTP/2 connection at a time.
const STREAMS_MAX: u32 = 128;
/// Time for connections to end after the server was told to.
const DRAIN: Duration = Duration::from_secs(10);
/// Most requests at a time whose bodies come while their machines wait, of those that may be under way.
pub const UPLOADS_SHARE: usize = 2;
/// Rest after `accept` failed, as it does without descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(20);

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

/// Bounds on clients.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Connections at a time, of all threads together.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body_bytes: u64,
    /// Time for the head of a request, for its body, and for a TLS handshake.
    pub patience: Duration,
}

/// What is served, how.
#[derive(Debug)]
pub struct Front {
    /// Who answers.
    pub machines: Machines,
    /// Bounds on clients.
    pub limits: ClientLimits,
    /// What is counted.
    pub counts: Counts,
    /// Places for requests whose bodies come while their machines wait.
    pub uploads: Arc<Semaphore>,
    /// TLS, if any.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether what the program prints is told on the standard error.
    pub tells_log: bool,
}

/// Listens on `threads` threads until `stop` says so. Gives the address, for a port that was left open, to `ready`.
///
/// # Errors
/// The address cannot be listened on, or no thread started.
pub fn serve(
    front: &Arc<Front>,
    listen: &Listen,
    threads: usize,
    stop: &watch::Receiver<bool>,
    ready: impl FnOnce(&Listen),
) -> io::Result<()> {
    let (listeners, bound) = Listener::bind(listen, threads)?;
    let room = Arc::new(Semaphore::new(front.limits.connections));
    let mut workers = Vec::new();
    for listener in listeners {
        let (front, room, stop) = (front.clone(), room.clone(), stop.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let body = move || {
            runtime.block_on(tokio::task::LocalSet::new().run_until(accept_all(front, listener, room, stop)))
        };
        workers.push(
            std::thread::Builder::new()
                .name("mayfly-front".into())
                .spawn(body)?,
        );
    }
    ready(&bound);
    for worker in workers {
        worker
            .join()
            .map_err(|_| io::Error::other("a thread of the server panicked"))??;
    }
    if let Listen::Unix(path) = listen {
        std::fs::remove_file(path)?;
    }
    Ok(())
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

async fn accept_all(
    front: Arc<Front>,
    listener: Listener,
    room: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = listener.into_async()?;
    let graceful = GracefulShutdown::new();
    loop {
        // Who comes when all places are taken waits in the kernel's queue.
        let place = tokio::select! {
            place = room.clone().acquire_owned() => place.map_err(io::Error::other)?,
            _ = stop.changed() => break,
        };
        let accepted = tokio::select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let (front, watcher) = (front.clone(), graceful.watcher());
                tokio::task::spawn_local(async move {
                    front.counts.connections.fetch_add(1, Ordering::Relaxed);
                    converse(&front, stream, from, watcher).await;
                    front.counts.connections.fetch_sub(1, Ordering::Relaxed);
                    drop(place);
                });
            }
            Err(e) => {
                eprintln!("mayfly: accepting a connection: {e}");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
    // What is not done by then ends with the process.
    let _ = timeout(DRAIN, graceful.shutdown()).await;
    Ok(())
}

type Watcher = hyper_util::server::graceful::Watcher;

async fn converse(front: &Arc<Front>, stream: Stream, from: Option<IpAddr>, watcher: Watcher) {
    let client = Client {
        address: from,
        secure: front.tls.is_some() && from.is_some(),
    };
    let stream = match stream {
        Stream::Unix(stream) => return http(front, stream, client, None, watcher).await,
        Stream::Tcp(stream) => stream,
    };
    // Without it small answers wait for acknowledgements; a socket that refuses is gone.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(tls) = &front.tls else {
        return http(front, stream, client, None, watcher).await;
    };
    let handshake = TlsAcceptor::from(tls.clone()).accept(stream);
    if let Ok(Ok(stream)) = timeout(front.limits.patience, handshake).await {
        let agreed = stream.get_ref().1.alpn_protocol().map(|name| name == HTTP_2);
        http(front, stream, client, agreed, watcher).await;
    }
}

/// Serves a connection by HTTP/2, if that was agreed, or HTTP/1; by what its first bytes are, if nothing was.
async fn http<S>(front: &Arc<Front>, stream: S, client: Client, agreed: Option<bool>, watcher: Watcher)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(front.limits.patience)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(front.limits.patience)
        .keep_alive_timeout(front.limits.patience);
    let builder = match agreed {
        Some(true) => builder.http2_only(),
        Some(false) => builder.http1_only(),
        None => builder,
    };
    let begun = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        begun.store(true, Ordering::Relaxed);
        let front = front.clone();
        async move {
            let response = answer(&front, request, client).await;
            front.counts.answered(response.status());
            Ok::<_, Infallible>(response)
        }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // Until it is known which HTTP it is, nothing of hyper's looks at the time.
    let silent = async {
        tokio::time::sleep(front.limits.patience).await;
        if begun.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        // A client that breaks off is its own business.
        _ = watcher.watch(connection.into_owned()) => {}
        () = silent => {}
    }
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
