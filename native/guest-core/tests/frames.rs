//! The frames that a guest takes and gives.

mod process;

use std::io::Write;

use process::{ECHO, Guest, Scripts};

#[test]
fn frames_come_and_go() {
    let scripts = Scripts::new(ECHO);
    let mut command = scripts.command();
    command.arg(scripts.path("program.js"));
    let mut guest = Guest::start(command);
    for header in ["{\"a\":1}", "[1]\n[2]\n34", "\u{20ac}\t\tb\t\n[]"] {
        for body in [&b""[..], b"body", &[7; 40_000], &[8; 200_000]] {
            guest.send(header, body);
            assert_eq!(guest.receive(), (header.to_owned(), body.to_vec()));
        }
    }
    assert_eq!(guest.end(), (String::new(), Some(0)));
}

#[test]
fn answers_are_frames_within_their_limits() {
    let scripts = Scripts::new(
        "
        const kept = host.keepHeader('[kept]')
        for (;;) {
          const frame = host.receive()
          if (frame === null) host.exit(0)
          const n = Number(frame[0])
          const text = 'a\u{e9}\u{20ac}\u{1f41d}'.repeat(n)
          const done = [
            host.sendText('[text]', text, text.length, 1e9),
            host.sendKept(kept, text, text.length, 10 * n),
            host.sendBytes('[bytes]', new Uint8Array(n), n),
            host.sendKept(kept, text, text.length, 10 * n - 1),
            host.sendText('[text]', text, text.length, n),
            host.sendBytes('[bytes]', new Uint8Array(n), n - 1),
            host.sendText('h'.repeat((1 << 20) + 1), '', 0, 0),
          ]
          host.sendText(JSON.stringify(done), '', 0, 0)
        }
        ",
    );
    let mut command = scripts.command();
    command.arg(scripts.path("program.js"));
    let mut guest = Guest::start(command);
    for count in [1, 3999, 4001, 40_000] {
        let text = "a\u{e9}\u{20ac}\u{1f41d}".repeat(count).into_bytes();
        guest.send(&count.to_string(), b"");
        assert_eq!(guest.receive(), ("[text]".to_owned(), text.clone()));
        assert_eq!(guest.receive(), ("[kept]".to_owned(), text));
        assert_eq!(guest.receive(), ("[bytes]".to_owned(), vec![0; count]));
        let done = "[true,true,true,false,false,false,false]".to_owned();
        assert_eq!(guest.receive(), (done, Vec::new()));
    }
    assert_eq!(guest.end(), (String::new(), Some(0)));
}

#[test]
fn bytes_that_are_no_frame_are_told() {
    for (bytes, wanted) in [
        (&b"HTTP"[..], "wrong first bytes, wanted MAYF"),
        (b"MAYF\x09", "version 9, wanted 1"),
        (b"MAYF\x01\x02", "kind 2"),
        (b"MAYF\x01\x01\0\x80", "flags 0x8000"),
        (b"MAYF\x01\x01\0\0\x01\0\0\0\0\0\0\0{}", "1 bytes after its end"),
        (
            b"MAYF\x01\x01\0\0\x09\0\0\0\0\0\0\0{",
            "the input ended inside it",
        ),
        (b"MAY", "the input ended inside it"),
    ] {
        let scripts = Scripts::new(ECHO);
        let mut command = scripts.command();
        command.arg(scripts.path("program.js"));
        let mut guest = Guest::start(command);
        let input = guest.input.as_mut().expect("an open pipe");
        input.write_all(bytes).expect("a guest that reads");
        let (text, status) = guest.end();
        assert!(
            text.contains("Reading a frame: ") && text.contains(wanted),
            "{text}"
        );
        assert_eq!(status, Some(1));
    }
}
