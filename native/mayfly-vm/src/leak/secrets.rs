//! Secrets: drawing them, masking them for the way in, and finding them again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};

use super::guest::FILTER_BYTES;
use super::places::{PLACES, Place, WORDS};
use super::protocol::{Ending, MASK, digest};

/// What the environment block of a fresh planter holds: a search from inside that does not find it finds nothing.
pub const CONTROL: u64 = u64::from_le_bytes(*b"........");

/// A fresh secret for each place.
pub struct Secrets {
    words: Vec<u64>,
}

impl Secrets {
    /// Draws them from the host's generator.
    pub fn draw() -> io::Result<Secrets> {
        let mut random = File::open("/dev/urandom")?;
        let mut words = Vec::with_capacity(WORDS);
        let mut bytes = [0; 8];
        while words.len() < WORDS {
            random.read_exact(&mut bytes)?;
            // Names of files hold neither; 62 bits of chance are left.
            if !bytes.iter().any(|b| matches!(b, 0 | b'/')) {
                words.push(u64::from_le_bytes(bytes));
            }
        }
        Ok(Secrets { words })
    }

    /// A place's words as they are planted.
    pub fn of(&self, place: Place) -> Vec<u64> {
        let shape = place.description().shape;
        self.words[place.range()].iter().map(|w| shape.fit(*w)).collect()
    }

    /// The body of a request to plant, and what follows it unread.
    pub fn plant_body(&self, ending: Ending) -> (Vec<u8>, Vec<u8>) {
        let mut body = vec![ending as u8];
        body.extend(self.words.iter().flat_map(|w| (w ^ MASK).to_le_bytes()));
        let rest = self.of(Place::Input).into_iter().flat_map(u64::to_le_bytes);
        (body, rest.collect())
    }

    /// What to search for.
    pub fn needles(&self) -> Needles {
        let mut words = HashMap::new();
        let mut filter = vec![false; 1 << 16];
        for place in PLACES {
            for (index, word) in self.of(*place).into_iter().enumerate() {
                filter[usize::from(word as u16)] = true;
                words.insert(word, (*place, index));
            }
        }
        Needles { words, filter }
    }
}

/// Words to find.
pub struct Needles {
    words: HashMap<u64, (Place, usize)>,
    /// By the low sixteen bits: whether a word has them.
    filter: Vec<bool>,
}

impl Needles {
    /// The place and index of a word.
    pub fn find(&self, word: u64) -> Option<(Place, usize)> {
        if self.filter[usize::from(word as u16)] {
            self.words.get(&word).copied()
        } else {
            None
        }
    }

    /// Finds words at every byte of `bytes`.
    pub fn search(&self, bytes: &[u8], found: &mut impl FnMut(Place, usize)) {
        let mut window = 0_u64;
        for (at, byte) in bytes.iter().enumerate() {
            window = window >> 8 | u64::from(*byte) << 56;
            if at >= 7
                && self.filter[usize::from(window as u16)]
                && let Some((place, index)) = self.find(window)
            {
                found(place, index);
            }
        }
    }

    /// The body of a request to look, and the place behind each digest in it. One more digest, the last, is that of
    /// [`CONTROL`].
    pub fn look_body(&self) -> (Vec<u8>, Vec<Place>) {
        let mut body = vec![0; 1 + FILTER_BYTES];
        let mut places = Vec::new();
        let mut add = |word: u64| {
            let low = usize::from(word as u16);
            body[1 + low / 8] |= 1 << (low % 8);
            body.extend(digest(word).to_le_bytes());
        };
        for (word, (place, _)) in &self.words {
            add(*word);
            places.push(*place);
        }
        add(CONTROL);
        (body, places)
    }
}

/// Finds words in printed state: as numbers, and as lists of bytes. Also tells whether two prints are the same.
pub struct Print<'a, F: FnMut(Place, usize)> {
    needles: &'a Needles,
    found: F,
    number: Option<u64>,
    /// The last eight bytes of the list that is being printed, and how many there are.
    window: (u64, u32),
    hash: u64,
}

impl<'a, F: FnMut(Place, usize)> Print<'a, F> {
    /// Nothing was printed yet.
    pub fn new(needles: &'a Needles, found: F) -> Self {
        Print {
            needles,
            found,
            number: None,
            window: (0, 0),
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// The digest of all that was printed.
    pub fn finish(mut self) -> u64 {
        self.end_number();
        self.hash
    }

    fn end_number(&mut self) {
        let Some(number) = self.number.take() else { return };
        self.sought(number);
        if number > 255 {
            self.window.1 = 0;
            return;
        }
        self.window = (self.window.0 >> 8 | number << 56, self.window.1 + 1);
        if self.window.1 >= 8 {
            self.sought(self.window.0);
        }
    }

    fn sought(&mut self, word: u64) {
        if let Some((place, index)) = self.needles.find(word) {
            (self.found)(place, index);
        }
    }
}

impl<F: FnMut(Place, usize)> std::fmt::Write for Print<'_, F> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            // FNV-1a.
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            if byte.is_ascii_digit() {
                let digit = u64::from(byte - b'0');
                let before = self.number.unwrap_or(0);
                self.number = Some(before.wrapping_mul(10).wrapping_add(digit));
                continue;
            }
            self.end_number();
            if !matches!(byte, b',' | b' ') {
                self.window.1 = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fmt::Write;

    fn heap(secrets: &Secrets) -> [u64; 2] {
        secrets.of(Place::Heap).try_into().unwrap()
    }

    #[test]
    fn secrets_are_fresh_and_masked_on_their_way() {
        let (a, b) = (Secrets::draw().unwrap(), Secrets::draw().unwrap());
        assert_ne!(heap(&a), heap(&b));
        let (body, rest) = a.plant_body(Ending::Fault);
        let mut found = Vec::new();
        a.needles()
            .search(&body, &mut |place, index| found.push((place, index)));
        assert_eq!(found, []);
        a.needles()
            .search(&rest, &mut |place, index| found.push((place, index)));
        assert_eq!(found, [(Place::Input, 0), (Place::Input, 1)]);
    }

    #[test]
    fn search_finds_words_at_every_byte() {
        let secrets = Secrets::draw().unwrap();
        let word = heap(&secrets)[1];
        for at in 0..24 {
            let mut bytes = vec![0; 32];
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            let mut found = Vec::new();
            secrets
                .needles()
                .search(&bytes, &mut |place, index| found.push((place, index)));
            assert_eq!(found, [(Place::Heap, 1)], "at {at}");
        }
    }

    #[test]
    fn print_finds_numbers_and_lists_of_bytes_whatever_the_portions() {
        let secrets = Secrets::draw().unwrap();
        let needles = secrets.needles();
        let [first, second] = heap(&secrets);
        let text = format!("X {{ a: {first}, b: [1, {:?}] }}", second.to_le_bytes());
        let text = text.replace("[1, [", "[1, ");
        for portion in [1, 3, 7, text.len()] {
            let mut found = BTreeSet::new();
            let mut print = Print::new(&needles, |place, index| {
                found.insert((place, index));
            });
            for part in text.as_bytes().chunks(portion) {
                print.write_str(str::from_utf8(part).unwrap()).unwrap();
            }
            print.finish();
            assert_eq!(found, BTreeSet::from([(Place::Heap, 0), (Place::Heap, 1)]));
        }
        let mut found = 0;
        let mut print = Print::new(&needles, |_, _| found += 1);
        let [a, b @ ..] = second.to_le_bytes();
        write!(print, "[{a}], {b:?} {first}1").unwrap();
        print.finish();
        assert_eq!(found, 0, "neither split lists nor longer numbers count");
    }
}
