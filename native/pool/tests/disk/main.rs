//! Programs in files: what comes back of one, and what is refused. Skipped aloud without `/dev/kvm` or `cc`.

#[path = "../support/c_guest.rs"]
mod c_guest;
mod damage;
mod over_base;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use c_guest::{compile, compiled, spec};
use mayfly_pool::{DiskError, Mount, Opening, Program, WarmupRequest};
use mayfly_vmm::Host;
use support::{Client, frame, host, text};

/// A folder of its own for a test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("disk-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn guest(linkage: &str) -> Option<String> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    let built = BUILT.get_or_init(|| ["", "-static"].iter().all(|l| compile("disk", l)));
    built.then(|| compiled("disk", linkage))
}

/// Boots the guest, which also sees `lent`.
fn boot(host: &Arc<Host>, path: &str, lent: Option<&Path>) -> Program {
    let mut spec = spec(path);
    spec.mounts.push(Mount::bytes("/given", "bytes that were given"));
    spec.mounts.extend(lent.map(|lent| Mount::host("/lent", lent)));
    let mut warm = vec![frame("warm", b""); 3];
    Program::boot(host, &spec, &mut |_| warm.pop().map(WarmupRequest::new)).unwrap()
}

fn open(host: &Arc<Host>, path: &Path) -> Result<(Arc<Program>, Vec<u8>), DiskError> {
    Program::open(host, path, &Opening::default()).map(|(program, notes)| (Arc::new(program), notes))
}

/// The words with which a file is refused; that it is not is a failure.
fn refusal(host: &Arc<Host>, path: &Path) -> String {
    match open(host, path) {
        Err(DiskError::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// A file of the guest's in this folder.
fn saved(folder: &Folder) -> Option<(Arc<Host>, PathBuf)> {
    let (host, guest) = (host()?, guest("-static")?);
    let path = folder.file("saved");
    boot(&host, &guest, None).save(&path, b"notes", None).unwrap();
    Some((host, path))
}

#[test]
fn all_state_comes_back() {
    let folder = Folder::new();
    for linkage in ["-static", ""] {
        let (Some(host), Some(guest)) = (host(), guest(linkage)) else {
            return;
        };
        let (path, lent) = (folder.file("saved"), folder.file("lent"));
        fs::write(&lent, "lent text").unwrap();
        let program = Arc::new(boot(&host, &guest, Some(&lent)));
        assert_eq!(text(&Client::new(&program).ask("look")), "all there");
        program.save(&path, b"notes of mine", None).unwrap();
        drop(program);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (program, notes) = open(&host, &path).unwrap();
        assert_eq!(notes, b"notes of mine");
        // Each answer is followed by a reset, and by a comparison of everything with the snapshot.
        let mut clients = [Client::new(&program), Client::new(&program)];
        for client in &mut clients {
            for _ in 0..3 {
                assert_eq!(text(&client.ask("look")), "all there", "{linkage}");
                assert_eq!(text(&client.ask("file /lent")), "lent text");
                assert_eq!(text(&client.ask("file /given")), "bytes that were given");
            }
        }
        // A file of what came from a file is as good.
        let again = folder.file("again");
        program.save(&again, &notes, None).unwrap();
        let (program, _) = open(&host, &again).unwrap();
        assert_eq!(text(&Client::new(&program).ask("look")), "all there");
    }
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        3,
        "temporary files are gone"
    );
}

#[test]
fn two_starts_share_no_randomness_and_the_clocks_move() {
    let folder = Folder::new();
    let Some((host, path)) = saved(&folder) else {
        return;
    };
    let mut seen = std::collections::BTreeSet::new();
    let mut clients = [(); 2].map(|()| Client::new(&open(&host, &path).unwrap().0));
    for client in &mut clients {
        for _ in 0..20 {
            assert!(seen.insert(text(&client.ask("random"))));
        }
    }
    // What was drawn before the snapshot is the program's state.
    let drawn = clients.each_mut().map(|client| text(&client.ask("drawn")));
    assert_eq!(drawn[0], drawn[1]);
    let time = text(&clients[0].ask("time"));
    let (mono, real) = time.split_once(' ').unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now.abs_diff(real.parse().unwrap()) <= 300, "{time} at {now}");
    assert!(
        mono.parse::<u64>().unwrap() < 300,
        "{time}: it goes on from the snapshot"
    );
}

#[test]
fn a_lent_file_that_changed_is_refused_and_one_that_was_only_touched_is_not() {
    let folder = Folder::new();
    let (Some(host), Some(guest)) = (host(), guest("-static")) else {
        return;
    };
    let (path, lent) = (folder.file("saved"), folder.file("lent"));
    // Large enough for a memory slot.
    for bytes in [10, 9 << 20] {
        fs::write(&lent, vec![b'a'; bytes]).unwrap();
        boot(&host, &guest, Some(&lent)).save(&path, b"", None).unwrap();
        fs::remove_file(&lent).unwrap();
        let why = refusal(&host, &path);
        assert!(why.contains("another") && why.contains("lent"), "{why}");
        fs::write(&lent, vec![b'b'; bytes]).unwrap();
        assert!(refusal(&host, &path).contains("written since"));
        fs::write(&lent, vec![b'a'; bytes + 1]).unwrap();
        assert!(refusal(&host, &path).contains(&format!("had {bytes} bytes")));
        fs::write(&lent, vec![b'a'; bytes]).unwrap();
        let (program, _) = open(&host, &path).unwrap();
        let told = text(&Client::new(&program).ask("file /lent"));
        assert_eq!(told, "a".repeat(bytes.min(1 << 16)));
    }
}

#[test]
fn what_another_user_could_change_is_refused() {
    let folder = Folder::new();
    let Some((host, path)) = saved(&folder) else {
        return;
    };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
    let why = refusal(&host, &path);
    assert!(why.contains("another user") && why.contains("620"), "{why}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(open(&host, &path).is_ok());
    assert!(refusal(&host, &folder.0).contains("no file"));
    assert!(matches!(
        open(&host, &folder.file("missing")),
        Err(DiskError::File { .. })
    ));
}
