//! What operators ask: figures for Prometheus at `/metrics`, and the same as JSON at `/status`, on an address of their own.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use mayfly_pool::{PoolStats, RequestStats};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::body::Body;
use crate::front::Front;
use crate::listen::{Listen, Listener, Stream};
use crate::outgoing::Counts;
use crate::problem::problem;

/// Connections of operators at a time; more are closed at once.
const CONNECTIONS_MAX: usize = 16;
/// Time for a request, and for a whole connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Listens on a thread of its own until `stop` says so; gives the address.
///
/// # Errors
/// The address cannot be listened on, or no thread started.
pub fn start(front: Arc<Front>, listen: &Listen, stop: watch::Receiver<bool>) -> io::Result<Listen> {
    let (listeners, bound) = Listener::bind(listen, 1)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("mayfly-admin".into())
        .spawn(move || {
            runtime.block_on(async {
                for listener in listeners {
                    if let Err(e) = accept(&front, listener, stop.clone()).await {
                        eprintln!("mayfly: the address for operators: {e}");
                    }
                }
            });
        })?;
    Ok(bound)
}

async fn accept(front: &Arc<Front>, listener: Listener, mut stop: watch::Receiver<bool>) -> io::Result<()> {
    let listener = listener.into_async()?;
    let open = Arc::new(());
    loop {
        let accepted = tokio::select! {
            _ = stop.changed() => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) if Arc::strong_count(&open) <= CONNECTIONS_MAX => stream,
            Ok(_) => continue,
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let (front, place) = (front.clone(), open.clone());
        tokio::spawn(async move {
            let conversation = async {
                match stream {
                    Stream::Tcp(stream) => converse(front, stream).await,
                    Stream::Unix(stream) => converse(front, stream).await,
                }
            };
            // Who is slow is cut off.
            let _ = timeout(PATIENCE, conversation).await;
            drop(place);
        });
    }
}

async fn converse<S>(front: Arc<Front>, stream: S)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let service = hyper::service::service_fn(|request: Request<hyper::body::Incoming>| {
        let answer = answer(&front, request.method(), request.uri().path());
        async move { Ok::<_, Infallible>(answer) }
    });
    // A client that breaks off is its own business.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn answer(front: &Front, method: &Method, path: &str) -> Response<Body> {
    let figures = || figures(&front.machines.stats(), &now(front));
    let (kind, text) = match (path, method) {
        ("/metrics" | "/status", method) if method != Method::GET && method != Method::HEAD => {
            return problem(StatusCode::METHOD_NOT_ALLOWED, "GET is wanted");
        }
        ("/metrics", _) => ("text/plain; version=0.0.4", to_prometheus(&figures())),
        ("/status", _) => ("application/json", to_json(&figures())),
        _ => return problem(StatusCode::NOT_FOUND, "There are /metrics and /status"),
    };
    let mut response = Response::new(Body::from(text.into_bytes()));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// One figure: a counter, or what is so at the moment.
struct Figure {
    name: &'static str,
    help: &'static str,
    counter: bool,
    /// By the value of the label, if it has one.
    label: &'static str,
    values: Vec<(String, f64)>,
}

/// What is so at the moment.
struct Now {
    waiting: usize,
    running: usize,
    parked: usize,
    parked_bytes: u64,
    connections: usize,
    outgoing: Outside,
    answers: Vec<(String, f64)>,
}

/// What was done of the program's connections to the outside.
#[derive(Default)]
struct Outside {
    open: usize,
    made: u64,
    failed: u64,
    refused: u64,
    sent: u64,
    received: u64,
}

impl Outside {
    fn of(counts: &Counts) -> Self {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Self {
            open: counts.open.load(Ordering::Relaxed),
            made: read(&counts.made),
            failed: read(&counts.failed),
            refused: read(&counts.refused),
            sent: read(&counts.sent),
            received: read(&counts.received),
        }
    }
}

fn now(front: &Front) -> Now {
    let (waiting, running) = front.machines.load();
    let answers = front.counts.answers().enumerate();
    Now {
        waiting,
        running,
        parked: front.machines.parked(),
        parked_bytes: front.machines.parked_bytes(),
        connections: front.counts.connections.load(Ordering::Relaxed),
        outgoing: Outside::of(front.outgoing.counts()),
        answers: answers
            .map(|(class, count)| (format!("{}xx", class + 1), count as f64))
            .collect(),
    }
}

fn figures(stats: &PoolStats, now: &Now) -> Vec<Figure> {
    let RequestStats {
        queue_ns,
        run_ns,
        reset_ns,
        exits,
        dirty_pages,
        parks,
        parked_ns,
        ..
    } = stats.total;
    let one = |name, help, counter, value: f64| Figure {
        name,
        help,
        counter,
        label: "",
        values: vec![(String::new(), value)],
    };
    let count = |name, help, value: u64| one(name, help, true, value as f64);
    let seconds = |name, help, ns: u64| one(name, help, true, ns as f64 / 1e9);
    let gauge = |name, help, value: usize| one(name, help, false, value as f64);
    let by = |name, help, label, values: &std::collections::BTreeMap<&'static str, u64>| Figure {
        name,
        help,
        counter: true,
        label,
        values: values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value as f64))
            .collect(),
    };
    vec![
        by(
            "requests_total",
            "Requests that a machine ran, by outcome.",
            "outcome",
            &stats.outcomes,
        ),
        Figure {
            name: "answers_total",
            help: "Answers to clients, by class of status.",
            counter: true,
            label: "status",
            values: now.answers.clone(),
        },
        count(
            "refused_total",
            "Requests refused because the queue was full.",
            stats.refused,
        ),
        by(
            "denials_total",
            "System calls that programs were refused, by reason.",
            "reason",
            &stats.denials,
        ),
        count("forks_total", "Machines forked.", stats.forks),
        count(
            "lost_total",
            "Machines dropped because they were lost.",
            stats.lost,
        ),
        count(
            "crashes_total",
            "Threads of machines that crashed.",
            stats.crashes,
        ),
        seconds("queue_seconds_total", "Time in the queue.", queue_ns),
        seconds("run_seconds_total", "Time in machines.", run_ns),
        seconds("reset_seconds_total", "Time of resets.", reset_ns),
        seconds(
            "parked_seconds_total",
            "Time for which machines were parked.",
            parked_ns,
        ),
        count("parks_total", "Times that a machine was parked.", parks),
        count("exits_total", "Times that programs left ring 3.", exits),
        count("dirty_pages_total", "Pages that resets put back.", dirty_pages),
        Figure {
            name: "outgoing_total",
            help: "Connections of the program to the outside, by what became of them.",
            counter: true,
            label: "result",
            values: [
                ("made", now.outgoing.made),
                ("failed", now.outgoing.failed),
                ("refused", now.outgoing.refused),
            ]
            .map(|(result, count)| (result.to_owned(), count as f64))
            .into(),
        },
        count(
            "outgoing_sent_bytes_total",
            "Bytes of the program to the outside.",
            now.outgoing.sent,
        ),
        count(
            "outgoing_received_bytes_total",
            "Bytes to the program from the outside.",
            now.outgoing.received,
        ),
        gauge(
            "outgoing_connections",
            "Connections of the program to the outside that are open.",
            now.outgoing.open,
        ),
        gauge(
            "requests_waiting",
            "Requests that wait for a machine.",
            now.waiting,
        ),
        gauge(
            "requests_running",
            "Requests in a machine, or in its reset.",
            now.running,
        ),
        gauge("requests_parked", "Requests whose machines wait.", now.parked),
        gauge(
            "parked_bytes",
            "Memory of machines that wait.",
            now.parked_bytes as usize,
        ),
        gauge(
            "connections",
            "Connections of clients that are open.",
            now.connections,
        ),
    ]
}

fn to_prometheus(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        let kind = if figure.counter { "counter" } else { "gauge" };
        let Figure {
            name, help, label, ..
        } = figure;
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP mayfly_{name} {help}\n# TYPE mayfly_{name} {kind}");
        for (key, value) in &figure.values {
            let _ = match label.is_empty() {
                true => writeln!(text, "mayfly_{name} {value}"),
                false => writeln!(text, "mayfly_{name}{{{label}=\"{key}\"}} {value}"),
            };
        }
    }
    text
}

fn to_json(figures: &[Figure]) -> String {
    let mut object = serde_json::Map::new();
    for figure in figures {
        let value = match figure.label.is_empty() {
            true => serde_json::json!(figure.values.first().map(|(_, value)| value)),
            false => figure
                .values
                .iter()
                .map(|(key, value)| (key.clone(), serde_json::json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        };
        object.insert(figure.name.to_owned(), value);
    }
    serde_json::Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::Counts as Answers;

    #[test]
    fn figures_are_told_in_both_forms() {
        let mut stats = PoolStats::default();
        stats.outcomes.insert("answered", 7);
        stats.total.run_ns = 1_500_000_000;
        let counts = Answers::default();
        counts.answered(StatusCode::NOT_FOUND);
        let now = Now {
            waiting: 1,
            running: 2,
            parked: 3,
            parked_bytes: 4096,
            connections: 4,
            outgoing: Outside {
                made: 5,
                ..Outside::default()
            },
            answers: vec![("4xx".into(), 1.0)],
        };
        let figures = figures(&stats, &now);
        let text = to_prometheus(&figures);
        for line in [
            "# TYPE mayfly_requests_total counter",
            "mayfly_requests_total{outcome=\"answered\"} 7",
            "mayfly_answers_total{status=\"4xx\"} 1",
            "mayfly_run_seconds_total 1.5",
            "# TYPE mayfly_requests_parked gauge",
            "mayfly_requests_parked 3",
            "mayfly_parked_bytes 4096",
            "mayfly_outgoing_total{result=\"made\"} 5",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        let status: serde_json::Value = serde_json::from_str(&to_json(&figures)).unwrap();
        assert_eq!(status["requests_total"]["answered"], 7.0);
        assert_eq!(status["connections"], 4.0);
        assert_eq!(counts.answers().collect::<Vec<_>>(), [0, 0, 0, 1, 0]);
    }
}
