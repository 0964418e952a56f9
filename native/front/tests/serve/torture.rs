//! What HTTP/1.1 lets clients send that is no request, or could be read as another: none of it reaches a guest as what it is not.

use std::io::{Read, Write};

use super::{BODY_MAX, ask, connect, get, read_answer, reset};

#[test]
fn what_is_no_request_reaches_no_guest() {
    let Some(to) = reset() else { return };
    let many = [
        &b"GET /count HTTP/1.1\r\nhost: a\r\n"[..],
        &b"x: y\r\n".repeat(200),
        b"\r\n",
    ]
    .concat();
    let long = [
        &b"GET /count HTTP/1.1\r\nhost: a\r\nx: "[..],
        &b"y".repeat(1 << 20),
        b"\r\n\r\n",
    ]
    .concat();
    let cases: [(&str, &[u8], u16); 18] = [
        ("too many fields", &many, 431),
        ("a field that is too long", &long, 431),
        (
            "a field that is continued",
            b"GET /count HTTP/1.1\r\nhost: a\r\nx: y\r\n z\r\n\r\n",
            400,
        ),
        (
            "a zero byte in a field",
            b"GET /count HTTP/1.1\r\nhost: a\r\nx: y\0z\r\n\r\n",
            400,
        ),
        (
            "a colon that is missing",
            b"GET /count HTTP/1.1\r\nhost: a\r\nxy\r\n\r\n",
            400,
        ),
        ("another version", b"GET /count HTTP/3.7\r\nhost: a\r\n\r\n", 400),
        (
            "a coding like chunked",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "a chunk of no end",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            400,
        ),
        (
            "a chunk that is longer than it says",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
            400,
        ),
        (
            "two lengths",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
            400,
        ),
        (
            "a length that is none",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\na",
            400,
        ),
        (
            "a negative length",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\na",
            400,
        ),
        (
            "another coding last",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "a bad chunk",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            400,
        ),
        (
            "a space in a name",
            b"GET /count HTTP/1.1\r\nhost : a\r\n\r\n",
            400,
        ),
        (
            "a line end in a target",
            b"GET /count\r HTTP/1.1\r\nhost: a\r\n\r\n",
            400,
        ),
        (
            "a body that is too long",
            b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 4194305\r\n\r\n",
            413,
        ),
        (
            "a method of proxies",
            b"CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n",
            501,
        ),
    ];
    for (what, request, wanted) in cases {
        let mut stream = connect(to);
        // What is refused early may be closed before all was written.
        drop(stream.write_all(request));
        if wanted == 413 {
            drop(stream.write_all(&vec![b'x'; BODY_MAX + 1]));
        }
        assert_eq!(read_answer(&mut stream).0, wanted, "{what}");
        assert_eq!(get(to, "/count").2, b"3", "after {what}");
    }
    // A length beside chunks: the chunks count, and the guest is told one length.
    let both = b"POST /head HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n";
    let (status, _, seen) = ask(to, both);
    let seen = String::from_utf8_lossy(&seen);
    assert!(
        status == 400 || seen.contains("content-length: 5") && !seen.contains("chunked"),
        "{status} {seen}"
    );
}

#[test]
fn what_could_be_read_in_two_ways_is_one_request_of_the_fronts_own() {
    let Some(to) = reset() else { return };
    let cases: [(&str, &[u8]); 4] = [
        ("bare line ends", b"GET /head HTTP/1.1\nhost: a\nx: y\n\n"),
        (
            "blanks around a value",
            b"GET /head HTTP/1.1\r\nhost: a\r\nx:  \t y \t\r\n\r\n",
        ),
        (
            "the whole address",
            b"GET http://a/head HTTP/1.1\r\nhost: b\r\nx: y\r\n\r\n",
        ),
        (
            "an empty line before",
            b"\r\nGET /head HTTP/1.1\r\nhost: a\r\nx: y\r\n\r\n",
        ),
    ];
    for (what, request) in cases {
        let (status, _, seen) = ask(to, request);
        let seen = String::from_utf8_lossy(&seen);
        let own = "GET /head HTTP/1.1\r\nhost: a\r\nx: y\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r\nconnection: close";
        assert!(
            status == 400 || status == 200 && seen == own,
            "{what}: {status} {seen}"
        );
    }
}

#[test]
fn a_request_hidden_in_a_body_stays_one() {
    let Some(to) = reset() else { return };
    let hidden = "GET /exit HTTP/1.1\r\nhost: a\r\n\r\n";
    let plain = format!(
        "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{hidden}",
        hidden.len()
    );
    assert_eq!(ask(to, plain.as_bytes()).2, hidden.as_bytes());
    let chunks = format!(
        "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{:x};a=b\r\n{hidden}\r\n0\r\nx: y\r\n\r\n",
        hidden.len()
    );
    assert_eq!(ask(to, chunks.as_bytes()).2, hidden.as_bytes());
}

#[test]
fn who_ends_early_gets_no_answer_of_anothers() {
    let Some(to) = reset() else { return };
    let request = b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\nhalf of it";
    for end in [1, 10, 30, request.len()] {
        let mut stream = connect(to);
        stream.write_all(&request[..end]).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // Closed without a word, or told that it is wrong.
        drop(stream.read_to_end(&mut answer));
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(get(to, "/count").2, b"3");
}
