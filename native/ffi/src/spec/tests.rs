use mayfly_pool::Source;

use super::*;

fn item(tag: Tag, payload: &[u8]) -> Vec<u8> {
    let head = [(tag as u32).to_le_bytes(), (payload.len() as u32).to_le_bytes()].concat();
    [&head[..], payload].concat()
}

fn two(first: &str, second: &[u8]) -> Vec<u8> {
    [&(first.len() as u32).to_le_bytes()[..], first.as_bytes(), second].concat()
}

fn frame() -> Vec<u8> {
    let head = mayfly_wire::Head {
        kind: Kind::Request,
        header_bytes: 2,
        body_bytes: 0,
    };
    [&head.encode()[..], b"{}"].concat()
}

fn whole() -> Vec<u8> {
    let limits: [&[u8]; 9] = [
        &(64u64 << 20).to_le_bytes(),
        &1000u32.to_le_bytes(),
        &2000u32.to_le_bytes(),
        &5_000_000_000u64.to_le_bytes(),
        &7_000_000_000u64.to_le_bytes(),
        &9_000_000_000u64.to_le_bytes(),
        &100u32.to_le_bytes(),
        &20u32.to_le_bytes(),
        &3000u32.to_le_bytes(),
    ];
    let warm = [3u32, 1, KEEP_ANSWER | REHEARSE, 200, 300, 400]
        .map(u32::to_le_bytes)
        .concat();
    [
        VERSION.to_le_bytes().to_vec(),
        item(Tag::Path, b"/program"),
        item(Tag::Argument, b"program"),
        item(Tag::Argument, b"-v"),
        item(Tag::Variable, b"A=b"),
        item(Tag::Folder, b"/app"),
        item(Tag::Writable, b"/tmp"),
        item(Tag::Mount, &two("/program", b"/bin/true")),
        item(Tag::File, &two("/app/main.js", b"1 + 1\0")),
        item(Tag::Reseed, b""),
        item(Tag::Last, &frame()),
        item(Tag::Clock, &100u32.to_le_bytes()),
        item(Tag::Limits, &limits.concat()),
        item(Tag::Warmup, &[&warm[..], &frame()].concat()),
    ]
    .concat()
}

#[test]
fn decode_gives_every_item() {
    let Description { start, mut warmup } = decode(&whole()).unwrap();
    let Start::Boot(spec) = start else {
        panic!("{start:?}")
    };
    assert_eq!((spec.path.as_str(), spec.folder.as_str()), ("/program", "/app"));
    assert_eq!(spec.arguments, ["program", "-v"]);
    assert_eq!(spec.environment, ["A=b"]);
    assert!(spec.reseed);
    assert_eq!(spec.last, Some(frame()));
    assert_eq!(spec.clock_grain_ns, 100_000);
    assert_eq!(spec.writable.as_deref(), Some("/tmp"));
    assert_eq!(spec.mounts[0], Mount::host("/program", "/bin/true"));
    assert_eq!(spec.mounts[1].source, Source::Bytes(b"1 + 1\0".to_vec()));
    let l = spec.limits;
    assert_eq!(
        (l.memory_bytes, l.output_bytes, l.log_bytes, l.boot_ns),
        (64 << 20, 1000, 2000, 5_000_000_000)
    );
    assert_eq!(
        (l.cpu_ns, l.calls, l.descriptors, l.threads, l.mappings),
        (Some(7_000_000_000), 9_000_000_000, 100, 20, 3000)
    );
    let mut runs = 0;
    while let Some(request) = warmup.next() {
        assert_eq!(request.frame, frame());
        assert_eq!((request.rehearsed, request.timeout_ns), (true, 200_000_000));
        warmup.hear(b"answer", 200_000_000);
        runs += 1;
    }
    // The time for all is up before the third.
    assert_eq!(runs, 2);
    assert_eq!(warmup.into_answers(), [b"answer"]);
}

/// A description of a program for the base with handle 7.
fn loaded(more: &[u8]) -> Vec<u8> {
    let base = [&7u32.to_le_bytes()[..], &frame()].concat();
    [
        &VERSION.to_le_bytes()[..],
        &item(Tag::Base, &base),
        &item(Tag::File, &two("/program.js", b"1")),
        &item(Tag::Reseed, b""),
        &item(Tag::Last, &frame()),
        &item(
            Tag::Loading,
            &[300u64 << 20, 128 << 20, 5_000].map(u64::to_le_bytes).concat(),
        ),
        more,
    ]
    .concat()
}

#[test]
fn decode_gives_what_a_base_is_to_load() {
    match decode(&loaded(b"")).unwrap().start {
        Start::Load(7, load) => {
            assert_eq!(load.frame, frame());
            assert_eq!(load.mounts, [Mount::bytes("/program.js", *b"1")]);
            assert!(load.reseed);
            assert_eq!(load.last, Some(frame()));
            let bounds = load.loading;
            assert_eq!(
                (bounds.memory_bytes, bounds.request_bytes, bounds.cpu_ns),
                (300 << 20, 128 << 20, Some(5_000))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn decode_refuses_what_is_the_bases_affair() {
    for (tag, payload, name) in [
        (Tag::Path, &b"/program"[..], "a path"),
        (Tag::Argument, b"-v", "an argument"),
        (Tag::Variable, b"A=secret", "a variable"),
        (Tag::Folder, b"/app", "a folder"),
        (Tag::Writable, b"/tmp", "a writable folder"),
        (Tag::Clock, &[1, 0, 0, 0], "a clock"),
    ] {
        let fault = decode(&loaded(&item(tag, payload))).unwrap_err();
        assert!(
            fault.text.contains(name) && !fault.text.contains("secret"),
            "{}",
            fault.text
        );
    }
    let no_frame = [&VERSION.to_le_bytes()[..], &item(Tag::Base, &7u32.to_le_bytes())].concat();
    assert!(decode(&no_frame).is_err());
    let no_handle = [&[0xff; 4][..], &frame()].concat();
    let no_handle = [&VERSION.to_le_bytes()[..], &item(Tag::Base, &no_handle)].concat();
    assert!(decode(&no_handle).unwrap_err().text.contains("want a handle"));
}

#[test]
fn decode_refuses_every_cut_but_those_between_items() {
    let bytes = whole();
    let mut ends = vec![4];
    while let Some(at) = ends.last().copied().filter(|at| *at < bytes.len()) {
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
        ends.push(at + 8 + length as usize);
    }
    for cut in 0..bytes.len() {
        let fine = cut > 4 && ends.contains(&cut);
        assert_eq!(decode(&bytes[..cut]).is_ok(), fine, "{cut}");
    }
}

#[test]
fn decode_names_what_is_wrong() {
    let start = VERSION.to_le_bytes();
    let cases: [(Vec<u8>, &str); 8] = [
        (9u32.to_le_bytes().into(), "version 9, want 4"),
        (
            [&start[..], &99u32.to_le_bytes(), &[0; 4]].concat(),
            "tag 99, want",
        ),
        ([&start[..], &item(Tag::Argument, b"a\0")].concat(), "a NUL"),
        ([&start[..], &item(Tag::Argument, b"\xff")].concat(), "not UTF-8"),
        ([&start[..], &item(Tag::Folder, b"app")].concat(), "\"app\", want"),
        ([&start[..], &item(Tag::Limits, &[0; 52])].concat(), "memory of 0"),
        (
            [&start[..], &item(Tag::Clock, &[0xff; 4])].concat(),
            "clock of 4294967295",
        ),
        (start.into(), "program \"\", want"),
    ];
    for (bytes, want) in cases {
        let fault = decode(&bytes).unwrap_err();
        assert_eq!(fault.status, Status::BadArgument);
        assert!(fault.text.contains(want), "{}", fault.text);
    }
}

#[test]
fn limits_are_bounded_and_no_cpu_time_is_no_limit() {
    let payload = |cpu: u64, tables: [u32; 3]| {
        let head = [64u64 << 20, 0, 1, cpu, u64::MAX].map(u64::to_le_bytes).concat();
        [&head[..], &tables.map(u32::to_le_bytes).concat()[..]].concat()
    };
    let least = limits(&payload(0, [3, 1, 16])).unwrap();
    assert_eq!((least.cpu_ns, least.calls, least.mappings), (None, u64::MAX, 16));
    assert_eq!(limits(&payload(1, [3, 1, 16])).unwrap().cpu_ns, Some(1));
    assert!(limits(&payload(0, [65_536, 1024, 65_530])).is_ok());
    for bad in [
        [2, 1, 16],
        [3, 0, 16],
        [3, 1, 15],
        [65_537, 1, 16],
        [3, 1025, 16],
        [3, 1, 65_531],
    ] {
        assert!(limits(&payload(0, bad)).is_err(), "{bad:?}");
    }
}

#[test]
fn check_frame_wants_one_whole_request() {
    let whole = frame();
    assert!(check_frame(&whole).is_ok());
    let long = [&whole[..], b"x"].concat();
    let mut answer = whole.clone();
    answer[5] = Kind::Response as u8;
    for bad in [&whole[..17], &whole[..3], &[], &long, &answer] {
        assert_eq!(check_frame(bad).unwrap_err().status, Status::BadArgument);
    }
}

#[test]
fn decode_never_panics_on_changed_bytes() {
    let bytes = whole();
    let mut state = 88_172_645_463_325_252u64;
    let mut random = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end as u64) as usize
    };
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut bad = bytes.clone();
        for _ in 0..=random(3) {
            let at = random(bad.len());
            bad[at] = random(256) as u8;
        }
        refused += usize::from(decode(&bad).is_err());
    }
    assert!(refused > 5000, "{refused}");
}
