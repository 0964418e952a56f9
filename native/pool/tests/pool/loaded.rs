//! Programs that were loaded into one base: each has what is its own, shares the rest, and sees nothing of the others.

use std::sync::Arc;

use mayfly_pool::{BootError, Limits, Load, Loading, Mount, Program, WarmupRequest};

use super::apart::Apart;
use super::c_guest::spec;
use super::guest;
use super::support::{Client, frame, host, text};

const SECRET_BYTES: usize = 20_000;

/// The runtime, which waits.
fn base() -> Option<Arc<Program>> {
    let (host, path) = (host()?, guest("")?);
    Some(Arc::new(
        Program::boot(&host, &spec(&path), &mut |_| None).unwrap(),
    ))
}

fn load_of(secret: &str) -> Load {
    Load {
        mounts: vec![Mount::bytes(
            "/app/secret",
            secret.repeat(SECRET_BYTES / secret.len()),
        )],
        frame: frame("load", b""),
        reseed: false,
        last: None,
        limits: spec("").limits,
        loading: Loading::default(),
    }
}

fn load(base: &Arc<Program>, secret: &str) -> Arc<Program> {
    let mut warm = vec![frame("warm", b""); 3];
    let mut warmup = |_: Option<(&[u8], u64)>| warm.pop().map(WarmupRequest::new);
    Arc::new(Program::load(base, &load_of(secret), &mut warmup).unwrap())
}

#[test]
fn programs_of_one_base_are_themselves() {
    let Some(base) = base() else { return };
    let names = ["the first ", "the other "];
    let mut clients = names.map(|name| Client::new(&load(&base, name)));
    for round in 0..3 {
        for (client, name) in clients.iter_mut().zip(names) {
            let told = text(&client.ask("loaded"));
            assert!(
                told.starts_with(name) && told.ends_with(" 101 0"),
                "{round}: {told}"
            );
        }
    }
}

#[test]
fn programs_of_one_base_keep_their_secrets_from_each_other() {
    let Some(base) = base() else { return };
    let load = |secret: &str| load(&base, secret);
    let asks = [("dirty", "dirtied"), ("wild", "survived")];
    Apart {
        base: &base,
        load: &load,
        asks: &asks,
    }
    .prove();
}

#[test]
fn a_base_is_the_same_after_its_programs() {
    let Some(base) = base() else { return };
    let mut before = Client::new(&base);
    assert_eq!(text(&before.ask("loaded")), " 1 -1");
    drop(load(&base, "gone-"));
    let kept = load(&base, "kept-");
    for client in [&mut before, &mut Client::new(&base)] {
        assert_eq!(text(&client.ask("loaded")), " 1 -1");
        assert_eq!(text(&client.ask("count")), "1");
        client.instance.check().unwrap();
    }
    drop((before, base));
    assert!(
        text(&Client::new(&kept).ask("loaded")).starts_with("kept-"),
        "without its base's program"
    );
}

#[test]
fn a_program_takes_less_than_its_base() {
    let Some(base) = base() else { return };
    let program = load(&base, "small-");
    let (whole, own) = (base.own_bytes().unwrap(), program.own_bytes().unwrap());
    assert!(own < whole, "{own} bytes beside the base's {whole}");
    assert!(own > SECRET_BYTES as u64, "{own}");
    assert!(program.report().memory_bytes >= base.report().memory_bytes);
}

#[test]
fn a_loaded_program_has_bounds_of_its_own() {
    let Some(base) = base() else { return };
    let mut bounded = load_of("bounds-");
    bounded.limits = Limits {
        output_bytes: 1000,
        log_bytes: 3,
        calls: 50,
        threads: 2,
        ..bounded.limits
    };
    let program = Arc::new(Program::load(&base, &bounded, &mut |_| None).unwrap());
    let mut client = Client::new(&program);
    assert_eq!(client.ask("big").name(), "output");
    assert_eq!(client.ask("spin-calls").name(), "calls");
    assert!(text(&client.ask("loaded")).starts_with("bounds-"));
    let mut free = Client::new(&base);
    assert_eq!(text(&free.ask("big")).len(), 600_000);
}

#[test]
fn a_base_that_cannot_load_ends_with_its_reason() {
    let Some(base) = base() else { return };
    let refused = |load: &Load| match Program::load(&base, load, &mut |_| None) {
        Err(BootError::Ended { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let missing = Load {
        mounts: Vec::new(),
        ..load_of("x")
    };
    let what = refused(&missing);
    assert!(what.contains("Exit(8)"), "{what}");
    let answered = Load {
        frame: frame("count", b""),
        ..load_of("x")
    };
    let what = refused(&answered);
    assert!(what.contains("answers"), "{what}");
}

#[test]
fn a_load_has_a_time_and_a_memory_of_its_own() {
    let Some(base) = base() else { return };
    let endless = Load {
        frame: frame("spin", b""),
        loading: Loading {
            cpu_ns: Some(50_000_000),
            ..Loading::default()
        },
        ..load_of("x")
    };
    let begin = std::time::Instant::now();
    match Program::load(&base, &endless, &mut |_| None) {
        Err(BootError::Ended { what, .. }) => assert_eq!(what, "worked too long"),
        other => panic!("{other:?}"),
    }
    assert!(begin.elapsed().as_nanos() < u128::from(endless.limits.boot_ns));
    // What it may use until its snapshot, and what is left of that for a request.
    let small = Limits {
        memory_bytes: base.report().memory_bytes,
        ..load_of("x").limits
    };
    let tight = Load {
        limits: small,
        ..load_of("x")
    };
    assert!(Program::load(&base, &tight, &mut |_| None).is_err());
    let roomy = Load {
        limits: small,
        loading: Loading {
            memory_bytes: load_of("x").limits.memory_bytes,
            request_bytes: 8 << 20,
            cpu_ns: None,
        },
        ..load_of("roomy ")
    };
    let program = Arc::new(Program::load(&base, &roomy, &mut |_| None).unwrap());
    assert!(text(&Client::new(&program).ask("loaded")).starts_with("roomy "));
}
