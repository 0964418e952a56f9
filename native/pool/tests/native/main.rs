//! A program by `native/guest/include/mayfly.h`: what it reads, what it answers, and the frames of the program itself. Skipped aloud
//! without `/dev/kvm` or `cc`.

#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;

use std::sync::Arc;

use c_guest::{compile, compiled, spec};
use mayfly_pool::{Load, Outcome, Program, WarmupRequest};
use mayfly_wire::HEAD_BYTES;
use support::{Client, PATIENCE, frame, host};

/// Headers of a request as `src/isolate/wire/message.ts` lays them out.
fn request(method: &str, path: &str, extras: &str, body: &[u8]) -> Vec<u8> {
    let header = format!(
        "0\t{method}\thttp://localhost{path}\t{path}\t\t\t{extras}\n[\"host\",\"l\\u00f6c\\\"al\",\"a\",\"\"]\n{}",
        "5f".repeat(32)
    );
    frame(&header, body)
}

fn control(name: &str) -> Vec<u8> {
    frame(&format!("{{\"control\":\"{name}\"}}"), b"")
}

/// The header and the body of an answer.
fn parts(outcome: &Outcome) -> (String, String) {
    let Outcome::Answered(frame) = outcome else {
        panic!("no answer: {outcome}");
    };
    let header = u32::from_le_bytes(frame[8..12].try_into().unwrap()) as usize;
    let (header, body) = frame[HEAD_BYTES..].split_at(header);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(header), text(body))
}

fn ask(client: &mut Client, frame: Vec<u8>) -> (String, String) {
    parts(&client.send(frame, PATIENCE))
}

#[test]
fn a_program_by_the_header_is_loaded_warmed_up_and_reset() {
    let Some(host) = host() else { return };
    for linkage in ["-static", "-static-pie", ""] {
        if !compile("native", linkage) {
            return;
        }
        let base = Program::boot(&host, &spec(&compiled("native", linkage)), &mut |_| None).unwrap();
        let load = Load {
            frame: control("load"),
            limits: spec("").limits,
            ..Load::default()
        };
        let mut warm = vec![
            control("before-snapshot"),
            request("GET", "/warm", "", b""),
            request("GET", "/warm", "", b""),
            control("describe"),
        ];
        let mut warmup = |_: Option<(&[u8], u64)>| warm.pop().map(WarmupRequest::new);
        let program = Arc::new(Program::load(&Arc::new(base), &load, &mut warmup).unwrap());
        let mut client = Client::new(&program);
        for _ in 0..3 {
            let got = ask(
                &mut client,
                request("PUT", "/a", "[{\"id\":\"\\ud83d\\ude00\"},null]", b"body"),
            );
            let header = "{\"status\":200,\"headers\":[[\"content-type\",\"text/plain\"]]}";
            assert_eq!(
                got,
                (header.into(), "1 PUT l\u{f6}c\"al \u{1f600} body".into()),
                "{linkage}"
            );
        }
        assert_eq!(ask(&mut client, control("describe")).0, "{\"handlers\":[]}");
        let (failed, _) = ask(&mut client, request("GET", "/fail", "", b""));
        assert!(
            failed.ends_with("\"message\":\"a \\u0022reason\\u0022\\u000a\"}}"),
            "{failed}"
        );
        for length in [0, 1, 4095, 4096, 70_000, 1 << 20] {
            let (header, body) = ask(&mut client, request("POST", "/echo", "", &vec![b'x'; length]));
            assert_eq!(
                (header.as_str(), body.len()),
                ("{\"status\":200,\"headers\":[]}", length)
            );
        }
        assert_eq!(
            client.send(request("GET", "/crash", "", b""), PATIENCE),
            Outcome::Killed(6)
        );
        assert_eq!(
            ask(&mut client, request("GET", "/", "", b"")).1,
            "1 GET l\u{f6}c\"al - "
        );
    }
}
