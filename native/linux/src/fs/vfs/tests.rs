//! Path walks, memory files and renames.

use super::*;
use crate::errno::Errno;

fn tree() -> Vfs {
    let mut vfs = Vfs::new(1000, 100);
    vfs.mount_file("/usr/lib/libc.so", HostFile::new(b"elf".to_vec()));
    vfs.mount_link("/lib", "usr/lib");
    vfs.mount_link("/loop", "loop");
    vfs
}

fn node(vfs: &Vfs, path: &str) -> Result<Option<usize>, Errno> {
    vfs.resolve(ROOT, path.as_bytes(), true).map(|found| found.node)
}

#[test]
fn resolve_follows_links_dots_and_slashes() {
    let vfs = tree();
    let libc = node(&vfs, "/usr/lib/libc.so").expect("mounted");
    assert!(libc.is_some());
    for path in [
        "/lib/libc.so",
        "//usr/../usr/./lib//libc.so",
        "lib/../lib/libc.so",
        "/../../lib/libc.so",
    ] {
        assert_eq!(node(&vfs, path), Ok(libc), "{path}");
    }
    assert_eq!(node(&vfs, "/lib/absent"), Ok(None));
    assert_eq!(node(&vfs, "/absent/x"), Err(Errno::ENOENT));
    assert_eq!(node(&vfs, "/lib/libc.so/x"), Err(Errno::ENOTDIR));
    assert_eq!(node(&vfs, "/lib/libc.so/"), Err(Errno::ENOTDIR));
    assert_eq!(node(&vfs, "/loop"), Err(Errno::ELOOP));
    assert_eq!(node(&vfs, &"a".repeat(256)), Err(Errno::ENAMETOOLONG));
    assert_eq!(node(&vfs, &"/a".repeat(3000)), Err(Errno::ENAMETOOLONG));
    assert_eq!(
        vfs.path_of(node(&vfs, "/lib").expect("a link").expect("to a directory")),
        Ok(b"/usr/lib".to_vec())
    );
    assert_eq!(vfs.path_of(ROOT), Ok(b"/".to_vec()));
}

#[test]
fn memory_files_obey_the_limit_and_live_while_held() {
    let mut vfs = tree();
    let found = vfs.resolve(ROOT, b"/tmp/a", true).expect("a free name");
    let file = vfs.create(&found, NewNode::File, 0o644, 1).expect("writable");
    assert_eq!(vfs.write_at(file, 10, &[7; 5], 2), Ok(5));
    assert_eq!(*vfs.part(file, 8, 4).expect("a file"), [0, 0, 7, 7]);
    assert_eq!(vfs.write_at(file, 900, &[7; 200], 2), Ok(100));
    assert_eq!(vfs.write_at(file, 1000, &[7], 2), Err(Errno::ENOSPC));
    assert_eq!(vfs.set_length(file, 1001, 2), Err(Errno::ENOSPC));
    vfs.hold(file);
    let found = vfs.resolve(ROOT, b"/tmp/a", true).expect("there");
    vfs.remove(&found, false).expect("a file");
    assert_eq!((node(&vfs, "/tmp/a"), vfs.memory_bytes), (Ok(None), 1000));
    vfs.release(file);
    assert_eq!((vfs.node(file), vfs.memory_bytes), (None, 0));
    let found = vfs.resolve(ROOT, b"/usr/lib/new", true).expect("a free name");
    assert_eq!(vfs.create(&found, NewNode::File, 0, 0), Err(Errno::EROFS));
}

#[test]
fn rename_moves_replaces_and_refuses() {
    let mut vfs = tree();
    let make = |vfs: &mut Vfs, path: &str, kind| {
        let found = vfs.resolve(ROOT, path.as_bytes(), true).expect("a path");
        vfs.create(&found, kind, 0o755, 0).expect("writable")
    };
    let folder = make(&mut vfs, "/tmp/d", NewNode::Directory);
    let file = make(&mut vfs, "/tmp/d/f", NewNode::File);
    let rename = |vfs: &mut Vfs, from: &str, to: &str| {
        let from = vfs.resolve(ROOT, from.as_bytes(), false).expect("a path");
        let to = vfs.resolve(ROOT, to.as_bytes(), false).expect("a path");
        vfs.rename(&from, &to, true)
    };
    assert_eq!(rename(&mut vfs, "/tmp/d", "/tmp/d/inner"), Err(Errno::EINVAL));
    assert_eq!(rename(&mut vfs, "/tmp/d/f", "/tmp/g"), Ok(()));
    assert_eq!(
        (node(&vfs, "/tmp/g"), node(&vfs, "/tmp/d/f")),
        (Ok(Some(file)), Ok(None))
    );
    assert_eq!(rename(&mut vfs, "/tmp/g", "/tmp/d"), Err(Errno::EISDIR));
    assert_eq!(rename(&mut vfs, "/tmp/g", "/usr/x"), Err(Errno::EROFS));
    make(&mut vfs, "/tmp/e", NewNode::Directory);
    assert_eq!(rename(&mut vfs, "/tmp/d", "/tmp/e/d"), Ok(()));
    assert_eq!(vfs.path_of(folder), Ok(b"/tmp/e/d".to_vec()));
    assert_eq!(rename(&mut vfs, "/tmp/e/d/../d", "/tmp/e"), Err(Errno::ENOTEMPTY));
}
