//! Snapshots in a folder: whose it must be, how large it may become, and what lies beside a program in its file.
//!
//! ```text
//! <64 hex digits>.mayfly            a snapshot; its time of modification is that of its last use
//! .<64 hex digits>.mayfly.*.tmp     one that is written, or whose writer was killed
//! ```

use std::fs::{self, DirBuilder, File, FileTimes, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::abi::{Fault, Status, fault};

/// How the names of snapshots end.
const SUFFIX: &str = ".mayfly";
/// Digits of their names.
const DIGITS: usize = 64;
/// Age at which nobody writes an unfinished file any more.
const UNFINISHED: Duration = Duration::from_secs(3600);
/// Most answers of a warm-up that a file may have.
const ANSWERS_MAX: usize = 1 << 20;

/// Makes the folder if need be, for nobody else, and checks that nobody else could put a file there.
pub fn open_folder(folder: &Path) -> Result<(), Fault> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| refused(folder, &e.to_string()))?;
    check_folder(folder)
}

/// Refuses a folder that is another user's, or that others may write to.
fn check_folder(folder: &Path) -> Result<(), Fault> {
    let meta = fs::metadata(folder).map_err(|e| refused(folder, &e.to_string()))?;
    // SAFETY: the call takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    if !meta.is_dir() {
        return Err(refused(folder, "it is no folder"));
    }
    if meta.uid() != user || meta.mode() & 0o022 != 0 {
        let why = format!(
            "its owner is {} and its mode {:o}, want a folder of user {user} with mode 700",
            meta.uid(),
            meta.mode() & 0o777
        );
        return Err(refused(folder, &why));
    }
    Ok(())
}

/// Refuses what is no name of a snapshot, in a folder that is good. Gives the folder.
pub fn check_path(path: &Path) -> Result<&Path, Fault> {
    let is_named = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(is_snapshot);
    match path.parent() {
        Some(folder) if is_named && path.is_absolute() => {
            check_folder(folder)?;
            Ok(folder)
        }
        _ => {
            let text = format!(
                "use the snapshot {}: want an absolute path of {DIGITS} hex digits and {SUFFIX}",
                path.display()
            );
            Err(fault(Status::BadArgument, text))
        }
    }
}

fn refused(folder: &Path, why: &str) -> Fault {
    fault(
        Status::System,
        format!("use the folder {}: {why}", folder.display()),
    )
}

fn is_snapshot(name: &str) -> bool {
    name.strip_suffix(SUFFIX)
        .is_some_and(|stem| stem.len() == DIGITS && stem.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_unfinished(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    inner
        .and_then(|name| name.rsplit_once('.'))
        .is_some_and(|(name, _)| is_snapshot(name))
}

/// Notes that a file was used now. One that somebody else removed is of no concern.
pub fn touch(path: &Path) {
    let now = FileTimes::new().set_modified(SystemTime::now());
    let _ = File::open(path).and_then(|file| file.set_times(now));
}

/// Removes the files that were not used for the longest time until the others have at most `most` bytes, and what nobody finished. Who
/// has one open keeps it.
pub fn trim(folder: &Path, most: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        // Another process removes files, too.
        let (Some(name), Ok(meta)) = (name.to_str(), entry.metadata()) else {
            continue;
        };
        if !meta.is_file() {
            continue;
        }
        if is_snapshot(name) {
            files.push((used(&meta), meta.len(), entry.path()));
        } else if is_unfinished(name) && used(&meta) + UNFINISHED < SystemTime::now() {
            remove(&entry.path())?;
        }
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, length, path) in files {
        if bytes <= most {
            break;
        }
        remove(&path)?;
        bytes -= length;
    }
    Ok(())
}

fn used(meta: &Metadata) -> SystemTime {
    meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// What lies beside a program: the answers of its warm-up that were kept, and the notes of who saved it. Each is its length as a u32, then
/// its bytes; the notes are the last.
pub fn encode_notes(answers: &[Vec<u8>], notes: &[u8]) -> Vec<u8> {
    let parts = answers.iter().map(Vec::as_slice).chain([notes]);
    parts
        .flat_map(|part| [&(part.len() as u32).to_le_bytes()[..], part].concat())
        .collect()
}

/// The same, taken apart; `None` for what is no such thing.
pub fn decode_notes(mut bytes: &[u8]) -> Option<(Vec<Vec<u8>>, Vec<u8>)> {
    let mut parts = Vec::new();
    while !bytes.is_empty() && parts.len() <= ANSWERS_MAX {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        parts.push(part.to_vec());
        bytes = rest;
    }
    let notes = parts.pop()?;
    bytes.is_empty().then_some((parts, notes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A folder of this test alone, removed with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("mayfly-cache-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            open_folder(&path).unwrap();
            Folder(path)
        }

        fn file(&self, digit: char, bytes: usize, age: u64) -> PathBuf {
            let path = self
                .0
                .join(format!("{}{SUFFIX}", digit.to_string().repeat(DIGITS)));
            write(&path, bytes, age);
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, bytes: usize, age: u64) {
        fs::write(path, vec![0; bytes]).unwrap();
        let then = SystemTime::now() - Duration::from_secs(age);
        let file = File::open(path).unwrap();
        file.set_times(FileTimes::new().set_modified(then)).unwrap();
    }

    #[test]
    fn the_folder_is_for_its_owner_alone() {
        let folder = Folder::new("owner");
        let mode = fs::metadata(&folder.0).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let path = folder.0.join(format!("{}{SUFFIX}", "a".repeat(DIGITS)));
        assert!(check_path(&path).is_ok());
        for mode in [0o720, 0o702, 0o777] {
            fs::set_permissions(&folder.0, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_folder(&folder.0).unwrap_err().status, Status::System);
            assert_eq!(check_path(&path).unwrap_err().status, Status::System);
        }
        // A file in the place of a folder.
        let file = folder.0.join("file");
        write(&file, 1, 0);
        assert!(open_folder(&file).is_err());
    }

    #[test]
    fn names_are_those_of_snapshots() {
        let folder = Folder::new("names");
        let good = "0123456789abcdef".repeat(4);
        for name in [
            format!("{good}x{SUFFIX}"),
            good.clone(),
            format!("..{SUFFIX}"),
            format!("{}{SUFFIX}", &good[1..]),
        ] {
            let path = folder.0.join(name);
            assert_eq!(check_path(&path).unwrap_err().status, Status::BadArgument);
        }
        assert!(check_path(Path::new(&format!("{good}{SUFFIX}"))).is_err());
    }

    #[test]
    fn the_files_that_were_used_last_stay() {
        let folder = Folder::new("bound");
        let files: Vec<PathBuf> = ['a', 'b', 'c']
            .into_iter()
            .zip([300, 200, 100])
            .map(|(digit, age)| folder.file(digit, 1000, age))
            .collect();
        let other = folder.0.join("notes.txt");
        write(&other, 5000, 9000);
        touch(&files[0]);
        trim(&folder.0, 2000).unwrap();
        let there = |files: &[PathBuf]| files.iter().map(|file| file.exists()).collect::<Vec<_>>();
        assert_eq!(there(&files), [true, false, true]);
        trim(&folder.0, 1999).unwrap();
        assert_eq!(there(&files), [true, false, false]);
        trim(&folder.0, 0).unwrap();
        assert_eq!(there(&files), [false, false, false]);
        assert!(other.exists());
    }

    #[test]
    fn what_nobody_finished_goes_after_an_hour() {
        let folder = Folder::new("unfinished");
        let names = [(7200, 'a'), (60, 'b')].map(|(age, digit)| {
            let name = format!(
                ".{}{SUFFIX}.0123456789abcdef.tmp",
                digit.to_string().repeat(DIGITS)
            );
            let path = folder.0.join(name);
            write(&path, 10, age);
            path
        });
        trim(&folder.0, 1 << 20).unwrap();
        assert_eq!(names.map(|path| path.exists()), [false, true]);
    }

    #[test]
    fn notes_come_back_and_others_are_refused() {
        let answers = [b"one".to_vec(), Vec::new(), b"three".to_vec()];
        let bytes = encode_notes(&answers, b"mine");
        assert_eq!(
            decode_notes(&bytes).unwrap(),
            (answers.to_vec(), b"mine".to_vec())
        );
        assert_eq!(
            decode_notes(&encode_notes(&[], b"")).unwrap(),
            (Vec::new(), Vec::new())
        );
        assert!(decode_notes(b"").is_none());
        for cut in 1..bytes.len() {
            let whole = decode_notes(&bytes[..cut]);
            assert!(whole.is_none_or(|(answers, _)| answers.len() < 3), "{cut}");
        }
        assert!(decode_notes(&[0xff; 8]).is_none());
    }
}
