//! Files, folders and pipes of the standard library, and the kinds of their errors.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

fn show<T: std::fmt::Debug>(what: &str, result: io::Result<T>) {
    match result {
        Ok(value) => println!("{what}: {value:?}"),
        Err(e) => println!("{what}: {:?} {:?}", e.kind(), e.raw_os_error()),
    }
}

fn main() {
    let folder = std::env::temp_dir().join(format!("mayfly-files-{}", std::process::id()));
    fs::create_dir_all(folder.join("a/b/c")).unwrap();
    files(&folder);
    folders(&folder);
    streams();
    fs::remove_dir_all(&folder).unwrap();
    show("gone", fs::metadata(&folder).map(drop));
}

fn files(folder: &Path) {
    let path = folder.join("text");
    let mut out = BufWriter::new(File::create_new(&path).unwrap());
    (0..10_000).for_each(|i| writeln!(out, "line {i}").unwrap());
    out.flush().unwrap();
    show("again", File::create_new(&path).map(drop));
    show("length", fs::metadata(&path).map(|m| m.len()));
    let lines = BufReader::new(File::open(&path).unwrap()).lines();
    println!("last {:?}", lines.map_while(Result::ok).last());
    let mut file = OpenOptions::new().read(true).append(true).open(&path).unwrap();
    show("append", file.write(b"end\n"));
    show("seek", file.seek(SeekFrom::End(-4)));
    let mut end = String::new();
    show("read", file.read_to_string(&mut end));
    show("before the start", file.seek(SeekFrom::Current(-1_000_000)));
    let mut four = [0; 4];
    show("at", file.read_exact_at(&mut four, 5));
    println!("{end:?} {four:?}");
    show("shorter", file.set_len(7));
    show("whole", fs::read_to_string(&path));
    show("longer", file.set_len(10));
    show("zeros", fs::read(&path).map(|bytes| bytes[6..].to_vec()));
    show("copied", fs::copy(&path, folder.join("copy")));
    show(
        "mode",
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)),
    );
    show(
        "mode is",
        fs::metadata(&path).map(|m| m.permissions().mode() & 0o777),
    );
    let closed = File::open(&path).unwrap();
    show("write to a reader", (&closed).write(b"x"));
    show("synced", file.sync_all());
}

fn folders(folder: &Path) {
    show("rename", fs::rename(folder.join("copy"), folder.join("a/moved")));
    show(
        "rename nothing",
        fs::rename(folder.join("copy"), folder.join("a/moved")),
    );
    show("link", symlink("moved", folder.join("a/link")));
    show("link to", fs::read_link(folder.join("a/link")));
    show("through", fs::read(folder.join("a/link")).map(|b| b.len()));
    show(
        "itself",
        symlink("loop", folder.join("loop")).and_then(|()| fs::read(folder.join("loop"))),
    );
    let mut names: Vec<_> = fs::read_dir(folder.join("a"))
        .unwrap()
        .map(|e| e.unwrap())
        .collect();
    names.sort_by_key(|e| e.file_name());
    for entry in &names {
        let kind = entry.file_type().unwrap();
        println!(
            "{:?} {} {} {}",
            entry.file_name(),
            kind.is_dir(),
            kind.is_file(),
            kind.is_symlink()
        );
    }
    show("not empty", fs::remove_dir(folder.join("a")));
    show(
        "a file as a folder",
        fs::read_dir(folder.join("text/x")).map(drop),
    );
    show("a folder as a file", fs::read(folder));
    show("remove", fs::remove_file(folder.join("a/link")));
    show("remove again", fs::remove_file(folder.join("a/link")));
    show(
        "a name too long",
        File::create(folder.join("x".repeat(300))).map(drop),
    );
    show("NUL in a name", File::create(folder.join("a\0b")).map(drop));
    let dots = folder.join("a/./b/../b/c/../../moved");
    show(
        "dots",
        fs::canonicalize(dots).map(|p| {
            p.strip_prefix(fs::canonicalize(folder).unwrap())
                .unwrap()
                .to_owned()
        }),
    );
}

fn streams() {
    let (mut reader, mut writer) = io::pipe().unwrap();
    let sender = std::thread::spawn(move || {
        let bytes: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        writer.write_all(&bytes)
    });
    let mut got = Vec::new();
    show("piped", reader.read_to_end(&mut got));
    println!(
        "{} {}",
        got.iter().map(|b| u64::from(*b)).sum::<u64>(),
        sender.join().unwrap().is_ok()
    );
    let (reader, mut writer) = io::pipe().unwrap();
    drop(reader);
    show("nobody reads", writer.write(b"x"));
    let mut input = String::new();
    show("input", io::stdin().read_line(&mut input));
    println!("{input:?}");
}
