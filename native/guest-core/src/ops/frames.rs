//! Frames of [`mayfly_wire`]: requests from fd 0, answers on fd 1. What a program can reach gives a frame its parts, and never its head.

use deno_core::{OpState, op2, v8};
use deno_error::JsErrorBox;
use mayfly_wire::{BODY_MAX, HEAD_BYTES, HEADER_MAX, Head, Kind, Limits, Progress, progress};

use super::io;

/// Most requests fit; a larger one gets memory of its own.
const INPUT_BYTES: usize = 65_536;
/// Texts of more UTF-16 units are measured before they get room.
const SMALL_TEXT: u32 = 20_000;
/// Fields of a request's first line, as `src/isolate/wire/request_line.ts` has them.
const FIELDS: usize = 7;
/// UTF-8 needs at most three bytes for a UTF-16 unit.
const UNIT_BYTES: usize = 3;

/// What frames need from one to the next.
pub struct Frames {
    /// Where requests are read into.
    input: Vec<u8>,
    /// Headers of answers, by their numbers.
    kept: Vec<Vec<u8>>,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            input: vec![0; INPUT_BYTES],
            kept: Vec::new(),
        }
    }
}

/// Waits for the next request: the fields of its header's first line, which tabs part, the lines behind it, and the body, undefined where
/// there is none. Null at the end of input.
#[op2]
pub fn op_mayfly_receive<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &mut OpState,
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    let input = &mut state.borrow_mut::<Frames>().input;
    let mut larger = Vec::new();
    let mut have = io::read(input)?;
    if have == 0 {
        return Ok(v8::null(scope).into());
    }
    let (head, bytes) = loop {
        let bytes = if larger.is_empty() {
            &mut *input
        } else {
            &mut larger
        };
        let wanted = match progress(&bytes[..have], Kind::Request, Limits::default()).map_err(to_error)? {
            Progress::Whole(head) => break (head, &bytes[HEAD_BYTES..have]),
            Progress::Head(missing) | Progress::Parts(_, missing) => have + missing,
        };
        if wanted > bytes.len() {
            let mut grown = bytes[..have].to_vec();
            grown.resize(wanted, 0);
            larger = grown;
            continue;
        }
        let count = io::read(&mut bytes[have..])?;
        if count == 0 {
            return Err(JsErrorBox::generic("Reading a frame: the input ended inside it"));
        }
        have += count;
    };
    let (header, body) = bytes.split_at(head.header_bytes as usize);
    let end = header.iter().position(|&byte| byte == b'\n');
    let line = to_fields(scope, &header[..end.unwrap_or(header.len())])?;
    let rest = to_text(scope, end.map_or(&[], |end| &header[end + 1..]))?;
    let body = match body {
        [] => v8::undefined(scope).into(),
        body => to_array(scope, body)?,
    };
    Ok(v8::Array::new_with_elements(scope, &[line, rest, body]).into())
}

/// Writes messages, whole frames back to back.
#[op2(fast)]
pub fn op_mayfly_say(#[buffer] messages: &[u8]) -> Result<(), JsErrorBox> {
    write_all(messages)
}

/// Waits for messages of the host, for so many milliseconds at most, negative for ever: whole frames back to back. Null when none came, and
/// at the end of input.
#[op2]
pub fn op_mayfly_hear<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    milliseconds: f64,
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    // Not earlier than the timer that is waited for.
    if milliseconds >= 0.0 && !io::poll(milliseconds.ceil().min(f64::from(i32::MAX)) as i32)? {
        return Ok(v8::null(scope).into());
    }
    let mut bytes = vec![0; INPUT_BYTES];
    let mut have = io::read(&mut bytes)?;
    let mut start = 0;
    while start < have {
        let first = &bytes[start..have.min(start + HEAD_BYTES)];
        let end = match progress(first, Kind::Message, Limits::default()).map_err(to_error)? {
            Progress::Head(missing) => have + missing,
            Progress::Whole(head) | Progress::Parts(head, _) => start + head.frame_bytes(),
        };
        if end > bytes.len() {
            bytes.resize(end, 0);
        }
        if end > have {
            // The host gives whole frames: the rest is there.
            match io::read(&mut bytes[have..])? {
                0 => return Err(JsErrorBox::generic("Reading a frame: the input ended inside it")),
                count => have += count,
            }
        } else {
            start = end;
        }
    }
    if have == 0 {
        return Ok(v8::null(scope).into());
    }
    to_array(scope, &bytes[..have])
}

fn to_error(error: mayfly_wire::FrameError) -> JsErrorBox {
    JsErrorBox::generic(error.to_string())
}

fn to_fields<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    line: &[u8],
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    let mut fields = [v8::undefined(scope).into(); FIELDS];
    let mut count = 0;
    for field in line.splitn(FIELDS, |&byte| byte == b'\t') {
        fields[count] = to_text(scope, field)?;
        count += 1;
    }
    Ok(v8::Array::new_with_elements(scope, &fields[..count]).into())
}

/// What is no UTF-8 becomes U+FFFD.
fn to_text<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    match v8::String::new_from_utf8(scope, bytes, v8::NewStringType::Normal) {
        Some(text) => Ok(text.into()),
        None => Err(no_room("a text", bytes.len())),
    }
}

fn to_array<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    let store = v8::ArrayBuffer::new_backing_store_from_vec(bytes.to_vec()).make_shared();
    let buffer = v8::ArrayBuffer::with_backing_store(scope, &store);
    match v8::Uint8Array::new(scope, buffer, 0, bytes.len()) {
        Some(array) => Ok(array.into()),
        None => Err(no_room("an array", bytes.len())),
    }
}

fn no_room(what: &str, bytes: usize) -> JsErrorBox {
    JsErrorBox::range_error(format!("Cannot make {what} of {bytes} bytes"))
}

/// Keeps a header that many answers have; its number.
#[op2(fast)]
pub fn op_mayfly_keep_header(state: &mut OpState, #[string] header: String) -> u32 {
    let kept = &mut state.borrow_mut::<Frames>().kept;
    kept.push(header.into_bytes());
    kept.len() as u32 - 1
}

/// As [`op_mayfly_send_text`], with a header that was kept.
#[op2(nofast)]
pub fn op_mayfly_send_kept(
    scope: &mut v8::PinScope<'_, '_>,
    state: &mut OpState,
    header: u32,
    body: v8::Local<v8::String>,
    units: u32,
    limit: f64,
) -> Result<bool, JsErrorBox> {
    let kept = state.borrow::<Frames>().kept.get(header as usize);
    let header = kept.ok_or_else(|| JsErrorBox::range_error(format!("There is no header {header}")))?;
    send_text(scope, header, body, units, limit)
}

/// Writes an answer whose body is text of that many UTF-16 units. False, and nothing written, if the body is over `limit` bytes or a part
/// over what any may have.
#[op2(nofast)]
pub fn op_mayfly_send_text(
    scope: &mut v8::PinScope<'_, '_>,
    #[string] header: &str,
    body: v8::Local<v8::String>,
    units: u32,
    limit: f64,
) -> Result<bool, JsErrorBox> {
    send_text(scope, header.as_bytes(), body, units, limit)
}

/// As [`op_mayfly_send_text`].
#[op2(fast)]
pub fn op_mayfly_send_bytes(
    #[string] header: &str,
    #[buffer] body: &[u8],
    limit: f64,
) -> Result<bool, JsErrorBox> {
    if body.len() as f64 > limit {
        return Ok(false);
    }
    let mut frame = begin(header.as_bytes(), body.len());
    frame.extend_from_slice(body);
    send(frame, header.len(), limit)
}

fn send_text(
    scope: &mut v8::PinScope<'_, '_>,
    header: &[u8],
    body: v8::Local<v8::String>,
    units: u32,
    limit: f64,
) -> Result<bool, JsErrorBox> {
    // No unit takes less than a byte.
    if f64::from(units) > limit {
        return Ok(false);
    }
    if units > SMALL_TEXT {
        let body = body.to_rust_string_lossy(scope);
        let mut frame = begin(header, body.len());
        frame.extend_from_slice(body.as_bytes());
        return send(frame, header.len(), limit);
    }
    let room = units as usize * UNIT_BYTES;
    let mut frame = begin(header, room);
    let into = frame.spare_capacity_mut();
    let written = body.write_utf8_uninit_v2(scope, into, v8::WriteFlags::kReplaceInvalidUtf8, None);
    // SAFETY: the engine has written that many bytes into the room behind the length.
    unsafe { frame.set_len(frame.len() + written) };
    send(frame, header.len(), limit)
}

/// A frame as far as its header, with room for a body.
fn begin(header: &[u8], room: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_BYTES + header.len() + room);
    frame.extend_from_slice(&[0; HEAD_BYTES]);
    frame.extend_from_slice(header);
    frame
}

/// Writes a frame whose parts are in their places.
fn send(mut frame: Vec<u8>, header_bytes: usize, limit: f64) -> Result<bool, JsErrorBox> {
    let body_bytes = frame.len() - HEAD_BYTES - header_bytes;
    if body_bytes as f64 > limit.min(f64::from(BODY_MAX)) || header_bytes > HEADER_MAX as usize {
        return Ok(false);
    }
    let head = Head {
        kind: Kind::Response,
        // Both are within the limits of a frame.
        header_bytes: header_bytes as u32,
        body_bytes: body_bytes as u32,
    };
    frame[..HEAD_BYTES].copy_from_slice(&head.encode());
    write_all(&frame)?;
    Ok(true)
}

fn write_all(bytes: &[u8]) -> Result<(), JsErrorBox> {
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = &rest[io::write(rest)?..];
    }
    Ok(())
}
