//! What `mayfly-vm doctor` prints.

use std::process::Command;

#[test]
fn it_names_the_runtimes_or_says_what_is_missing() {
    let output = Command::new(env!("CARGO_BIN_EXE_mayfly-vm"))
        .arg("doctor")
        .output()
        .expect("mayfly-vm runs");
    let text = String::from_utf8(output.stdout).expect("its words are UTF-8");
    let has = |line: &str| text.lines().any(|found| found.starts_with(line));
    if output.status.success() {
        for line in [
            "isolation   available",
            "runtime     deno: ",
            "runtime     core: ",
        ] {
            assert!(has(line), "{line} in {text}");
        }
    } else {
        for line in ["isolation   unavailable", "reason      ", "hint        "] {
            assert!(has(line), "{line} in {text}");
        }
    }
}
