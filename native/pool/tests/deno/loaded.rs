//! Deno as a base: programs that it loads are as those that boot by themselves, and share its pages.

use std::sync::{Arc, OnceLock};

use mayfly_pool::{BootError, Limits, Load, Loading, Mount, Program, WarmupRequest, deno_spec};

use super::apart::Apart;
use super::support::{Client, frame, host, text};
use super::{CLEAN, GUEST, deno};

const PROGRAM: &str = "/program.js";
const BOOTSTRAP: &str = concat!(include_str!("frames.js"), include_str!("bootstrap.js"));

fn limits() -> Limits {
    Limits {
        memory_bytes: 192 << 20,
        output_bytes: 1 << 20,
        ..Limits::default()
    }
}

/// Deno, waiting for a program; booted once for all tests.
fn base() -> Option<Arc<Program>> {
    static BASE: OnceLock<Arc<Program>> = OnceLock::new();
    let (host, deno) = (host()?, deno()?);
    let boot = || {
        let mut spec = deno_spec(&deno, BOOTSTRAP.into(), limits());
        let last = spec.arguments.len() - 1;
        spec.arguments.insert(last, format!("--allow-read={PROGRAM}"));
        Arc::new(Program::boot(&host, &spec, &mut |_| None).unwrap())
    };
    Some(BASE.get_or_init(boot).clone())
}

fn load(base: &Arc<Program>, source: String) -> Result<Arc<Program>, BootError> {
    let load = Load {
        mounts: vec![Mount::bytes(PROGRAM, source)],
        frame: frame(&format!("{{\"control\":\"load\",\"name\":\"{PROGRAM}\"}}"), b""),
        reseed: true,
        last: None,
        limits: limits(),
        loading: Loading::default(),
    };
    // Nothing that counts: this guest keeps what its warm-up left.
    let mut warm = vec![frame("json", b""); 20];
    Program::load(base, &load, &mut |_| warm.pop().map(WarmupRequest::new)).map(Arc::new)
}

/// The guest of the other tests, which keeps a secret.
fn guest(secret: &str) -> String {
    let keep = format!("\nglobalThis.kept = '{secret}'.repeat(1000) + Math.sqrt(2);\n");
    format!("{keep}{GUEST}")
}

#[test]
fn a_loaded_program_answers_as_a_booted_one() {
    let Some(base) = base() else { return };
    let program = load(&base, guest("one")).unwrap();
    let mut client = Client::new(&program);
    let cases = [
        ("hello", CLEAN),
        ("dirty", "dirtied"),
        ("simd", "7"),
        ("trap", "RangeError"),
        ("timers", "all"),
        ("read", "NotCapable"),
        ("env", "NotCapable"),
        ("collect", "collected"),
    ];
    for (what, want) in cases {
        assert_eq!(text(&client.ask(what)), want, "{what}");
        assert_eq!(text(&client.ask("hello")), CLEAN, "after {what}");
    }
    let (first, second) = (text(&client.ask("uuid")), text(&client.ask("uuid")));
    assert_ne!(first, second);
    let (whole, own) = (base.own_bytes().unwrap(), program.own_bytes().unwrap());
    assert!(own < whole / 2, "{own} bytes beside the base's {whole}");
}

#[test]
fn programs_of_one_base_keep_their_secrets_from_each_other() {
    let Some(base) = base() else { return };
    let load = |secret: &str| load(&base, guest(secret)).unwrap();
    let asks = [("dirty", "dirtied"), ("hello", CLEAN)];
    Apart {
        base: &base,
        load: &load,
        asks: &asks,
    }
    .prove();
}

#[test]
fn a_program_that_cannot_be_loaded_says_why() {
    let Some(base) = base() else { return };
    for (source, want) in [
        ("const = 1", "Expected"),
        ("throw new Error('at once')", "at once"),
        ("import 'https://example.com/x.js'", "example.com"),
    ] {
        match load(&base, source.into()) {
            Err(BootError::Ended { log, .. }) => assert!(log.contains(want), "{source}: {log}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}
