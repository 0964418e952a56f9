//! The leak check is green, and red with each step of the reset left out. Skipped aloud without `/dev/kvm`.

#[path = "../../pool/tests/support/rounds.rs"]
mod rounds;

use std::process::{Command, Output};

use serde_json::{Value, json};

use rounds::rounds;

/// Runs `mayfly-vm leak-check`; `None`, and says so, where no machine can run.
fn leak_check(arguments: &[&str]) -> Option<Output> {
    if let Err(mayfly_vmm::Error::Unavailable(why)) = mayfly_vmm::Host::open() {
        eprintln!("SKIPPED: {}", why.reason);
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayfly-vm"));
    let output = command.arg("leak-check").args(arguments).output();
    Some(output.expect("the command starts"))
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn nothing_is_left_after_a_reset_and_every_broken_reset_is_noticed() {
    let Some(output) = leak_check(&["--json"]) else {
        return;
    };
    let report = text(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(told["clean"], true, "{report}");
    let list = |name: &str| told[name].as_array().expect("a list").clone();
    let places = list("places");
    assert!(places.len() > 55, "{report}");
    for row in places {
        let place = row["place"].as_str().expect("a name");
        // Only vector registers may be absent.
        let absent = row["verdict"] == "absent" && (place.contains("MM") || place.contains("mask registers"));
        assert!(row["verdict"] == "ok" || absent, "{row}");
    }
    let broken = list("broken");
    assert_eq!(broken.len(), 22, "{report}");
    assert!(broken.iter().all(|reset| reset["right"] == true), "{report}");
    // A missing flush alone may have nothing that notices it, and then says so.
    let unseen = |reset: &&Value| reset["noticedBy"] == json!([]);
    assert!(
        broken.iter().filter(unseen).all(|reset| reset["hidden"] == true),
        "{report}"
    );
    assert!(broken.iter().filter(unseen).count() <= 1, "{report}");
}

#[test]
fn a_reset_without_a_step_ends_the_command_with_1() {
    let Some(output) = leak_check(&["--without", "list"]) else {
        return;
    };
    let names = text(&output);
    assert_eq!(names.lines().count(), 22);
    // All are seen in one run by the test above; this is about what a user sees of one.
    let chosen = [
        "machine:Pages",
        "machine:Flush",
        "machine:Vectors",
        "kernel:OpenFiles",
        "kernel:HeldBytes",
        "host-writes:Msr",
    ];
    assert!(
        chosen
            .iter()
            .all(|name| names.lines().any(|known| known == *name))
    );
    let red = |name: &str| {
        let output = leak_check(&["--without", name]).expect("the machine was there before");
        let report = text(&output);
        if name == "machine:Flush" && report.contains("flush: ReloadCr3") {
            eprintln!("a missing flush is not visible on this CPU: {:?}", output.status);
            return;
        }
        assert_eq!(output.status.code(), Some(1), "{name}: {report}");
        assert!(report.contains("LEAK"), "{name}: {report}");
        assert!(!report.contains("ERROR"), "{name}: {report}");
        assert!(report.ends_with("NOT CLEAN\n"), "{name}: {report}");
    };
    chosen.into_iter().take(rounds(chosen.len())).for_each(red);
}

#[test]
fn wrong_arguments_are_named() {
    let Some(output) = leak_check(&["--without", "nothing"]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("--without: nothing"));
}
