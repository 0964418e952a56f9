//! The test vectors that src/isolate/wire/wire.ts is held to (tests/isolate/wire_vectors.json), judged by this crate.

use mayfly_wire::{FrameError, Kind, Limits, Progress, progress};

const VECTORS: &str = include_str!("../../../tests/isolate/wire_vectors.json");

/// One object of the file. Its members are texts, numbers and the object `limits`, whose members have names of their own.
struct Vector<'a>(&'a str);

impl<'a> Vector<'a> {
    /// A member's value as it stands in the file.
    fn member(&self, name: &str) -> Option<&'a str> {
        let (_, after) = self.0.split_once(&format!("\"{name}\": "))?;
        Some(after.lines().next()?.trim_end_matches(','))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.member(name)?.strip_prefix('"')?.strip_suffix('"')
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.member(name)?.parse().ok()
    }

    fn bytes(&self) -> Vec<u8> {
        let hex = self.text("hex").expect("bytes").as_bytes();
        let digit = |d: &u8| char::from(*d).to_digit(16).expect("a digit") as u8;
        hex.chunks(2)
            .map(|pair| digit(&pair[0]) << 4 | digit(&pair[1]))
            .collect()
    }
}

/// A verdict in the words of the file: the lengths of header and body, or the field at fault and what was found in it.
type Verdict<'a> = Result<(u32, u32), (&'a str, u32)>;

fn judge(bytes: &[u8], kind: Kind, limits: Limits) -> Verdict<'static> {
    match progress(bytes, kind, limits) {
        Ok(Progress::Whole(head)) => Ok((head.header_bytes, head.body_bytes)),
        Ok(Progress::Head(missing) | Progress::Parts(_, missing)) => Err(("cut", missing as u32)),
        Err(FrameError::Magic) => Err(("magic", 0)),
        Err(FrameError::Version(found)) => Err(("version", found.into())),
        Err(FrameError::Kind(found)) => Err(("kind", found.into())),
        Err(FrameError::Flags(found)) => Err(("flags", found.into())),
        Err(FrameError::Header(found)) => Err(("header", found)),
        Err(FrameError::Body(found)) => Err(("body", found)),
        Err(FrameError::Exchange(found)) => Err(("exchange", found)),
        Err(FrameError::Trailing(found)) => Err(("trailing", found as u32)),
    }
}

#[test]
fn every_vector_is_judged_as_the_other_side_does() {
    let vectors: Vec<Vector> = VECTORS.split("\n  {\n").skip(1).map(Vector).collect();
    assert_eq!(vectors.len(), VECTORS.matches("\"name\":").count());
    assert!(vectors.len() > 20);
    for vector in vectors {
        let name = vector.text("name").expect("a name");
        let kind = match vector.text("kind") {
            Some("request") => Kind::Request,
            Some("response") => Kind::Response,
            Some("message") => Kind::Message,
            other => panic!("{name}: kind {other:?}"),
        };
        let limits = Limits {
            header: vector.number("header").expect("a limit"),
            body: vector.number("body").expect("a limit"),
        };
        let wanted: Verdict = match vector.text("error") {
            Some(field) => Err((field, vector.number("found").unwrap_or(0))),
            None => Ok((
                vector.number("header_bytes").expect("a length"),
                vector.number("body_bytes").expect("a length"),
            )),
        };
        assert_eq!(judge(&vector.bytes(), kind, limits), wanted, "{name}");
    }
}
