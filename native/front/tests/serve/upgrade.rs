//! Another protocol on a client's connection, as WebSocket is: the bytes of both sides, and every end of them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::{connect, get, read_answer, read_until, reset, start};

const SHOUT: &[u8] =
    b"GET /shout HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, Upgrade\r\nupgrade: shout\r\n\r\n";

/// A connection that speaks the other protocol, and the head of the answer.
fn shout(to: std::net::SocketAddr) -> (TcpStream, String) {
    let mut stream = connect(to);
    stream.write_all(SHOUT).unwrap();
    let head = read_until(&mut stream, "HELLO ");
    (stream, head)
}

#[test]
fn bytes_go_both_ways_until_the_client_ends() {
    let Some(to) = reset() else { return };
    let (mut stream, head) = shout(to);
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(
        head.contains("upgrade: shout\r\n") && head.contains("connection: upgrade\r\n"),
        "{head}"
    );
    for word in ["one", "two"] {
        stream.write_all(word.as_bytes()).unwrap();
        assert_eq!(read_until(&mut stream, &word.to_uppercase()), word);
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    // Two requests warmed it up; of those of other clients the machine knows nothing.
    assert_eq!(rest, " BYE 3");
    assert_eq!(get(to, "/count").2, b"3");
}

#[test]
fn much_goes_through_and_a_client_that_does_not_read_slows_the_program_down() {
    let Some(to) = reset() else { return };
    const LENGTH: usize = 8 << 20;
    let (mut stream, _) = shout(to);
    let mut writing = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        writing.write_all(&vec![b'x'; LENGTH]).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    thread::sleep(Duration::from_millis(300));
    let mut read = Vec::new();
    stream.read_to_end(&mut read).unwrap();
    writer.join().unwrap();
    assert_eq!(read.len(), LENGTH + " BYE 3".len());
    assert!(read[..LENGTH].iter().all(|&byte| byte == b'X'));
}

#[test]
fn who_takes_no_bytes_is_cut_off_and_harms_nobody() {
    let Some(served) = start(true, false) else { return };
    let (mut stream, _) = shout(served.address);
    stream
        .set_write_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let begun = Instant::now();
    // It fills every buffer on the way and then waits.
    while stream.write_all(&[b'x'; 65_536]).is_ok() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "nothing bounds what waits"
        );
    }
    assert_eq!(get(served.address, "/count").2, b"3");
    while served.front.machines.parked() > 0 || served.front.machines.load() != (0, 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "its machine is held");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn who_breaks_off_gives_its_machine_back() {
    let Some(served) = start(true, false) else { return };
    for _ in 0..5 {
        drop(shout(served.address));
    }
    let begun = Instant::now();
    while served.front.machines.parked() > 0 || served.front.machines.load() != (0, 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "its machine is held");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(get(served.address, "/count").2, b"3");
}

#[test]
fn a_program_may_stay_with_http() {
    let Some(to) = reset() else { return };
    let mut stream = connect(to);
    let ask = |stream: &mut TcpStream, path: &str| {
        let text = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        read_answer(stream)
    };
    assert_eq!(ask(&mut stream, "/count").2, b"3");
    let (_, _, head) = ask(&mut stream, "/head");
    let head = String::from_utf8(head).unwrap();
    assert!(head.contains("upgrade: shout\r\nconnection: upgrade"), "{head}");
}

#[test]
fn a_program_that_nobody_asked_changes_no_protocol() {
    let Some(to) = reset() else { return };
    assert_eq!(get(to, "/shout").0, 502);
    assert_eq!(get(to, "/count").2, b"3");
}
