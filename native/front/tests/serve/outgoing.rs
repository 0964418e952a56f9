//! Connections of the program to the outside (`--allow-connect`): to servers of this test, which listen on the host.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use mayfly_front::outgoing::{Bounds, Counts};
use mayfly_pool::LINK_BYTES;
use socket2::{Domain, SockRef, Socket, Type};

use super::{How, Served, connect, get, start_how};

/// Error numbers as the guest prints them.
const EACCES: u32 = 13;
const EPIPE: u32 = 32;
const EADDRNOTAVAIL: u32 = 99;
const ECONNRESET: u32 = 104;
const EISCONN: u32 = 106;
const ETIMEDOUT: u32 = 110;
const ECONNREFUSED: u32 = 111;

/// Listens, and does with each connection what `act` does, on a thread of its own.
fn server(act: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let act = Arc::new(act);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let act = act.clone();
            thread::spawn(move || act(stream));
        }
    });
    address
}

/// Answers all that was said by the same, behind its end.
fn echo(mut stream: TcpStream) {
    let mut said = b"answer to ".to_vec();
    drop(stream.read_to_end(&mut said));
    drop(stream.write_all(&said));
}

/// Says nothing until the other side ends, and tells of that.
fn silent() -> (SocketAddr, Receiver<()>) {
    let (tell, told) = channel();
    let address = server(move |mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
        let _ = tell.send(());
    });
    (address, told)
}

/// A server of the guest's that may connect there.
fn start(allowed: &[SocketAddr]) -> Option<Served> {
    start_how(&to(allowed))
}

fn to(allowed: &[SocketAddr]) -> How {
    How {
        guest: "outgoing",
        allowed: allowed.iter().map(SocketAddr::to_string).collect(),
        ..How::default()
    }
}

/// What the guest says of a connection of a kind.
fn ask(served: &Served, kind: &str, address: SocketAddr) -> String {
    let (status, _, body) = get(
        served.address,
        &format!("/{kind}/{}/{}", address.ip(), address.port()),
    );
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    String::from_utf8(body).expect("text")
}

fn status(served: &Served, kind: &str, address: SocketAddr) -> u16 {
    get(
        served.address,
        &format!("/{kind}/{}/{}", address.ip(), address.port()),
    )
    .0
}

fn counts(served: &Served) -> &Counts {
    served.front.outgoing.counts()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_is_allowed_is_reached_and_nothing_else() {
    let (listed, other) = (server(echo), server(echo));
    let Some(served) = start(&[listed]) else { return };
    for _ in 0..3 {
        assert_eq!(ask(&served, "block", listed), "answer to question");
        // Nothing of the guest's listens there, and it is not to know what of the host's does.
        assert_eq!(ask(&served, "block", other), format!("connect {ECONNREFUSED}"));
        let away = SocketAddr::from(([192, 0, 2, 1], 80));
        assert_eq!(ask(&served, "block", away), format!("connect {EACCES}"));
    }
    let counts = counts(&served);
    assert_eq!(counts.made.load(Ordering::Relaxed), 3);
    assert_eq!(counts.refused.load(Ordering::Relaxed), 6);
    assert_eq!(counts.sent.load(Ordering::Relaxed), 3 * 8);
    assert_eq!(counts.received.load(Ordering::Relaxed), 3 * 18);
    wait_until("connections end with their requests", || {
        counts.open.load(Ordering::Relaxed) == 0
    });
}

#[test]
fn a_name_leads_to_the_hosts_addresses() {
    let listed = server(echo);
    let how = How {
        allowed: vec![format!("localhost:{}", listed.port())],
        ..to(&[])
    };
    let Some(served) = start_how(&how) else { return };
    let hosts = ask(&served, "hosts", listed);
    assert!(hosts.contains("127.0.0.1 localhost\n"), "{hosts}");
    assert_eq!(ask(&served, "block", listed), "answer to question");
}

#[test]
fn a_connection_by_epoll_says_what_linux_says() {
    let listed = server(echo);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let Some(served) = start(&[listed, closed]) else {
        return;
    };
    // EPOLLOUT, and the error's EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLRDHUP.
    let made = format!("1 4 {EISCONN}: answer to question");
    assert_eq!(ask(&served, "epoll", listed), made);
    let failed = format!("1 201d so_error {ECONNREFUSED}");
    assert_eq!(ask(&served, "epoll", closed), failed);
    assert_eq!(ask(&served, "block", closed), format!("connect {ECONNREFUSED}"));
    assert_eq!(counts(&served).failed.load(Ordering::Relaxed), 2);
}

#[test]
fn large_bodies_go_both_ways_at_once() {
    let listed = server(|stream| {
        let mut writer = stream.try_clone().expect("a socket");
        drop(std::io::copy(&mut &stream, &mut writer));
    });
    let Some(served) = start(&[listed]) else { return };
    let all = 8 << 20;
    assert_eq!(ask(&served, "large", listed), format!("{all} {all} 0"));
}

#[test]
fn what_a_program_does_not_read_waits_with_the_other_side() {
    let listed = server(|mut stream| while stream.write_all(&[b'x'; 100_000]).is_ok() {});
    let Some(served) = start(&[listed]) else { return };
    assert_eq!(ask(&served, "slow", listed), "1000");
    let received = counts(&served).received.load(Ordering::Relaxed);
    // The guest's own buffer, and what the host holds for it; it read a little of them.
    let bound = (64 << 10) + LINK_BYTES as u64;
    assert!((1000..=bound + 1000).contains(&received), "{received}");
}

#[test]
fn the_end_of_the_other_side_is_told_early_or_broken() {
    let early = server(|mut stream| drop(stream.write_all(b"a part")));
    let broken = server(|mut stream| {
        let _ = stream.read(&mut [0; 8]);
        drop(stream.write_all(b"a part"));
        // The bytes are on their way before the break is.
        thread::sleep(Duration::from_millis(200));
        drop(SockRef::from(&stream).set_linger(Some(Duration::ZERO)));
    });
    let Some(served) = start(&[early, broken]) else {
        return;
    };
    let said = ask(&served, "block", early);
    // It had not read the question when it closed.
    assert!(
        said == "a part"
            || said == format!("a part, read {ECONNRESET}")
            || said == format!("read {ECONNRESET}"),
        "{said}"
    );
    assert_eq!(
        ask(&served, "block", broken),
        format!("a part, read {ECONNRESET}")
    );
}

#[test]
fn one_that_only_writes_hears_of_the_break_and_reads_what_came_before() {
    let listed = server(|mut stream| {
        let _ = stream.read(&mut [0; 1000]);
        let _ = stream.write_all(b"enough");
        // There is more to be read: its end is a break.
    });
    let Some(served) = start(&[listed]) else { return };
    for _ in 0..3 {
        let said = ask(&served, "push", listed);
        // Linux drops what came before a break when it hears of the break first.
        let wanted = [6, 0].map(|got| format!("{ECONNRESET} {EPIPE} {got}"));
        assert!(wanted.contains(&said), "{said}");
    }
}

#[test]
fn who_does_not_answer_costs_the_request_its_time_and_nothing_else() {
    let (listed, ended) = silent();
    let how = How {
        time: Duration::from_millis(500),
        ..to(&[listed])
    };
    let Some(served) = start_how(&how) else { return };
    assert_eq!(status(&served, "keep", listed), 504);
    // The machine is reset, and the other side told.
    ended.recv_timeout(Duration::from_secs(60)).expect("its end");
    wait_until("the machine answers in that time", || {
        get(served.address, "/count").2 == b"3"
    });
}

#[test]
fn a_connection_has_times_to_be_made_and_to_say_something() {
    let (quiet, _ended) = silent();
    // A queue for one that is full: whoever comes is not heard of.
    let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    full.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    full.listen(0).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let _fills: Vec<Socket> = (0..4)
        .map(|_| {
            let fill = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            fill.set_nonblocking(true).unwrap();
            drop(fill.connect(&address.into()));
            fill
        })
        .collect();
    // Each time for itself: what is not waited for has its usual one.
    let (connect, idle) = (Bounds::default().connect, Bounds::default().idle);
    let brief = Duration::from_millis(300);
    let start = |connect, idle| {
        start_how(&How {
            bounds: Bounds {
                connect,
                idle,
                ..Bounds::default()
            },
            time: Duration::from_secs(60),
            ..to(&[quiet, address])
        })
    };
    let Some(served) = start(brief, idle) else { return };
    assert_eq!(ask(&served, "block", address), format!("connect {ETIMEDOUT}"));
    assert_eq!(
        ask(&served, "epoll", address),
        format!("1 201d so_error {ETIMEDOUT}")
    );
    let Some(served) = start(connect, brief) else {
        return;
    };
    assert_eq!(ask(&served, "keep", quiet), format!("read {ETIMEDOUT}"));
}

#[test]
fn machines_that_wait_for_the_outside_hold_no_worker() {
    const MANY: usize = 20;
    // It answers when all of them have asked, and there is one worker.
    let all = Arc::new(Barrier::new(MANY + 1));
    let waits = all.clone();
    let listed = server(move |stream| {
        waits.wait();
        echo(stream);
    });
    let Some(served) = start(&[listed]) else { return };
    let served = Arc::new(served);
    let requests: Vec<_> = (0..MANY)
        .map(|_| {
            let served = served.clone();
            thread::spawn(move || ask(&served, "block", listed))
        })
        .collect();
    wait_until("all of them wait", || served.front.machines.parked() == MANY);
    assert_eq!(ask(&served, "count", listed), "3");
    assert_eq!(counts(&served).open.load(Ordering::Relaxed), MANY);
    all.wait();
    for request in requests {
        assert_eq!(request.join().expect("an answer"), "answer to question");
    }
}

#[test]
fn a_client_that_goes_away_ends_what_its_request_had_open() {
    let (listed, ended) = silent();
    let Some(served) = start(&[listed]) else { return };
    for round in 1..=3 {
        let mut client = connect(served.address);
        let question = format!(
            "GET /keep/127.0.0.1/{} HTTP/1.1\r\nhost: a\r\n\r\n",
            listed.port()
        );
        client.write_all(question.as_bytes()).unwrap();
        wait_until("it waits for an answer", || {
            counts(&served).made.load(Ordering::Relaxed) == round && served.front.machines.parked() == 1
        });
        client.shutdown(Shutdown::Both).unwrap();
        drop(client);
        ended.recv_timeout(Duration::from_secs(60)).expect("its end");
        assert_eq!(ask(&served, "count", listed), "3");
    }
}

#[test]
fn connections_are_bounded_for_each_machine_and_in_all() {
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (open, most.clone());
    let listed = server(move |mut stream| {
        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        drop(stream.read_to_end(&mut Vec::new()));
        now.fetch_sub(1, Ordering::SeqCst);
    });
    let Some(served) = start(&[listed]) else { return };
    assert_eq!(ask(&served, "many", listed), format!("64 {EADDRNOTAVAIL}"));
    let how = How {
        bounds: Bounds {
            connections: 5,
            ..Bounds::default()
        },
        ..to(&[listed])
    };
    let Some(few) = start_how(&how) else { return };
    most.store(0, Ordering::SeqCst);
    assert_eq!(ask(&few, "many", listed), format!("5 {EADDRNOTAVAIL}"));
    wait_until("they are given back", || {
        counts(&few).open.load(Ordering::Relaxed) == 0
    });
    assert_eq!(ask(&few, "many", listed), format!("5 {EADDRNOTAVAIL}"));
}

#[test]
fn a_machine_that_keeps_its_state_keeps_its_connections() {
    let connections = Arc::new(AtomicUsize::new(0));
    let made = connections.clone();
    let listed = server(move |mut stream| {
        let number = made.fetch_add(1, Ordering::SeqCst);
        for times in 0.. {
            let mut ping = [0; 4];
            if stream.read_exact(&mut ping).is_err() {
                return;
            }
            drop(stream.write_all(format!("{number} {times}").as_bytes()));
        }
    });
    for (ephemeral, wanted) in [(false, ["0 0", "0 1", "0 2"]), (true, ["1 0", "2 0", "3 0"])] {
        let how = How {
            ephemeral,
            ..to(&[listed])
        };
        let Some(served) = start_how(&how) else { return };
        for wanted in wanted {
            assert_eq!(ask(&served, "keep", listed), wanted);
        }
    }
}

#[test]
fn a_kept_connection_that_ends_between_requests_is_seen_to_have_ended() {
    let (tell, told) = channel();
    let listed = server(move |mut stream| {
        let mut ping = [0; 4];
        drop(stream.read_exact(&mut ping));
        drop(stream.write_all(b"pong"));
        drop(stream);
        let _ = tell.send(());
    });
    let how = How {
        ephemeral: false,
        ..to(&[listed])
    };
    let Some(served) = start_how(&how) else { return };
    assert_eq!(ask(&served, "keep", listed), "pong");
    told.recv_timeout(Duration::from_secs(60)).expect("its end");
    wait_until("the host has seen it", || {
        // The guest has not closed its own end.
        counts(&served).received.load(Ordering::Relaxed) == 4
    });
    let said = ask(&served, "keep", listed);
    assert!(said.is_empty() || said == format!("read {ECONNRESET}"), "{said}");
}

#[test]
fn what_was_said_before_the_answer_arrives_though_the_machine_is_reset() {
    let (tell, told) = channel();
    let listed = server(move |mut stream| {
        let mut said = Vec::new();
        drop(stream.read_to_end(&mut said));
        drop(tell.send(said));
    });
    let Some(served) = start(&[listed]) else { return };
    for _ in 0..5 {
        assert_eq!(ask(&served, "leave", listed), "left");
        let said = told.recv_timeout(Duration::from_secs(60)).expect("its end");
        assert_eq!(said, b"gone but not lost; ".repeat(1000));
    }
}

#[test]
fn before_the_snapshot_nothing_is_reached() {
    let touched = Arc::new(AtomicUsize::new(0));
    let seen = touched.clone();
    let listed = server(move |stream| {
        seen.fetch_add(1, Ordering::SeqCst);
        echo(stream);
    });
    let how = How {
        arguments: vec![listed.port().to_string()],
        ..to(&[listed])
    };
    let Some(served) = start_how(&how) else { return };
    assert_eq!(ask(&served, "boot", listed), ECONNREFUSED.to_string());
    assert_eq!(touched.load(Ordering::SeqCst), 0);
    assert_eq!(counts(&served).refused.load(Ordering::Relaxed), 1);
    assert_eq!(ask(&served, "block", listed), "answer to question");
}

#[test]
fn requests_of_a_warm_up_connect_where_that_was_asked_for_and_the_snapshot_holds_no_connection() {
    let connections = Arc::new(AtomicUsize::new(0));
    let made = connections.clone();
    let listed = server(move |mut stream| {
        let number = made.fetch_add(1, Ordering::SeqCst);
        let mut ping = [0; 4];
        while stream.read_exact(&mut ping).is_ok() {
            // The program waits for it in real time.
            thread::sleep(Duration::from_millis(20));
            drop(stream.write_all(number.to_string().as_bytes()));
        }
    });
    let path = format!("/pooled/{}/{}", listed.ip(), listed.port());
    for ephemeral in [true, false] {
        let begin = connections.load(Ordering::SeqCst);
        let how = How {
            warmup: vec![path.clone(); 3],
            warmup_connects: true,
            ephemeral,
            ..to(&[listed])
        };
        let Some(served) = start_how(&how) else { return };
        // Each request of the warm-up finds the connection of the one before ended.
        assert_eq!(connections.load(Ordering::SeqCst), begin + 3);
        wait_until("the warm-up's connections are given back", || {
            counts(&served).open.load(Ordering::Relaxed) == 0
        });
        assert_eq!(ask(&served, "pooled", listed), (begin + 3).to_string());
        let again = if ephemeral { begin + 4 } else { begin + 3 };
        assert_eq!(ask(&served, "pooled", listed), again.to_string());
        let answered = if ephemeral { "4" } else { "6" };
        assert_eq!(ask(&served, "count", listed), answered);
        assert_eq!(counts(&served).refused.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn only_requests_of_a_warm_up_connect_and_only_to_what_is_listed() {
    let (listed, other) = (server(echo), server(echo));
    let path = |to: SocketAddr| format!("/block/{}/{}", to.ip(), to.port());
    let how = How {
        arguments: vec![listed.port().to_string()],
        warmup: vec![path(listed), path(other), path(listed)],
        warmup_connects: true,
        ..to(&[listed])
    };
    let Some(served) = start_how(&how) else { return };
    assert_eq!(ask(&served, "boot", listed), ECONNREFUSED.to_string());
    let counts = counts(&served);
    assert_eq!(counts.made.load(Ordering::Relaxed), 2);
    assert_eq!(counts.refused.load(Ordering::Relaxed), 2);
    assert_eq!(ask(&served, "block", listed), "answer to question");
}
