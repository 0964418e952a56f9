//! The server: listeners on threads of their own, each with its event loop.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::front::Front;
use crate::listen::{Listen, Listener, Stream};
use crate::raw;
use crate::request::Client;
use crate::tls::HTTP_2;
use crate::way::answer;

/// Streams of one HTTP/2 connection at a time.
const STREAMS_MAX: u32 = 128;
/// Time for connections to end after the server was told to.
const DRAIN: Duration = Duration::from_secs(10);
/// Rest after `accept` failed, as it does without descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(20);

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
        Stream::Unix(stream) if front.raw => return raw::converse(front, stream).await,
        Stream::Unix(stream) => return http(front, stream, client, None, watcher).await,
        Stream::Tcp(stream) => stream,
    };
    // Without it small answers wait for acknowledgements; a socket that refuses is gone.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(tls) = &front.tls else {
        if front.raw {
            return raw::converse(front, stream).await;
        }
        return http(front, stream, client, None, watcher).await;
    };
    let handshake = TlsAcceptor::from(tls.clone()).accept(stream);
    if let Ok(Ok(stream)) = timeout(front.limits.patience, handshake).await {
        if front.raw {
            return raw::converse(front, stream).await;
        }
        let agreed = stream.get_ref().1.alpn_protocol().map(|name| name == HTTP_2);
        http(front, stream, client, agreed, watcher).await;
    }
}

/// Serves a connection by HTTP/2, if that was agreed, else by what its first bytes are.
async fn http<S>(front: &Arc<Front>, stream: S, client: Client, agreed: Option<bool>, watcher: Watcher)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
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
    let io = TokioIo::new(stream);
    // A client that breaks off is its own business.
    let serving = async {
        match agreed {
            // Only HTTP/1 hands a connection over, and hyper finds out by the first bytes which one it is then.
            Some(true) => {
                let builder = builder.http2_only();
                let connection = builder.serve_connection(io, service);
                drop(watcher.watch(connection.into_owned()).await);
            }
            _ => {
                let connection = builder.serve_connection_with_upgrades(io, service);
                drop(watcher.watch(connection.into_owned()).await);
            }
        }
    };
    // Until it is known which HTTP it is, nothing of hyper's looks at the time.
    let silent = async {
        tokio::time::sleep(front.limits.patience).await;
        if begun.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = serving => {}
        () = silent => {}
    }
}
