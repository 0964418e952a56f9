//! A server of C behind the front, asked by sockets: what clients see of requests that go well, badly, and are none.

#[path = "../support/c_guest.rs"]
mod c_guest;
mod outgoing;
mod raw;
mod start;
mod tls;
mod torture;
mod upgrade;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use mayfly_front::admin;
use mayfly_front::listen::Listen;
use start::{How, Served, start, start_as, start_how};
use tokio::sync::watch;

/// Longest body of a request.
const BODY_MAX: usize = 4 << 20;

/// The server whose machines are reset and compared after each request.
fn reset() -> Option<SocketAddr> {
    static SERVER: OnceLock<Option<SocketAddr>> = OnceLock::new();
    *SERVER.get_or_init(|| start(true, false).map(|served| served.address))
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a listener");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a socket");
    stream
}

/// Reads an answer that has a length: status, head, body.
fn read_answer(stream: &mut TcpStream) -> (u16, String, Vec<u8>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&head)),
        }
    }
    let head = String::from_utf8(head).expect("text").to_lowercase();
    let status = head[9..12].parse().expect("a status");
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split('\r').next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).expect("a whole body");
    (status, head, body)
}

/// One request on a connection of its own, and its answer.
fn ask(to: SocketAddr, request: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = connect(to);
    stream.write_all(request).expect("a server that reads");
    read_answer(&mut stream)
}

fn get(to: SocketAddr, path: &str) -> (u16, String, Vec<u8>) {
    ask(to, format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes())
}

#[test]
fn each_request_of_a_connection_meets_the_snapshot() {
    let Some(to) = reset() else { return };
    let mut stream = connect(to);
    for _ in 0..20 {
        stream
            .write_all(b"GET /count HTTP/1.1\r\nhost: a\r\n\r\n")
            .unwrap();
        let (status, _, body) = read_answer(&mut stream);
        assert_eq!((status, &body[..]), (200, &b"3"[..]));
    }
}

#[test]
fn without_a_reset_the_machine_goes_on_with_its_state() {
    let Some(served) = start(false, false) else { return };
    let to = served.address;
    for wanted in 3..11 {
        let (_, _, body) = get(to, "/count");
        assert_eq!(String::from_utf8_lossy(&body), wanted.to_string());
    }
}

#[test]
fn bodies_go_both_ways_whatever_their_size() {
    let Some(to) = reset() else { return };
    for length in [0, 1, 1000, 65_000, 65_536, 70_000, 199_999] {
        let body = vec![b'b'; length];
        let head = format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
        let (status, _, back) = ask(to, &[head.as_bytes(), &body].concat());
        assert_eq!((status, back.len()), (200, length));
        assert!(back == body);
    }
    let chunked = b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(ask(to, chunked).2, b"abcde");
    assert_eq!(get(to, "/large").2.len(), 3 << 20);
    assert_eq!(get(to, "/until-close").2, b"all of it");
    let (status, head, body) = get(to, "/chunks");
    assert_eq!((status, &body[..]), (203, &b"half"[..]));
    assert!(head.contains("x-a: b") && !head.contains("chunked"), "{head}");
}

#[test]
fn a_guest_that_gives_no_answer_costs_its_request_a_problem_document() {
    let Some(to) = reset() else { return };
    let cases = [
        ("/spin", 504),
        ("/memory", 507),
        ("/exit", 502),
        ("/crash", 502),
        ("/rubbish", 502),
        ("/short", 502),
        ("/nothing", 502),
    ];
    for (path, wanted) in cases {
        let (status, head, body) = get(to, path);
        let text = String::from_utf8_lossy(&body);
        assert_eq!(status, wanted, "{path}: {text}");
        assert!(head.contains("application/problem+json"), "{path}: {head}");
        assert!(text.contains(&format!("\"status\":{wanted}")), "{path}: {text}");
        assert_eq!(get(to, "/count").2, b"3", "after {path}");
    }
}

#[test]
fn sleep_of_the_guest_takes_no_real_time() {
    let Some(to) = reset() else { return };
    assert_eq!(get(to, "/sleep").2, b"slept");
}

#[test]
fn a_second_answer_behind_the_first_reaches_nobody() {
    let Some(to) = reset() else { return };
    let mut stream = connect(to);
    for _ in 0..3 {
        stream
            .write_all(b"GET /split HTTP/1.1\r\nhost: a\r\n\r\n")
            .unwrap();
        assert_eq!(read_answer(&mut stream).2, b"");
        stream
            .write_all(b"GET /count HTTP/1.1\r\nhost: a\r\n\r\n")
            .unwrap();
        assert_eq!(read_answer(&mut stream).2, b"3");
    }
}

#[test]
fn the_guest_sees_one_request_of_the_fronts_own() {
    let Some(to) = reset() else { return };
    let request = b"GET /head?x=1 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Drop\r\nX-Drop: 1\r\nX-Keep: 2\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n";
    let (_, _, seen) = ask(to, request);
    let wanted = "GET /head?x=1 HTTP/1.1\r\nhost: a\r\nx-keep: 2\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r\nconnection: close";
    assert_eq!(String::from_utf8_lossy(&seen), wanted);
}

#[test]
fn requests_in_a_row_are_answered_in_their_order() {
    let Some(to) = reset() else { return };
    let mut stream = connect(to);
    let requests: String = (0..10)
        .map(|i| format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n{i}"))
        .collect();
    stream.write_all(requests.as_bytes()).unwrap();
    for i in 0..10 {
        assert_eq!(read_answer(&mut stream).2, i.to_string().as_bytes());
    }
}

#[test]
fn a_client_that_expects_to_be_told_to_go_on_is_told() {
    let Some(to) = reset() else { return };
    let mut stream = connect(to);
    stream
        .write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .unwrap();
    assert_eq!(read_answer(&mut stream).0, 100);
    stream.write_all(b"ok").unwrap();
    assert_eq!(read_answer(&mut stream).2, b"ok");
}

#[test]
fn who_hangs_or_breaks_off_harms_nobody() {
    let Some(to) = reset() else { return };
    let mut silent = connect(to);
    let mut slow = connect(to);
    slow.write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nfew")
        .unwrap();
    for _ in 0..20 {
        let mut gone = connect(to);
        gone.write_all(b"GET /spin HTTP/1.1\r\nhost: a\r\n").unwrap();
        drop(gone);
    }
    assert_eq!(get(to, "/count").2, b"3");
    assert_eq!(read_answer(&mut slow).0, 408);
    // It said nothing: it is told so, or just closed.
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).expect("an end");
}

/// Reads until what was read ends so.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(end.as_bytes()) {
        match stream.read(&mut byte) {
            Ok(1) => read.push(byte[0]),
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&read)),
        }
    }
    String::from_utf8(read).expect("text").to_lowercase()
}

#[test]
fn an_answer_comes_as_it_is_written_and_ends_with_its_client() {
    let Some(to) = reset() else { return };
    // It sleeps for an hour behind the first piece: whoever waits for the end waits in vain.
    for _ in 0..4 {
        let mut stream = connect(to);
        stream
            .write_all(b"GET /stream HTTP/1.1\r\nhost: a\r\n\r\n")
            .unwrap();
        let seen = read_until(&mut stream, "first\n\r\n");
        assert!(
            seen.contains("transfer-encoding: chunked") && seen.contains("text/event-stream"),
            "{seen}"
        );
        assert_eq!(get(to, "/count").2, b"3", "while another's answer is under way");
    }
    let mut stream = connect(to);
    stream
        .write_all(b"GET /drip HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let seen = read_until(&mut stream, "0\r\n\r\n");
    for piece in ["drip 0", "drip 4"] {
        assert!(seen.contains(piece), "{seen}");
    }
    stream
        .write_all(b"GET /count HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    assert_eq!(
        read_answer(&mut stream).2,
        b"3",
        "the connection outlives the stream"
    );
}

#[test]
fn an_answer_waits_for_its_client() {
    let Some(to) = reset() else { return };
    let mut slow = connect(to);
    slow.write_all(b"GET /flood HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    read_until(&mut slow, "\r\n\r\n");
    // There is one machine's thread: it is free while that answer has nowhere to go.
    for _ in 0..5 {
        assert_eq!(get(to, "/count").2, b"3");
    }
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).expect("an end, or a break");
    assert!(rest.len() >= 64 << 20, "{}", rest.len());
}

#[test]
fn an_answer_without_an_end_breaks_off() {
    let Some(to) = reset() else { return };
    let mut stream = connect(to);
    stream
        .write_all(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let mut all = Vec::new();
    // A reset connection is a break as well.
    drop(stream.read_to_end(&mut all));
    assert!(
        all.len() > 1 << 20 && !all.ends_with(b"0\r\n\r\n"),
        "{}",
        all.len()
    );
    assert_eq!(get(to, "/count").2, b"3");
}

#[test]
fn a_long_body_goes_to_the_program_as_it_comes() {
    let Some(to) = reset() else { return };
    let body: Vec<u8> = (0..3 << 20).map(|i: u32| (i % 251) as u8).collect();
    let sum: u32 = body.iter().map(|&byte| u32::from(byte)).sum();
    let wanted = format!("{} {sum}", body.len());
    let mut stream = connect(to);
    stream
        .write_all(
            format!(
                "POST /sum HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
                body.len()
            )
            .as_bytes(),
        )
        .unwrap();
    stream.write_all(&body).unwrap();
    assert_eq!(String::from_utf8_lossy(&read_answer(&mut stream).2), wanted);
    // Of unknown length: in chunks to the program as well.
    let mut chunked = b"POST /raw HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in body.chunks(50_000) {
        chunked.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        chunked.extend_from_slice(piece);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let (status, _, told) = ask(to, &chunked);
    let told: usize = String::from_utf8_lossy(&told).parse().expect("a number");
    assert!(
        status == 200 && told > body.len() && told < body.len() + 100_000,
        "{told}"
    );
    // One that stops in the middle, and one that breaks off, harm nobody.
    for gone in [true, false] {
        let mut stops = connect(to);
        stops
            .write_all(b"POST /sum HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n")
            .unwrap();
        stops.write_all(&body[..200_000]).unwrap();
        if gone {
            drop(stops);
        } else {
            assert_eq!(read_answer(&mut stops).0, 408);
        }
        assert_eq!(get(to, "/count").2, b"3");
    }
}

#[test]
fn a_request_that_would_hold_too_much_while_it_waits_is_refused() {
    let how = How {
        parked_bytes: 1,
        ..How::default()
    };
    let Some(Served { address: to, front }) = start_how(&how) else {
        return;
    };
    for _ in 0..2 {
        let mut waits = connect(to);
        waits
            .write_all(b"POST /sum HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n")
            .unwrap();
        waits.write_all(&[b'a'; 200_000]).unwrap();
        let (status, head, _) = read_answer(&mut waits);
        assert!(status == 503 && head.contains("retry-after"), "{status}: {head}");
        assert_eq!(get(to, "/count").2, b"3");
    }
    assert_eq!((front.machines.parked(), front.machines.parked_bytes()), (0, 0));
}

#[test]
fn operators_read_what_was_done() {
    let Some(Served { address: to, front }) = start(true, false) else {
        return;
    };
    for (path, times) in [("/count", 3), ("/exit", 2)] {
        for _ in 0..times {
            get(to, path);
        }
    }
    let (_stop, stopped) = watch::channel(false);
    let Listen::Tcp(admin) =
        admin::start(front, &Listen::Tcp(([127, 0, 0, 1], 0).into()), stopped).expect("an address")
    else {
        unreachable!("it was told an address")
    };
    let (status, head, body) = get(admin, "/metrics");
    let text = String::from_utf8(body).expect("text");
    assert!(status == 200 && head.contains("text/plain"), "{head}");
    for line in [
        "mayfly_requests_total{outcome=\"answered\"} 3",
        "mayfly_requests_total{outcome=\"exited\"} 2",
        "mayfly_answers_total{status=\"2xx\"} 3",
        "mayfly_answers_total{status=\"5xx\"} 2",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    let (status, head, body) = get(admin, "/status");
    assert!(status == 200 && head.contains("application/json") && body.starts_with(b"{"));
    assert_eq!(get(admin, "/other").0, 404);
    assert_eq!(ask(admin, b"POST /status HTTP/1.1\r\nhost: a\r\n\r\n").0, 405);
}
