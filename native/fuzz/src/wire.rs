//! The head of frames: decoding never panics, agrees with a second reading of the layout, and is the reverse of encoding.

use mayfly_linux::fs::stdio::{OutputMode, Stdio, StdioLimits, Written};
use mayfly_wire::{BODY_MAX, FrameError, HEAD_BYTES, HEADER_MAX, Head, Kind, Limits, Progress, progress};

use crate::Input;

/// The first four bytes choose limits and direction, two more where the frame is cut; the rest is the frame.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let wide = input.byte();
    let kind = match (wide & 24, wide & 1) {
        (0 | 16, 0) => Kind::Response,
        (0 | 16, _) => Kind::Request,
        (24, _) => Kind::Outbox,
        _ => Kind::Message,
    };
    let (header, body) = (u32::from(input.byte()), u32::from(input.byte()));
    let limits = match wide >> 1 & 3 {
        0 => Limits { header, body },
        1 => Limits {
            header: header << 16,
            body: body << 24,
        },
        2 => Limits {
            header: u32::MAX,
            body: u32::MAX,
        },
        _ => Limits::default(),
    };
    let cut = usize::from(u16::from_le_bytes(input.array()));
    let frame = input.0;

    let found = progress(frame, kind, limits);
    assert_eq!(found, read_again(frame, kind, limits));
    if let Ok(Progress::Parts(head, _) | Progress::Whole(head)) = found {
        let bytes = head.encode();
        assert_eq!(bytes, frame[..HEAD_BYTES]);
        assert_eq!(Head::decode(&bytes, kind, limits), Ok(head));
        assert!(head.frame_bytes() <= limits.frame_bytes());
    }
    any_head(frame, kind);
    in_two_parts(frame, cut.min(frame.len()), kind, limits);
}

/// The layout in the crate's drawing, read field by field from the whole of the bytes.
fn read_again(bytes: &[u8], kind: Kind, limits: Limits) -> Result<Progress, FrameError> {
    let half = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let word = |at: usize| Some(u32::from(half(at)?) | u32::from(half(at + 2)?) << 16);
    let magic = b"MAYF";
    if !magic.starts_with(&bytes[..bytes.len().min(4)]) {
        return Err(FrameError::Magic);
    }
    if let Some(&version) = bytes.get(4)
        && version != 1
    {
        return Err(FrameError::Version(version));
    }
    if let Some(&found) = bytes.get(5)
        && found != kind as u8
    {
        return Err(FrameError::Kind(found));
    }
    if let Some(flags) = half(6)
        && flags != 0
    {
        return Err(FrameError::Flags(flags));
    }
    let (16.., Some(header_bytes), Some(body_bytes)) = (bytes.len(), word(8), word(12)) else {
        return Ok(Progress::Head(16 - bytes.len()));
    };
    let (header_max, body_max) = match kind {
        Kind::Message => (65_540, 1 << 20),
        Kind::Request | Kind::Response | Kind::Outbox => (HEADER_MAX, BODY_MAX),
    };
    if header_bytes > limits.header || header_bytes > header_max {
        return Err(FrameError::Header(header_bytes));
    }
    if body_bytes > limits.body || body_bytes > body_max {
        return Err(FrameError::Body(body_bytes));
    }
    if kind == Kind::Message && header_bytes < 4 {
        return Err(FrameError::Exchange(header_bytes));
    }
    let head = Head {
        kind,
        header_bytes,
        body_bytes,
    };
    let (there, whole) = (
        bytes.len() as u64,
        16 + u64::from(header_bytes) + u64::from(body_bytes),
    );
    match there.checked_sub(whole) {
        None => Ok(Progress::Parts(head, (whole - there) as usize)),
        Some(0) => Ok(Progress::Whole(head)),
        Some(more) => Err(FrameError::Trailing(more as usize)),
    }
}

/// A head of any lengths encodes to bytes that decode to it, or are refused for the length that is too great.
fn any_head(bytes: &[u8], kind: Kind) {
    let Some(lengths) = bytes.first_chunk::<8>() else {
        return;
    };
    let lengths = u64::from_le_bytes(*lengths);
    let head = Head {
        kind,
        header_bytes: lengths as u32,
        body_bytes: (lengths >> 32) as u32,
    };
    let (least, header_max, body_max) = match kind {
        Kind::Message => (4, 65_540, 1 << 20),
        Kind::Request | Kind::Response | Kind::Outbox => (0, HEADER_MAX, BODY_MAX),
    };
    let wanted = match head {
        Head { header_bytes, .. } if header_bytes > header_max => Err(FrameError::Header(header_bytes)),
        Head { body_bytes, .. } if body_bytes > body_max => Err(FrameError::Body(body_bytes)),
        Head { header_bytes, .. } if header_bytes < least => Err(FrameError::Exchange(header_bytes)),
        head => Ok(head),
    };
    assert_eq!(Head::decode(&head.encode(), kind, Limits::default()), wanted);
}

/// A guest that writes the frame in two parts is judged as one that writes it whole, and a wrong first part is refused at once.
fn in_two_parts(frame: &[u8], cut: usize, kind: Kind, limits: Limits) {
    if kind != Kind::Response {
        return;
    }
    let output = 4096;
    let fresh = || Stdio::new(OutputMode::Framed(limits), StdioLimits { output, log: 0 });
    let whole = fresh().write(frame);
    let mut parts = fresh();
    let rest = &frame[cut..];
    match parts.write(&frame[..cut]) {
        Written::Waiting => assert_eq!(parts.write(rest), whole),
        Written::Ready if rest.is_empty() => assert_eq!(whole, Written::Ready),
        // The host has the answer and the program stops: what is behind it was never to be written.
        Written::Ready => match whole {
            Written::Ready => assert_eq!(rest, b"\n"),
            Written::TooMuch => assert!(frame.len() > output),
            Written::Broken(FrameError::Trailing(more)) => assert!(more >= rest.len()),
            other => panic!("{other:?}"),
        },
        other => {
            assert_ne!(whole, Written::Waiting, "{other:?}");
            assert_ne!(whole, Written::Ready, "{other:?}");
            return;
        }
    }
    let claims = matches!(
        progress(frame, kind, limits),
        Err(FrameError::Header(_) | FrameError::Body(_))
    );
    // A newline behind a whole frame is no output.
    let length = match frame.split_last() {
        Some((b'\n', rest)) if matches!(progress(rest, kind, limits), Ok(Progress::Whole(_))) => rest.len(),
        _ => frame.len(),
    };
    assert_eq!(whole == Written::TooMuch, claims || length > output);
}
