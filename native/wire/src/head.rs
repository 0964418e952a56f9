//! The fixed head of a frame: encode, decode, and how far a stream of bytes has come.

use core::fmt;

use crate::{BODY_MAX, EXCHANGE_BYTES, HEAD_BYTES, HEADER_MAX, MAGIC, MESSAGE_LIMITS, VERSION};

/// Which way a frame travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// From Mayfly to the guest.
    Request = 1,
    /// From the guest to Mayfly.
    Response = 2,
    /// Between the two, while a request is under way. Its parts are within [`MESSAGE_LIMITS`], whatever the limits say.
    Message = 3,
    /// At the front of the buffer that the guest reads into, on fd 0: the messages in its body are said before the read waits.
    Outbox = 4,
}

/// How long the parts of a frame may be, in bytes. Values above [`HEADER_MAX`] and [`BODY_MAX`] count as those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest JSON header.
    pub header: u32,
    /// Longest body.
    pub body: u32,
}

impl Limits {
    /// Those of frames of this kind.
    fn of(self, kind: Kind) -> Self {
        match kind {
            Kind::Request | Kind::Response | Kind::Outbox => self,
            Kind::Message => Self {
                header: self.header.min(MESSAGE_LIMITS.header),
                body: self.body.min(MESSAGE_LIMITS.body),
            },
        }
    }

    /// The longest frame that these limits let pass, in bytes.
    #[must_use]
    pub fn frame_bytes(self) -> usize {
        HEAD_BYTES + self.header.min(HEADER_MAX) as usize + self.body.min(BODY_MAX) as usize
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: HEADER_MAX,
            body: BODY_MAX,
        }
    }
}

/// A frame's head: what it is and how long its two parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which way it travels.
    pub kind: Kind,
    /// Length of the JSON header, in bytes.
    pub header_bytes: u32,
    /// Length of the body, in bytes.
    pub body_bytes: u32,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The first bytes are not [`MAGIC`].
    Magic,
    /// The version byte, which is not [`VERSION`].
    Version(u8),
    /// The kind byte, which is not the one wanted.
    Kind(u8),
    /// The flags, which are not zero.
    Flags(u16),
    /// The header's length, which is over the limit.
    Header(u32),
    /// The body's length, which is over the limit.
    Body(u32),
    /// The header's length, which leaves no room for a message's exchange.
    Exchange(u32),
    /// This many bytes follow the end of the frame.
    Trailing(usize),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Magic => write!(f, "Reading a frame: wrong first bytes, wanted MAYF"),
            Self::Version(found) => write!(f, "Reading a frame: version {found}, wanted {VERSION}"),
            Self::Kind(found) => write!(f, "Reading a frame: kind {found}, wanted the other direction's"),
            Self::Flags(found) => write!(f, "Reading a frame: flags {found:#06x}, wanted 0"),
            Self::Header(found) => write!(f, "Reading a frame: header of {found} bytes, wanted fewer"),
            Self::Body(found) => write!(f, "Reading a frame: body of {found} bytes, wanted fewer"),
            Self::Exchange(found) => write!(
                f,
                "Reading a frame: a message's header of {found} bytes, wanted {EXCHANGE_BYTES} or more"
            ),
            Self::Trailing(found) => write!(f, "Reading a frame: {found} bytes after its end, wanted none"),
        }
    }
}

impl core::error::Error for FrameError {}

impl Head {
    /// The head's bytes.
    #[must_use]
    pub fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = self.kind as u8;
        bytes[8..12].copy_from_slice(&self.header_bytes.to_le_bytes());
        bytes[12..].copy_from_slice(&self.body_bytes.to_le_bytes());
        bytes
    }

    /// Reads a head and checks every field of it.
    ///
    /// # Errors
    /// The first field, in their order, that is not as wanted.
    pub fn decode(bytes: &[u8; HEAD_BYTES], kind: Kind, limits: Limits) -> Result<Self, FrameError> {
        check_prefix(bytes, kind)?;
        let [.., h0, h1, h2, h3, b0, b1, b2, b3] = *bytes;
        let header_bytes = u32::from_le_bytes([h0, h1, h2, h3]);
        let body_bytes = u32::from_le_bytes([b0, b1, b2, b3]);
        let limits = limits.of(kind);
        if header_bytes > limits.header.min(HEADER_MAX) {
            return Err(FrameError::Header(header_bytes));
        }
        if body_bytes > limits.body.min(BODY_MAX) {
            return Err(FrameError::Body(body_bytes));
        }
        if kind == Kind::Message && header_bytes < EXCHANGE_BYTES {
            return Err(FrameError::Exchange(header_bytes));
        }
        Ok(Self {
            kind,
            header_bytes,
            body_bytes,
        })
    }

    /// Length of the whole frame, in bytes.
    #[must_use]
    pub fn frame_bytes(self) -> usize {
        HEAD_BYTES + self.header_bytes as usize + self.body_bytes as usize
    }
}

/// Checks as many of the fields before the lengths as `bytes` reaches: a wrong stream is refused at its first wrong byte.
fn check_prefix(bytes: &[u8], kind: Kind) -> Result<(), FrameError> {
    if bytes.iter().zip(MAGIC).any(|(&found, wanted)| found != wanted) {
        return Err(FrameError::Magic);
    }
    match bytes.get(4) {
        Some(&found) if found != VERSION => return Err(FrameError::Version(found)),
        _ => {}
    }
    match bytes.get(5) {
        Some(&found) if found != kind as u8 => return Err(FrameError::Kind(found)),
        _ => {}
    }
    match bytes.get(6..8) {
        Some(&[low, high]) if (low, high) != (0, 0) => {
            Err(FrameError::Flags(u16::from_le_bytes([low, high])))
        }
        _ => Ok(()),
    }
}

/// How far a stream of bytes has come towards one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many more bytes make the head whole.
    Head(usize),
    /// The head is whole; so many more bytes make the frame whole.
    Parts(Head, usize),
    /// The bytes are exactly one frame.
    Whole(Head),
}

/// Judges all the bytes that have come so far of one frame.
///
/// # Errors
/// A field that is wrong already, or bytes after the frame's end.
pub fn progress(bytes: &[u8], kind: Kind, limits: Limits) -> Result<Progress, FrameError> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
        check_prefix(bytes, kind)?;
        return Ok(Progress::Head(HEAD_BYTES - bytes.len()));
    };
    let head = Head::decode(head, kind, limits)?;
    let wanted = head.header_bytes as usize + head.body_bytes as usize;
    match wanted.cmp(&rest.len()) {
        core::cmp::Ordering::Greater => Ok(Progress::Parts(head, wanted - rest.len())),
        core::cmp::Ordering::Equal => Ok(Progress::Whole(head)),
        core::cmp::Ordering::Less => Err(FrameError::Trailing(rest.len() - wanted)),
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    /// A small generator, so that every run sees the same frames.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
        fn below(&mut self, end: u64) -> u64 {
            self.next() % end
        }
    }

    const LIMITS: Limits = Limits {
        header: 300,
        body: 5000,
    };

    fn frame(random: &mut Random) -> (Head, Vec<u8>) {
        let (kind, least) = match random.below(3) {
            0 => (Kind::Request, 0),
            1 => (Kind::Response, 0),
            _ => (Kind::Message, EXCHANGE_BYTES),
        };
        let head = Head {
            kind,
            header_bytes: least + random.below(301 - u64::from(least)) as u32,
            body_bytes: random.below(5001) as u32,
        };
        let mut bytes = head.encode().to_vec();
        bytes.extend((HEAD_BYTES..head.frame_bytes()).map(|_| random.next() as u8));
        (head, bytes)
    }

    #[test]
    fn head_survives_encode_and_decode() {
        let mut random = Random(1);
        for _ in 0..2000 {
            let (head, bytes) = frame(&mut random);
            let first = bytes.first_chunk().expect("a frame has a head");
            assert_eq!(Head::decode(first, head.kind, LIMITS), Ok(head));
        }
    }

    #[test]
    fn progress_counts_down_to_whole_and_refuses_more() {
        let mut random = Random(2);
        for _ in 0..50 {
            let (head, mut bytes) = frame(&mut random);
            for length in 0..bytes.len() {
                let missing = match progress(&bytes[..length], head.kind, LIMITS) {
                    Ok(Progress::Head(missing)) => missing + head.frame_bytes() - HEAD_BYTES,
                    Ok(Progress::Parts(found, missing)) => {
                        assert_eq!(found, head);
                        missing
                    }
                    other => panic!("{length} of {}: {other:?}", bytes.len()),
                };
                assert_eq!(length + missing, bytes.len());
            }
            assert_eq!(progress(&bytes, head.kind, LIMITS), Ok(Progress::Whole(head)));
            bytes.push(0);
            assert_eq!(progress(&bytes, head.kind, LIMITS), Err(FrameError::Trailing(1)));
        }
    }

    #[test]
    fn a_changed_bit_in_the_fixed_fields_is_refused_as_soon_as_it_is_there() {
        let mut random = Random(3);
        for _ in 0..20 {
            let (head, bytes) = frame(&mut random);
            for bit in 0..64 {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                // Flags are judged when both bytes are there.
                let seen = if bit < 48 { bit / 8 + 1 } else { 8 };
                assert!(progress(&bad[..seen], head.kind, LIMITS).is_err(), "bit {bit}");
                assert!(progress(&bad, head.kind, LIMITS).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn lengths_are_checked_at_the_limit_one_below_and_one_above() {
        for (header, body, fine) in [
            (300, 5000, true),
            (299, 4999, true),
            (301, 0, false),
            (0, 5001, false),
            (u32::MAX, 0, false),
            (0, u32::MAX, false),
        ] {
            let head = Head {
                kind: Kind::Response,
                header_bytes: header,
                body_bytes: body,
            };
            assert_eq!(
                Head::decode(&head.encode(), Kind::Response, LIMITS).is_ok(),
                fine,
                "{header} {body}"
            );
        }
        let wide = Limits {
            header: u32::MAX,
            body: u32::MAX,
        };
        let head = Head {
            kind: Kind::Response,
            header_bytes: HEADER_MAX + 1,
            body_bytes: 0,
        };
        assert_eq!(
            Head::decode(&head.encode(), Kind::Response, wide),
            Err(FrameError::Header(HEADER_MAX + 1))
        );
        assert_eq!(wide.frame_bytes(), Limits::default().frame_bytes());
    }

    #[test]
    fn a_message_has_limits_of_its_own_and_room_for_its_exchange() {
        let Limits { header, body } = MESSAGE_LIMITS;
        for (header_bytes, body_bytes, wanted) in [
            (EXCHANGE_BYTES, 0, None),
            (header, body, None),
            (EXCHANGE_BYTES - 1, 0, Some(FrameError::Exchange(3))),
            (0, 0, Some(FrameError::Exchange(0))),
            (header + 1, 0, Some(FrameError::Header(header + 1))),
            (4, body + 1, Some(FrameError::Body(body + 1))),
        ] {
            let head = Head {
                kind: Kind::Message,
                header_bytes,
                body_bytes,
            };
            let found = Head::decode(&head.encode(), Kind::Message, Limits::default());
            assert_eq!(found, wanted.map_or(Ok(head), Err));
        }
        let narrow = Limits { header: 10, body: 5 };
        let head = Head {
            kind: Kind::Message,
            header_bytes: 11,
            body_bytes: 0,
        };
        assert_eq!(
            Head::decode(&head.encode(), Kind::Message, narrow),
            Err(FrameError::Header(11))
        );
    }

    #[test]
    fn noise_never_panics_and_is_never_a_frame_by_chance() {
        let mut random = Random(4);
        for _ in 0..20_000 {
            let length = random.below(64) as usize;
            let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            if random.below(2) == 0 {
                for (byte, wanted) in bytes.iter_mut().zip(MAGIC) {
                    *byte = wanted;
                }
            }
            if let Ok(Progress::Whole(head)) = progress(&bytes, Kind::Request, LIMITS) {
                assert_eq!(head.encode(), bytes[..HEAD_BYTES]);
                assert_eq!(head.frame_bytes(), bytes.len());
            }
        }
    }

    #[test]
    fn errors_name_the_value_found() {
        assert_eq!(
            FrameError::Version(9).to_string(),
            "Reading a frame: version 9, wanted 1"
        );
    }
}
