//! The guest's file system: names that come, go, move and lead to each other, against a map of whole paths.
//!
//! What must hold: nothing panics; both agree on where every path leads and on what may be done there; names, holds and bytes are
//! counted right (`Vfs::audit`); a restore takes all back.

mod model;

use std::collections::BTreeMap;

use mayfly_linux::fs::host_file::HostFile;
use mayfly_linux::fs::vfs::{NewNode, NodeKind, ROOT, Vfs};

use crate::Input;
use model::{Kind, Model, Path};

const STEPS_MAX: usize = 60;
const BYTES_MAX: u64 = 3000;
/// What the tree has at the start, and 12 more.
const NODES_MAX: usize = 63;

/// A tree with a writable and a read-only part, and its model.
fn start() -> (Vfs, Model) {
    let mut vfs = Vfs::new(BYTES_MAX, NODES_MAX);
    vfs.hold(ROOT);
    vfs.mount_file("/ro/file", HostFile::new(b"host".to_vec()));
    vfs.mount_link("/ro/link", "../tmp/a");
    vfs.mark_clean();
    let model = Model { files: listing(&vfs) };
    (vfs, model)
}

thread_local! {
    static START: (Vfs, Model) = start();
}

/// Steps from the bytes, one after the other, on both; then all is taken back.
pub fn run(data: &[u8]) {
    START.with(|(vfs, model)| run_from(vfs, model.clone(), data));
}

fn run_from(reference: &Vfs, mut model: Model, data: &[u8]) {
    let mut vfs = reference.clone();
    let mut holds = BTreeMap::from([(ROOT, 1_u32)]);
    let mut input = Input(data);
    for number in 1..=STEPS_MAX {
        if input.is_empty() {
            break;
        }
        step(&mut vfs, &mut model, &mut holds, &mut input);
        // What a step did wrong shows in the answers of later ones; the whole is compared now and then.
        if number % 8 == 0 {
            compare(&vfs, &model, &holds);
        }
    }
    compare(&vfs, &model, &holds);
    vfs.restore(reference);
    assert_eq!(vfs, *reference);
}

fn compare(vfs: &Vfs, model: &Model, holds: &BTreeMap<usize, u32>) {
    vfs.audit(holds).expect("a tree that agrees with itself");
    assert_eq!(listing(vfs), model.files);
}

fn step(vfs: &mut Vfs, model: &mut Model, holds: &mut BTreeMap<usize, u32>, input: &mut Input<'_>) {
    let (choice, first) = (input.byte(), path(input));
    let follow = choice & 0x80 != 0;
    let (found, wanted) = (vfs.resolve(ROOT, &first, follow), model.resolve(&first, follow));
    let (found, wanted) = match (found, wanted) {
        (Ok(found), Ok(wanted)) => (found, wanted),
        (found, wanted) => {
            let shown = String::from_utf8_lossy(&first);
            assert_eq!(found.err(), wanted.err(), "{shown:?}");
            return;
        }
    };
    assert_eq!(
        (found.node.is_some(), found.name.is_empty()),
        (wanted.there, !wanted.named)
    );
    match choice % 8 {
        0..=2 => {
            let (node, kind) = match choice % 8 {
                0 => (NewNode::File, Kind::File(Vec::new())),
                1 => (NewNode::Directory, Kind::Directory { writable: true }),
                _ => {
                    let target = path(input);
                    (NewNode::Link(target.clone()), Kind::Link(target))
                }
            };
            // Linux wants a directory where a slash ends the name, and so do the calls above this.
            if found.slash && !matches!(node, NewNode::Directory) {
                return;
            }
            let done = vfs.create(&found, node, 0o644, 1);
            // The limit of nodes is the tree's own affair.
            if done != Err(mayfly_linux::errno::Errno::ENOSPC) {
                assert_eq!(model.create(&wanted, kind), done.is_ok(), "{done:?}");
            }
        }
        3 => {
            let directory = input.byte() & 1 != 0;
            let done = vfs.remove(&found, directory);
            assert_eq!(model.remove(&wanted, directory), done.is_ok(), "{done:?}");
        }
        4 => {
            let (second, replace) = (path(input), input.byte() & 3 != 0);
            let (Ok(to), Ok(wanted_to)) = (vfs.resolve(ROOT, &second, false), model.resolve(&second, false))
            else {
                return;
            };
            let done = vfs.rename(&found, &to, replace);
            assert_eq!(
                model.rename(&wanted, &wanted_to, replace),
                done.is_ok(),
                "{done:?}"
            );
        }
        5 => {
            let Some(node) = found.node else { return };
            let (offset, length) = (
                u64::from(input.byte()) << (input.byte() % 16),
                usize::from(input.byte()) * 8,
            );
            let done = vfs.write_at(node, offset, &vec![b'w'; length], 1);
            let (Ok(count @ 1..), Some(Kind::File(bytes))) = (done, model.files.get_mut(&wanted.at)) else {
                return;
            };
            let end = offset as usize + count;
            bytes.resize(bytes.len().max(end), 0);
            bytes[offset as usize..end].fill(b'w');
        }
        6 => {
            let Some(node) = found.node else { return };
            let length = u64::from(input.byte()) * 16;
            if let (Ok(()), Some(Kind::File(bytes))) =
                (vfs.set_length(node, length, 1), model.files.get_mut(&wanted.at))
            {
                bytes.resize(length as usize, 0);
            }
        }
        _ => match (found.node, input.byte() & 1) {
            (Some(node), 0) => {
                vfs.hold(node);
                *holds.entry(node).or_default() += 1;
            }
            _ => {
                // Gives up the newest hold; the root's stays.
                if let Some((&node, count)) = holds.range_mut(ROOT + 1..).next_back() {
                    *count -= 1;
                    if *count == 0 {
                        holds.remove(&node);
                    }
                    vfs.release(node);
                }
            }
        },
    }
}

/// A path of a few names that meet each other often.
fn path(input: &mut Input<'_>) -> Vec<u8> {
    const NAMES: [&[u8]; 16] = [
        b"a", b"b", b"c", b"d", b"..", b".", b"", b"tmp", b"ro", b"file", b"link", b"/tmp/a", b"/tmp",
        b"tmp/b", b"dev", b"zero",
    ];
    let first = input.byte();
    let mut path = if first & 0x40 == 0 {
        b"/tmp/".to_vec()
    } else {
        b"/".to_vec()
    };
    for _ in 0..first % 5 {
        let name = input.byte();
        match name {
            0xff => path.extend([b'n'; 256]),
            0xfe => path.extend([b'n'; 255]),
            _ => path.extend(NAMES[usize::from(name % 16)]),
        }
        path.push(b'/');
    }
    if first & 0x20 == 0 && path.len() > 1 {
        path.pop();
    }
    if first & 0x10 != 0 && path.len() > 1 {
        path.remove(0);
    }
    path
}

/// Everything in the tree by its path.
fn listing(vfs: &Vfs) -> BTreeMap<Path, Kind> {
    let mut all = BTreeMap::new();
    let mut folders = vec![(ROOT, Path::new())];
    while let Some((folder, path)) = folders.pop() {
        let Some(NodeKind::Directory { entries, .. }) = vfs.node(folder).map(|node| &node.kind) else {
            panic!("{path:?} is no directory");
        };
        for (name, number) in entries.iter() {
            let at = [&path[..], &[name.to_vec()]].concat();
            let whole = at.iter().flat_map(|name| [b"/", &name[..]].concat()).collect();
            assert_eq!(vfs.path_of(number), Ok(whole));
            let kind = match &vfs.node(number).expect("a node").kind {
                NodeKind::Directory { writable, .. } => {
                    folders.push((number, at.clone()));
                    Kind::Directory { writable: *writable }
                }
                NodeKind::Memory(bytes) => Kind::File(bytes.part(0..u64::MAX).into_owned()),
                NodeKind::Link(target) => Kind::Link(target.to_vec()),
                NodeKind::Host(_) | NodeKind::Device(_) | NodeKind::Proc(_) => Kind::File(Vec::new()),
                NodeKind::Granted(_) => unreachable!("none was granted"),
            };
            all.insert(at, kind);
        }
    }
    all
}
