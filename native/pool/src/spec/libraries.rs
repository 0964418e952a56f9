//! The interpreter and the shared libraries that a program names, found where glibc would look.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mayfly_linux::image::elf;

use crate::spec::mount::Mount;

/// Where libraries are looked for.
const FOLDERS: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// Most files that a program may need.
const FILES_MAX: usize = 200;

/// The mounts that a program needs beside itself: its interpreter, the libraries that it and they name, and the loader's cache.
/// A program that is no ELF file needs none; a library that is not found is left out, and the loader will say so.
pub fn library_mounts(program: &Path) -> Vec<Mount> {
    let mut found = BTreeSet::new();
    let mut open = vec![program.to_path_buf()];
    while let Some(path) = open.pop() {
        if found.len() >= FILES_MAX {
            break;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        let Ok(headers) = elf::parse(&bytes) else { continue };
        if let Some(interpreter) = headers
            .interpreter
            .as_deref()
            .and_then(|i| str::from_utf8(i).ok())
            .filter(|i| is_loader(i))
        {
            found.insert(interpreter.to_owned());
            found.insert("/etc/ld.so.cache".to_owned());
        }
        for name in needed(&bytes, &headers) {
            let place = FOLDERS
                .iter()
                .map(|f| format!("{f}/{name}"))
                .find(|p| Path::new(p).is_file());
            if let Some(place) = place.filter(|p| found.insert(p.clone())) {
                open.push(place.into());
            }
        }
    }
    found
        .iter()
        .filter(|p| Path::new(p).is_file())
        .map(|p| Mount::same(p))
        .collect()
}

/// Whether a path may be that of a dynamic loader: a program must not have any file of the host mounted by its name.
fn is_loader(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return false;
    };
    let plain = folder.starts_with('/') && folder.split('/').all(|part| part != "..");
    plain && name.starts_with("ld") && name.contains(".so")
}

/// The names in the dynamic section (DT_NEEDED), with every offset checked.
fn needed(bytes: &[u8], program: &elf::Program) -> Vec<String> {
    const PT_DYNAMIC: u32 = 2;
    const DT_NEEDED: u64 = 1;
    const DT_STRTAB: u64 = 5;
    let word = |at: u64, n: usize| {
        let at = usize::try_from(at).ok()?;
        let mut w = [0u8; 8];
        w[..n].copy_from_slice(bytes.get(at..at.checked_add(n)?)?);
        Some(u64::from_le_bytes(w))
    };
    let names = || {
        let headers = word(32, 8)?;
        let dynamic = (0..program.header_count).map(|i| headers.saturating_add(56 * i));
        let dynamic = dynamic
            .into_iter()
            .find(|h| word(*h, 4) == Some(PT_DYNAMIC.into()))?;
        let (start, length) = (word(dynamic + 8, 8)?, word(dynamic + 32, 8)?.min(1 << 16));
        let entries: Vec<(u64, u64)> = (start..start.checked_add(length)?)
            .step_by(16)
            .map_while(|at| Some((word(at, 8)?, word(at + 8, 8)?)))
            .take_while(|e| e.0 != 0)
            .collect();
        let table = entries.iter().find(|e| e.0 == DT_STRTAB)?.1;
        let segment = program
            .segments
            .iter()
            .find(|s| s.address <= table && table - s.address < s.file_bytes)?;
        let table = usize::try_from(table - segment.address + segment.offset).ok()?;
        let name = |offset: u64| {
            let from = table.checked_add(usize::try_from(offset).ok()?)?;
            let end = bytes.get(from..)?.iter().take(256).position(|b| *b == 0)?;
            let name = str::from_utf8(&bytes[from..from + end]).ok()?;
            (!name.contains('/')).then(|| name.to_owned())
        };
        Some(
            entries
                .iter()
                .filter(|e| e.0 == DT_NEEDED)
                .filter_map(|e| name(e.1))
                .collect(),
        )
    };
    names().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_test_needs_libc_unless_it_is_static() {
        let exe = std::env::current_exe().unwrap();
        let mounts = library_mounts(&exe);
        let headers = elf::parse(&fs::read(&exe).unwrap()).unwrap();
        let libc = mounts.iter().any(|m| m.guest.ends_with("/libc.so.6"));
        assert_eq!(libc, headers.interpreter.is_some(), "{mounts:?}");
    }

    #[test]
    fn an_interpreter_is_a_loader_by_its_name() {
        for loader in [
            "/lib64/ld-linux-x86-64.so.2",
            "/lib/ld-musl-x86_64.so.1",
            "/nix/store/a/lib/ld-linux.so.2",
        ] {
            assert!(is_loader(loader), "{loader}");
        }
        for other in [
            "/etc/shadow",
            "ld.so",
            "/home/a/../b/ld.so",
            "/usr/bin/true",
            "/lib/libc.so.6",
            "",
        ] {
            assert!(!is_loader(other), "{other}");
        }
    }

    #[test]
    fn a_program_that_names_another_file_as_its_interpreter_does_not_get_it() {
        let exe = fs::read(std::env::current_exe().unwrap()).unwrap();
        let headers = elf::parse(&exe).unwrap();
        let Some(interpreter) = headers.interpreter.clone() else {
            return;
        };
        let at = exe
            .windows(interpreter.len())
            .position(|w| w == interpreter)
            .unwrap();
        let mut forged = exe;
        let name = b"/etc/passwd\0";
        forged[at..at + name.len()].copy_from_slice(name);
        let path = std::env::temp_dir().join(format!("mayfly-forged-{}", std::process::id()));
        fs::write(&path, &forged).unwrap();
        let mounts = library_mounts(&path);
        fs::remove_file(&path).unwrap();
        assert!(mounts.iter().all(|m| m.guest != "/etc/passwd"), "{mounts:?}");
    }

    #[test]
    fn broken_files_need_nothing() {
        let exe = fs::read(std::env::current_exe().unwrap()).unwrap();
        let headers = elf::parse(&exe).unwrap();
        for cut in [0, 10, 64, 100, 1000, exe.len() / 2] {
            let _ = needed(&exe[..cut], &headers);
        }
        assert_eq!(library_mounts(Path::new("/dev/null")), []);
    }
}
