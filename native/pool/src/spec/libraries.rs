//! The interpreter and the shared libraries that a program names, found where glibc would look.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mayfly_linux::image::elf;
use object::LittleEndian;
use object::elf::{DT_NEEDED, DT_NULL, DT_STRSZ, DT_STRTAB, FileHeader64, ProgramHeader64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

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
/// Longest name of a library, in bytes.
const NAME_MAX: usize = 255;

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
        for name in needed(&bytes) {
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

/// The names in the dynamic section (DT_NEEDED), as far as they are names and no paths; none of a broken file.
fn needed(bytes: &[u8]) -> Vec<String> {
    read_needed(bytes)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| str::from_utf8(name).ok())
        .filter(|name| name.len() <= NAME_MAX && !name.contains('/'))
        .take(FILES_MAX)
        .map(str::to_owned)
        .collect()
}

fn read_needed(bytes: &[u8]) -> object::Result<Vec<&[u8]>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let segments = header.program_headers(LittleEndian, bytes)?;
    let mut dynamic = Vec::new();
    for segment in segments {
        if let Some(entries) = segment.dynamic(LittleEndian, bytes)? {
            let entries = entries
                .iter()
                .map(|e| (e.d_tag(LittleEndian), e.d_val(LittleEndian)));
            dynamic.extend(entries.take_while(|(tag, _)| *tag != DT_NULL));
        }
    }
    let value = |wanted| dynamic.iter().find(|(tag, _)| *tag == wanted).map(|e| e.1);
    let (Some(address), Some(size)) = (value(DT_STRTAB), value(DT_STRSZ)) else {
        return Ok(Vec::new());
    };
    let data = |s: &ProgramHeader64<_>| s.data_range(LittleEndian, bytes, address, size).ok()?;
    let strings = segments.iter().find_map(data).unwrap_or_default();
    let table = StringTable::new(strings, 0, strings.len() as u64);
    let named = dynamic.iter().filter(|(tag, _)| *tag == DT_NEEDED);
    Ok(named
        .filter_map(|(_, at)| table.get(u32::try_from(*at).ok()?).ok())
        .collect())
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
        for cut in [0, 10, 64, 100, 1000] {
            assert_eq!(needed(&exe[..cut]), [""; 0], "{cut} bytes");
        }
        let _ = needed(&exe[..exe.len() / 2]);
        assert_eq!(library_mounts(Path::new("/dev/null")), []);
    }
}
