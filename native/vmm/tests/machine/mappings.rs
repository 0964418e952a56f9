//! Changed mappings, as the guest sees them.

use crate::*;

#[test]
fn changed_mappings_are_seen_at_once() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &READER);
    let mut alarm = patient();
    let at = 0x6000_0000;
    for i in 0..64u64 {
        let page = at + i % 4 * PAGE;
        vm.space()
            .map(page, 1, Backing::Bytes(&(i + 1).to_le_bytes()), Protection::READ)
            .unwrap();
        assert_eq!(read_at(&mut vm, &mut alarm, page), Ok(i + 1));
        vm.space().remap(page, page + 64 * PAGE, 1).unwrap();
        assert!(read_at(&mut vm, &mut alarm, page).is_err(), "moved away");
        assert_eq!(read_at(&mut vm, &mut alarm, page + 64 * PAGE), Ok(i + 1));
        vm.space().protect(page + 64 * PAGE, 1, Protection::NONE).unwrap();
        assert!(
            read_at(&mut vm, &mut alarm, page + 64 * PAGE).is_err(),
            "no rights"
        );
        vm.space().unmap(page + 64 * PAGE, 1).unwrap();
    }
}

#[test]
fn pages_mapped_by_a_request_are_gone_after_the_reset() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &READER));
    let mut alarm = patient();
    for round in 0..20u64 {
        for (i, address) in [0x6000_0000, DATA + 64 * PAGE, 0x7000_0000_0000]
            .into_iter()
            .enumerate()
        {
            let value = round * 10 + i as u64 + 1;
            assert!(
                read_at(&mut fork, &mut alarm, address).is_err(),
                "round {round}: a leftover at {address:#x}"
            );
            fork.space()
                .map(
                    address,
                    2,
                    Backing::Bytes(&value.to_le_bytes()),
                    Protection::READ_WRITE,
                )
                .unwrap();
            assert_eq!(read_at(&mut fork, &mut alarm, address), Ok(value));
        }
        assert_eq!(read_at(&mut fork, &mut alarm, DATA), Ok(0));
        fork.space().unmap(DATA, 1).unwrap();
        assert!(read_at(&mut fork, &mut alarm, DATA).is_err());
        fork.reset().unwrap();
        fork.check().unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, DATA), Ok(0));
        fork.reset().unwrap();
    }
}

/// The hazard of shadow paging: a table that a request added serves another range in the next one.
#[test]
fn tables_added_by_requests_never_serve_two_places() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &READER));
    let mut alarm = patient();
    let mut rebuilt = 0;
    for round in 0..80u64 {
        let a = 0x1000_0000_0000 + round * (1 << 30);
        let b = 0x2000_0000_0000 + round * (1 << 30);
        fork.space()
            .map(a, 1, Backing::Bytes(&[0xaa]), Protection::READ)
            .unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, a), Ok(0xaa));
        rebuilt += u32::from(fork.reset().unwrap().rebuilt);
        fork.check().unwrap();
        fork.space()
            .map(b, 1, Backing::Bytes(&[0xbb]), Protection::READ)
            .unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, b), Ok(0xbb));
        assert!(
            read_at(&mut fork, &mut alarm, a).is_err(),
            "round {round}: {a:#x} shows another range"
        );
        rebuilt += u32::from(fork.reset().unwrap().rebuilt);
        fork.check().unwrap();
    }
    assert!(rebuilt >= 2, "the slots must have been rebuilt, {rebuilt}");
}

#[test]
fn memory_beyond_the_first_slots_can_be_used() {
    let Some(host) = host() else { return };
    let mut vm = Vm::new(&host, 256 << 20).unwrap();
    vm.space()
        .map(CODE, 1, Backing::Bytes(&READER), Protection::READ_EXECUTE)
        .unwrap();
    let mut alarm = patient();
    let (first, pages) = (0x6000_0000u64, 20_000u64);
    vm.space()
        .map(first, pages, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    vm.space().write(first + (pages - 1) * PAGE, &[9]).unwrap();
    assert_eq!(read_at(&mut vm, &mut alarm, first + (pages - 1) * PAGE), Ok(9));
    let mut fork = Arc::new(vm.snapshot(256 << 20).unwrap()).fork().unwrap();
    let second = 0x1_0000_0000;
    fork.space()
        .map(
            second,
            pages,
            Backing::Bytes(&vec![3; (pages * PAGE) as usize]),
            Protection::READ_WRITE,
        )
        .unwrap();
    assert_eq!(
        read_at(&mut fork, &mut alarm, second + (pages - 1) * PAGE),
        Ok(0x0303_0303_0303_0303)
    );
    fork.reset().unwrap();
    fork.check().unwrap();
    assert_eq!(read_at(&mut fork, &mut alarm, first + (pages - 1) * PAGE), Ok(9));
}

#[test]
fn file_pages_run_and_are_copied_when_written() {
    let Some(host) = host() else { return };
    let path = std::env::current_exe().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut vm = machine(&host, &READER);
    let file = Arc::new(HostFile::new(std::fs::File::open(&path).unwrap()).unwrap());
    let id = vm.attach(&file).unwrap();
    let at = 0x6000_0000;
    vm.space()
        .map(at, 16, Backing::File(id, 1), Protection::READ)
        .unwrap();
    let mut alarm = patient();
    let word = |page: usize| u64::from_le_bytes(bytes[page * 4096..page * 4096 + 8].try_into().unwrap());
    assert_eq!(read_at(&mut vm, &mut alarm, at + 3 * PAGE), Ok(word(4)));
    let (_snapshot, mut fork) = forked(vm);
    for _ in 0..10 {
        assert_eq!(read_at(&mut fork, &mut alarm, at), Ok(word(1)));
        fork.space().make_private(at, Protection::READ_WRITE).unwrap();
        fork.space().write(at, &[0xff; 8]).unwrap();
        assert_eq!(
            read_at(&mut fork, &mut alarm, at),
            Ok(u64::MAX),
            "the file's page must be reached no more"
        );
        assert_eq!(fork.space().page(at), Access::Private);
        fork.reset().unwrap();
        fork.check().unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, at), Ok(word(1)));
        fork.reset().unwrap();
    }
}
