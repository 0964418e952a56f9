//! The personality against real Linux: small C and Rust programs run natively and in a machine, and must print and end alike.
//!
//! The programs are native/linux/tests/programs/*.c and rust/*.rs. Each prints what its calls answered; none depends on addresses, ids or the user.

#[path = "../../pool/tests/support/rounds.rs"]
mod rounds;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rounds::rounds;

/// What every program can read on its fd 0.
const INPUT: &[u8] = b"some input\n";
/// How long one program may take, on the slowest of machines.
const LIMIT: Duration = Duration::from_secs(120);

/// Why this machine cannot run the comparison.
fn missing() -> Option<&'static str> {
    if let Err(mayfly_vmm::Error::Unavailable(_)) = mayfly_vmm::Host::open() {
        return Some("no /dev/kvm that can run a machine");
    }
    match Command::new("gcc")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
    {
        Ok(_) => None,
        Err(_) => Some("gcc is missing"),
    }
}

/// What a run of a program shows: its output and the status that a shell would show. One that does not end is killed.
fn run(mut command: Command) -> (String, i32) {
    let end = Instant::now() + LIMIT;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    // A program that reads nothing may be gone already.
    let fed = child.stdin.take().expect("a pipe").write_all(INPUT);
    drop(fed);
    let mut stdout = child.stdout.take().expect("a pipe");
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut output = Vec::new();
        let whole = stdout.read_to_end(&mut output).map(|_| output);
        // Nobody waits any more if the program was killed.
        drop(tell.send(whole));
    });
    let output = told.recv_timeout(LIMIT);
    let status = loop {
        if let Some(status) = child.try_wait().expect("our child") {
            break status;
        }
        if Instant::now() >= end {
            child.kill().expect("our child");
        }
        thread::sleep(Duration::from_micros(100));
    };
    let output = match output {
        Ok(output) => output.expect("the output is read"),
        Err(_) => b"did not end".to_vec(),
    };
    let status = status.code().or(status.signal().map(|signal| 128 + signal));
    (
        String::from_utf8_lossy(&output).into_owned(),
        status.expect("a status"),
    )
}

/// The first lines that differ, one run beside the other.
fn difference(native: &str, guest: &str) -> String {
    let pairs = native.lines().map(Some).chain(std::iter::repeat(None));
    let pairs = pairs.zip(guest.lines().map(Some).chain(std::iter::repeat(None)));
    let different = pairs
        .take_while(|pair| *pair != (None, None))
        .find(|(native, guest)| native != guest);
    match different {
        Some((native, guest)) => format!("native: {native:?}\n  guest:  {guest:?}"),
        None => "the same lines".to_owned(),
    }
}

/// Compiles a C program and runs it both ways; what differs, if anything.
fn compare(source: &Path, folder: &Path, link: &[&str]) -> Result<(), String> {
    let (name, program) = place(source, folder);
    let built = Command::new("gcc")
        .args(["-O1", "-w", "-o"])
        .arg(&program)
        .arg(source)
        .args(link)
        .args(["-lpthread", "-lm"])
        .status()
        .map_err(|error| format!("{name}: starting gcc: {error}"))?;
    if !built.success() {
        return Err(format!("{name}: gcc refuses it"));
    }
    compare_program(&name, &program, link)
}

/// The name of a program, and where it is compiled to.
fn place(source: &Path, folder: &Path) -> (String, PathBuf) {
    let name = source.file_stem().expect("a name").to_string_lossy().into_owned();
    let program = folder.join(&name);
    (name, program)
}

/// Runs a compiled program both ways and removes it; what differs, if anything.
fn compare_program(name: &str, program: &Path, link: &[&str]) -> Result<(), String> {
    let (native, native_status) = run(Command::new(program));
    let mut machine = Command::new(env!("CARGO_BIN_EXE_mayfly-vm"));
    machine.arg("run").arg(program);
    let (guest, guest_status) = run(machine);
    fs::remove_file(program).map_err(|error| format!("{name}: removing it: {error}"))?;
    if (&native, native_status) == (&guest, guest_status) {
        return Ok(());
    }
    let lines = difference(&native, &guest);
    Err(format!(
        "{name} {link:?}: native status {native_status}, guest status {guest_status}\n  {lines}"
    ))
}

/// Compiles a Rust program and runs it both ways.
fn compare_rust(source: &Path, folder: &Path) -> Result<(), String> {
    let (name, program) = place(source, folder);
    let built = Command::new("rustc")
        .args(["--edition", "2024", "-O", "-A", "warnings", "-o"])
        .arg(&program)
        .arg(source)
        .status()
        .map_err(|error| format!("{name}: starting rustc: {error}"))?;
    if !built.success() {
        return Err(format!("{name}: rustc refuses it"));
    }
    compare_program(&name, &program, &[])
}

/// The sources of the programs in a language, by its extension.
fn sources_in(folder: &str, language: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of the programs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == language))
        .collect();
    sources.sort();
    sources
}

/// All the C programs' sources.
fn sources() -> Vec<PathBuf> {
    sources_in("../linux/tests/programs", "c")
}

fn compare_all(sources: &[PathBuf], link: &[&str], label: &str) {
    if let Some(why) = missing() {
        println!("SKIPPED: {why}");
        return;
    }
    compare_each(sources, label, |source, folder| compare(source, folder, link));
}

fn compare_each(sources: &[PathBuf], label: &str, compare: impl Fn(&Path, &Path) -> Result<(), String>) {
    let folder = std::env::temp_dir().join(format!("mayfly-programs-{label}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let failures: Vec<String> = sources
        .iter()
        .filter_map(|source| compare(source, &folder).err())
        .collect();
    fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n{}",
        failures.len(),
        sources.len(),
        failures.join("\n")
    );
}

#[test]
fn dynamic_programs_print_what_they_print_on_linux() {
    let sources = sources();
    assert!(sources.len() >= 60, "{} programs", sources.len());
    compare_all(&sources, &[], "dynamic");
}

#[test]
fn rust_programs_print_what_they_print_on_linux() {
    let version = Command::new("rustc")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let missing = missing().or(version.is_err().then_some("rustc is missing"));
    if let Some(why) = missing {
        println!("SKIPPED: {why}");
        return;
    }
    let sources = sources_in("../linux/tests/programs/rust", "rs");
    assert!(sources.len() >= 4, "{} programs", sources.len());
    compare_each(&sources, "rust", compare_rust);
}

/// The programs whose start or libc parts differ most by how they are linked.
fn a_few() -> Vec<PathBuf> {
    let chosen = [
        "mmap_file",
        "thread_many",
        "signal_faults",
        "time_clocks",
        "mutex_contended",
        "locale_stdio",
    ];
    let sources = sources();
    let few: Vec<PathBuf> = sources
        .into_iter()
        .filter(|source| {
            chosen
                .iter()
                .any(|name| source.file_stem().is_some_and(|stem| stem == *name))
        })
        .collect();
    assert_eq!(few.len(), chosen.len());
    few
}

#[test]
fn static_programs_print_what_they_print_on_linux() {
    compare_all(&a_few(), &["-static"], "static");
}

#[test]
fn static_pie_programs_print_what_they_print_on_linux() {
    compare_all(&a_few(), &["-static-pie"], "static-pie");
}

#[test]
fn a_flood_of_random_calls_ends_the_program_at_most() {
    if let Some(why) = missing() {
        println!("SKIPPED: {why}");
        return;
    }
    let folder = std::env::temp_dir().join(format!("mayfly-flood-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let program = folder.join("flood");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../linux/tests/hostile/flood.c");
    let built = Command::new("gcc")
        .args(["-O1", "-w", "-static", "-o"])
        .arg(&program)
        .arg(source)
        .status();
    assert!(built.expect("gcc starts").success());
    let mut troubles = Vec::new();
    for seed in 1..=rounds(4) {
        // The program ends itself after three seconds; a machine that does not let it is caught by `timeout`.
        let mut machine = Command::new("timeout");
        machine.args(["180", env!("CARGO_BIN_EXE_mayfly-vm"), "run", "--memory", "64"]);
        machine.arg(&program).arg(seed.to_string()).arg("20000");
        let output = machine.stdin(Stdio::null()).output().expect("the machine starts");
        let log = String::from_utf8_lossy(&output.stderr);
        // A panic of the host ends with 101 and a hang with 124; a guest's death has the status of a shell.
        if log.contains("panicked")
            || output
                .status
                .code()
                .is_none_or(|status| status == 101 || status == 124)
        {
            troubles.push(format!("seed {seed}: {:?}: {log}", output.status));
        }
    }
    fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}
