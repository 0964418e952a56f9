//! Programs that lie over a base: two files, of which one is no use without the other.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mayfly_pool::{DiskError, Load, Loading, Mount, Opening, Program, WarmupRequest};
use mayfly_vmm::Host;

use super::support::{Client, frame, host, text};
use super::{Folder, boot, guest, open, spec};

fn load(base: &Arc<Program>, text: &str) -> Program {
    let load = Load {
        mounts: vec![Mount::bytes("/own", text)],
        frame: frame("load", b""),
        limits: spec("").limits,
        loading: Loading::default(),
        ..Load::default()
    };
    let mut warm = vec![frame("warm", b""); 2];
    Program::load(base, &load, &mut |_| warm.pop().map(WarmupRequest::new)).unwrap()
}

fn open_over(host: &Arc<Host>, path: &Path, base: &Arc<Program>) -> Result<Arc<Program>, DiskError> {
    let opening = Opening {
        base: Some(base.clone()),
        protocol: None,
        ..Opening::default()
    };
    Program::open(host, path, &opening).map(|(program, _)| Arc::new(program))
}

#[test]
fn a_program_over_a_base_comes_back_over_it() {
    let folder = Folder::new();
    let (Some(host), Some(guest)) = (host(), guest("")) else {
        return;
    };
    let (base_file, other_file, own) = (folder.file("base"), folder.file("other"), folder.file("own"));
    let base = Arc::new(boot(&host, &guest, None));
    base.save(&base_file, b"", None).unwrap();
    load(&base, "own text").save(&own, b"", Some(&base)).unwrap();
    let lengths = [&base_file, &own].map(|file| fs::metadata(file).unwrap().len());
    assert!(lengths[1] < lengths[0], "{lengths:?}");
    drop(base);
    let (base, _) = open(&host, &base_file).unwrap();
    let program = open_over(&host, &own, &base).unwrap();
    // One that is loaded into a base of a file, too, and saved over it.
    let later = folder.file("later");
    let loaded = Arc::new(load(&base, "own text"));
    loaded.save(&later, b"", Some(&base)).unwrap();
    for program in [program, open_over(&host, &later, &base).unwrap(), loaded] {
        let mut client = Client::new(&program);
        for _ in 0..3 {
            assert_eq!(text(&client.ask("look")), "all there");
            assert_eq!(text(&client.ask("file /own")), "own text");
            assert_eq!(text(&client.ask("file /given")), "bytes that were given");
        }
    }
    // Another base of the same program is another file.
    boot(&host, &guest, None).save(&other_file, b"", None).unwrap();
    let (other, _) = open(&host, &other_file).unwrap();
    for refused in [
        open_over(&host, &own, &other).map(drop),
        open(&host, &own).map(drop),
    ] {
        assert!(refused.unwrap_err().to_string().contains("over another base"));
    }
}

#[test]
fn a_program_whose_base_has_no_file_holds_all_of_it() {
    let folder = Folder::new();
    let (Some(host), Some(guest)) = (host(), guest("")) else {
        return;
    };
    let base = Arc::new(boot(&host, &guest, None));
    let own = folder.file("own");
    load(&base, "own text").save(&own, b"", Some(&base)).unwrap();
    drop(base);
    let (program, _) = open(&host, &own).unwrap();
    let mut client = Client::new(&program);
    assert_eq!(text(&client.ask("look")), "all there");
    assert_eq!(text(&client.ask("file /own")), "own text");
}
