//! Listings of folders that change meanwhile.

use super::*;

/// Opens `/tmp/folder`.
fn opened(guest: &mut Guest) -> u64 {
    guest.put(guest.scratch, b"/tmp/folder\0");
    guest
        .call(number::open, [guest.scratch, 0, 0, 0, 0, 0])
        .cast_unsigned()
}

/// A folder with so many files, opened.
fn folder(files: usize) -> (Guest, u64) {
    let mut guest = Guest::new();
    guest.put(guest.scratch, b"/tmp/folder\0");
    assert_eq!(guest.call(number::mkdir, [guest.scratch, 0o700, 0, 0, 0, 0]), 0);
    for file in 0..files {
        assert_eq!(create(&mut guest, &format!("{file}")), 0);
    }
    let fd = opened(&mut guest);
    (guest, fd)
}

/// Puts a path so many bytes behind the start of the scratch pages.
fn path(guest: &mut Guest, behind: u64, name: &str) -> u64 {
    let at = guest.scratch + behind;
    guest.put(at, format!("/tmp/folder/{name}\0").as_bytes());
    at
}

fn create(guest: &mut Guest, name: &str) -> i64 {
    let at = path(guest, 0, name);
    guest.call(number::mkdir, [at, 0o700, 0, 0, 0, 0])
}

fn remove(guest: &mut Guest, name: &str) -> i64 {
    let at = path(guest, 0, name);
    guest.call(number::rmdir, [at, 0, 0, 0, 0, 0])
}

/// The names and places of one call with room for a few, `.` and `..` left out.
fn list(guest: &mut Guest, fd: u64) -> Option<Vec<(String, u64)>> {
    let into = guest.scratch + PAGE;
    let count = guest.call(number::getdents64, [fd, into, 200, 0, 0, 0]);
    let mut bytes = &guest.get::<200>(into)[..usize::try_from(count).expect("a listing")];
    let mut names = Vec::new();
    while !bytes.is_empty() {
        let place = u64::from_le_bytes(*bytes[8..].first_chunk().expect("a place"));
        let length = usize::from(bytes[16]);
        let name = String::from_utf8_lossy(&bytes[19..length])
            .trim_end_matches('\0')
            .to_owned();
        names.extend((!name.starts_with('.')).then_some((name, place)));
        bytes = &bytes[length..];
    }
    (count > 0).then_some(names)
}

/// All that is left to list.
fn rest(guest: &mut Guest, fd: u64) -> Vec<String> {
    let lists = std::iter::from_fn(|| list(guest, fd));
    lists.flatten().map(|(name, _)| name).collect()
}

#[test]
fn what_is_removed_while_it_is_listed_hides_nothing() {
    let (mut guest, fd) = folder(100);
    let mut removed = 0;
    while let Some(names) = list(&mut guest, fd) {
        for (name, _) in names {
            assert_eq!(remove(&mut guest, &name), 0);
            removed += 1;
        }
    }
    assert_eq!(removed, 100);
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_listing_ends_though_its_names_move_and_more_come() {
    let (mut guest, fd) = folder(100);
    let mut seen = 0;
    while let Some(names) = list(&mut guest, fd) {
        for (name, _) in names {
            let from = path(&mut guest, 0, &name);
            let to = path(&mut guest, 100, &format!("moved-{seen}"));
            assert_eq!(guest.call(number::rename, [from, to, 0, 0, 0, 0]), 0);
            assert_eq!(create(&mut guest, &format!("new-{seen}")), 0);
            seen += 1;
        }
    }
    assert_eq!(seen, 100);
    // From the start again, all are there.
    assert_eq!(guest.call(number::lseek, [fd, 0, 0, 0, 0, 0]), 0);
    assert_eq!(rest(&mut guest, fd).len(), 200);
    guest.kernel.audit().expect("tables that agree");
}

#[test]
fn a_place_that_was_told_leads_to_the_same_names_later() {
    let (mut guest, fd) = folder(60);
    let mut places = Vec::new();
    while let Some(names) = list(&mut guest, fd) {
        places.extend(names);
    }
    for index in (0..30).step_by(3) {
        assert_eq!(remove(&mut guest, &places[index].0), 0);
    }
    for (index, (_, place)) in places.iter().enumerate() {
        assert_eq!(
            guest.call(number::lseek, [fd, *place, 0, 0, 0, 0]),
            place.cast_signed()
        );
        let behind = places.iter().enumerate().skip(index + 1);
        let wanted: Vec<_> = behind
            .filter(|(index, _)| *index >= 30 || index % 3 != 0)
            .map(|(_, (name, _))| name.clone())
            .collect();
        assert_eq!(rest(&mut guest, fd), wanted);
    }
    // Places beyond all, and one that no entry has.
    for place in [i64::MAX.cast_unsigned(), 1 << 40] {
        guest.call(number::lseek, [fd, place, 0, 0, 0, 0]);
        assert_eq!(list(&mut guest, fd), None);
    }
}

#[test]
fn a_name_too_long_for_the_room_is_an_error_and_stays_to_be_listed() {
    let (mut guest, fd) = folder(1);
    let dents =
        |guest: &mut Guest, length| guest.call(number::getdents64, [fd, guest.scratch, length, 0, 0, 0]);
    assert_eq!(dents(&mut guest, 23), -22);
    assert_eq!(
        [24, 24, 24, 24, 0].map(|length| dents(&mut guest, length)),
        [24, 24, 24, 0, 0]
    );
}
