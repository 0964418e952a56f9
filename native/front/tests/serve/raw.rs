//! Connections that go to the program as they are (`--per-connection`).

use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use super::{connect, start_as};

fn wait_until_free(served: &super::Served) {
    let begun = Instant::now();
    while served.front.machines.parked() > 0 || served.front.machines.load() != (0, 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "a machine is held");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_gets_the_bytes_of_a_connection_and_each_connection_meets_the_snapshot() {
    let Some(served) = start_as(true, false, true) else {
        return;
    };
    for _ in 0..3 {
        let mut stream = connect(served.address);
        // The fields are as the client wrote them, in two pieces.
        stream
            .write_all(b"GET /head HTTP/1.1\r\nX-Own:   yes\r\n")
            .unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(b"\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.ends_with("\r\n\r\nGET /head HTTP/1.1\r\nX-Own:   yes"),
            "{answer}"
        );
        let mut stream = connect(served.address);
        stream.write_all(b"GET /count HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\n3"), "{answer}");
    }
    wait_until_free(&served);
}

#[test]
fn the_end_of_a_client_is_told_and_bytes_that_are_no_http_pass() {
    let Some(served) = start_as(true, false, true) else {
        return;
    };
    let mut stream = connect(served.address);
    // The program answers this by nothing, and closes once it has read an end.
    stream.write_all(b"\0\xff no request at all").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"");
    // Who says nothing and leaves, and who leaves in the middle.
    drop(connect(served.address));
    let mut stream = connect(served.address);
    stream.write_all(b"GET /endless HTTP/1.1\r\n\r\n").unwrap();
    let mut some = [0; 1000];
    stream.read_exact(&mut some).unwrap();
    drop(stream);
    wait_until_free(&served);
    let mut stream = connect(served.address);
    stream.write_all(b"GET /count HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\n3"), "{answer}");
}

#[test]
fn a_connection_that_says_nothing_holds_no_worker() {
    let Some(served) = start_as(true, false, true) else {
        return;
    };
    // One worker, five silent clients before the one that asks.
    let silent: Vec<_> = (0..5).map(|_| connect(served.address)).collect();
    thread::sleep(Duration::from_millis(100));
    let mut stream = connect(served.address);
    stream.write_all(b"GET /count HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\n3"), "{answer}");
    drop(silent);
    wait_until_free(&served);
}
