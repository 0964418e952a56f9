use std::string::{String, ToString};
use std::vec;

use mayfly_wire::EXCHANGE_BYTES;

use super::*;

/// Input that comes in pieces, and what was written.
struct Scripted {
    input: Vec<u8>,
    at: usize,
    piece: usize,
    output: std::rc::Rc<std::cell::RefCell<Vec<u8>>>,
}

impl Streams for Scripted {
    fn read(&mut self, into: &mut [u8]) -> usize {
        let rest = &self.input[self.at..];
        let count = rest.len().min(into.len()).min(self.piece);
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        count
    }

    fn write(&mut self, bytes: &[u8]) {
        self.output.borrow_mut().extend_from_slice(bytes);
    }
}

fn frame(kind: Kind, header: &str, body: &[u8]) -> Vec<u8> {
    let head = Head {
        kind,
        header_bytes: header.len() as u32,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], header.as_bytes(), body].concat()
}

fn request(path: &str, body: &[u8]) -> Vec<u8> {
    let header = std::format!(
        "0\tPOST\thttp://h{path}\t{path}\t192.0.2.1\t\t[{{\"id\":\"a\\u0020b\"}},null]\n[\"host\",\"h\",\"x\",\"1\"]\n5f"
    );
    frame(Kind::Request, &header, body)
}

/// Headers and bodies of the answers, back to back.
fn answers(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut found = vec![];
    while let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() {
        let head = Head::decode(head, Kind::Response, Limits::default()).unwrap();
        let (header, rest) = rest.split_at(head.header_bytes as usize);
        let (body, rest) = rest.split_at(head.body_bytes as usize);
        found.push((str::from_utf8(header).unwrap().to_string(), body.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty());
    found
}

fn run(input: Vec<u8>, piece: usize, hook: Option<fn()>) -> Vec<(String, Vec<u8>)> {
    let output = std::rc::Rc::default();
    let streams = Scripted {
        input,
        at: 0,
        piece,
        output: std::rc::Rc::clone(&output),
    };
    let mut guest = Guest::on(streams);
    if let Some(hook) = hook {
        guest = guest.before_snapshot(hook);
    }
    while let Some(request) = guest.wait_for_request() {
        if request.path() == "/fail" {
            request.fail("no");
            continue;
        }
        if request.path() == "/drop" {
            continue;
        }
        let host = request.header("host").unwrap().into_owned();
        let text = std::format!(
            "{} {} {} {} {} {:?} {}",
            request.method(),
            request.url(),
            request.ip(),
            host,
            request.param("id").unwrap(),
            request.header("absent"),
            request.body().len()
        );
        request.respond(
            Response::new(201)
                .header("a", "\"")
                .header("b", "c")
                .body(text.as_bytes()),
        );
    }
    let written = output.borrow();
    answers(&written)
}

#[test]
fn frames_are_answered_however_they_come() {
    let large = vec![7; 200_000];
    let input = [
        frame(Kind::Request, "{\"control\":\"load\",\"name\":\"/p\"}", b""),
        frame(Kind::Request, "{\"control\":\"describe\"}", b""),
        request("/a", b"body"),
        frame(Kind::Message, "\x01\0\0\0[]", b"late"),
        request("/b", &large),
        request("/fail", b""),
        request("/drop", b""),
        frame(Kind::Request, "{\"control\":\"settle\"}", b""),
    ]
    .concat();
    for piece in [1000, 70_000, usize::MAX] {
        let got = run(input.clone(), piece, None);
        let headers: Vec<&str> = got.iter().map(|(header, _)| header.as_str()).collect();
        let created = "{\"status\":201,\"headers\":[[\"a\",\"\\u0022\"],[\"b\",\"c\"]]}";
        assert_eq!(
            headers,
            [
                "{\"handlers\":[]}",
                created,
                created,
                "{\"error\":{\"name\":\"Error\",\"message\":\"no\"}}",
                "{\"error\":{\"name\":\"Error\",\"message\":\"the program left a request without an answer\"}}",
                "{}",
            ]
        );
        let bodies: Vec<&str> = got[1..3]
            .iter()
            .map(|(_, body)| str::from_utf8(body).unwrap())
            .collect();
        assert_eq!(
            bodies,
            [
                "POST http://h/a 192.0.2.1 h a b None 4",
                "POST http://h/b 192.0.2.1 h a b None 200000",
            ]
        );
    }
}

#[test]
fn the_hook_runs_before_the_snapshot_and_not_else() {
    use core::sync::atomic::{AtomicU32, Ordering};
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let hook = || {
        CALLS.fetch_add(1, Ordering::Relaxed);
    };
    let control = |name: &str| frame(Kind::Request, &std::format!("{{\"control\":\"{name}\"}}"), b"");
    run(
        [control("describe"), control("settle")].concat(),
        usize::MAX,
        Some(hook),
    );
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    run(control("before-snapshot"), usize::MAX, Some(hook));
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}

#[test]
fn random_bytes_differ() {
    let (mut a, mut b) = ([0; 32], [0; 32]);
    random(&mut a);
    random(&mut b);
    assert_ne!(a, b);
}

fn heard(exchange: u32, words: &str, body: &[u8]) -> Vec<u8> {
    let head = Head {
        kind: Kind::Message,
        header_bytes: (EXCHANGE_BYTES as usize + words.len()) as u32,
        body_bytes: body.len() as u32,
    };
    [
        &head.encode()[..],
        &exchange.to_le_bytes(),
        words.as_bytes(),
        body,
    ]
    .concat()
}

/// A host that says one thing after the other, in pieces: a read never has parts of two.
struct Turns {
    turns: Vec<Vec<u8>>,
    piece: usize,
    output: std::rc::Rc<std::cell::RefCell<Vec<u8>>>,
}

impl Streams for Turns {
    fn read(&mut self, into: &mut [u8]) -> usize {
        let Some(turn) = self.turns.first_mut() else {
            return 0;
        };
        let count = turn.len().min(into.len()).min(self.piece);
        into[..count].copy_from_slice(&turn[..count]);
        turn.drain(..count);
        if turn.is_empty() {
            self.turns.remove(0);
        }
        count
    }

    fn write(&mut self, bytes: &[u8]) {
        self.output.borrow_mut().extend_from_slice(bytes);
    }
}

/// What calls give for what the host says, and what was said.
fn call(
    turns: &[Vec<u8>],
    piece: usize,
    calls: &[(&str, &str, Option<&[u8]>)],
) -> (Vec<Result<String, CallError>>, Vec<u8>) {
    let output = std::rc::Rc::default();
    let mut guest = Guest::on(Turns {
        turns: [&[request("/", b"kept")], turns].concat(),
        piece,
        output: std::rc::Rc::clone(&output),
    });
    let mut request = guest.wait_for_request().unwrap();
    let given = calls
        .iter()
        .map(|(function, arguments, bytes)| {
            request
                .call(function, arguments, *bytes)
                .map(|value| std::format!("{value:?}"))
        })
        .collect();
    assert_eq!(request.body(), b"kept");
    let said = output.borrow().clone();
    request.respond(Response::text(""));
    (given, said)
}

#[test]
fn calls_are_messages_and_give_what_the_host_says() {
    let turns = [
        heard(1, "[\"value\"]", b"{\"a\":1}"),
        [
            heard(99, "[\"value\"]", b"of another"),
            heard(3, "[\"bytes\"]", &vec![7; 9000]),
        ]
        .concat(),
        heard(5, "[\"error\",\"RangeError\",null]", b"why"),
        heard(0, "{\"closed\":true}", b""),
    ];
    let calls = [
        ("A.b", "[\"x\"]", None),
        ("A", "[]", Some(&b"\0\xff"[..])),
        ("A\"", "[]", Some(&b""[..])),
        ("A", "[]", None),
    ];
    for piece in [1, 100, 1 << 20] {
        let (given, said) = call(&turns, piece, &calls);
        assert_eq!(given[0], Ok("Json(\"{\\\"a\\\":1}\")".to_string()), "{piece}");
        assert_eq!(given[1], Ok(std::format!("Bytes({:?})", vec![7; 9000])));
        assert_eq!(given[2], Err(CallError::Failed("why".to_string())));
        assert_eq!(given[3], Err(CallError::Unheard));
        let wanted = [
            heard(1, "[\"call\",\"A\",\"b\",5]", b"[\"x\"]"),
            heard(3, "[\"call\",\"A\",null,2,\"bytes\"]", b"[]\0\xff"),
            heard(5, "[\"call\",\"A\\u0022\",null,2,\"bytes\"]", b"[]"),
            heard(7, "[\"call\",\"A\",null,2]", b"[]"),
        ];
        assert_eq!(said, wanted.concat());
    }
}

#[test]
fn a_call_that_is_too_large_is_not_made() {
    let large = vec![0; 1 << 20];
    let (given, said) = call(&[], 1 << 20, &[("A", "[]", Some(&large))]);
    assert_eq!(
        (&given[..], &said[..]),
        (&[Err(CallError::TooLarge)][..], &[][..])
    );
}
