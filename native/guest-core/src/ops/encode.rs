//! Text to bytes and back: UTF-8, the encodings of the Web (<https://encoding.spec.whatwg.org>), base64.

use std::collections::HashMap;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use deno_core::{OpState, op2, v8};
use deno_error::JsErrorBox;
use encoding_rs::{CoderResult, Decoder, DecoderResult, Encoding};

/// Base64 whose padding may be there or not, and whose last bits may be anything: "forgiving-base64".
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// UTF-8 of a text; half a surrogate pair becomes U+FFFD.
#[op2]
#[buffer]
pub fn op_mayfly_encode(#[string] text: String) -> Vec<u8> {
    text.into_bytes()
}

/// As much of a text as fits, as UTF-8. `counts`: UTF-16 units that were read, bytes that were written.
#[op2(nofast)]
pub fn op_mayfly_encode_into(
    scope: &mut v8::PinScope<'_, '_>,
    text: v8::Local<v8::String>,
    #[buffer] into: &mut [u8],
    #[buffer] counts: &mut [u32],
) -> Result<(), JsErrorBox> {
    let [read, written] = counts else {
        return Err(JsErrorBox::type_error(format!(
            "Cannot tell two counts in {} numbers",
            counts.len()
        )));
    };
    let mut units = 0;
    let bytes = text.write_utf8_v2(scope, into, v8::WriteFlags::kReplaceInvalidUtf8, Some(&mut units));
    // Both are at most the length of a string, which is below 2^30.
    *read = units as u32;
    *written = bytes as u32;
    Ok(())
}

/// The text of UTF-8, a byte order mark included. What is no UTF-8 becomes U+FFFD, or is an error.
#[op2]
#[string]
pub fn op_mayfly_decode_utf8(#[buffer] bytes: &[u8], fatal: bool) -> Result<String, JsErrorBox> {
    if fatal {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| JsErrorBox::type_error("The encoded data is not valid"))?;
        return Ok(text.to_owned());
    }
    Ok(encoding_rs::UTF_8
        .decode_without_bom_handling(bytes)
        .0
        .into_owned())
}

/// The name of the encoding with that label, in lower case; '' when there is none.
#[op2]
#[string]
pub fn op_mayfly_encoding_name(#[string] label: &str) -> String {
    Encoding::for_label_no_replacement(label.as_bytes())
        .map_or_else(String::new, |found| found.name().to_lowercase())
}

/// Decoders of streams.
#[derive(Default)]
struct Decoders {
    open: HashMap<u32, (Decoder, bool)>,
    next: u32,
}

/// Begins to decode a stream; `fatal`: what is not valid is an error. Gives the decoder's number, to be freed.
#[op2(fast)]
pub fn op_mayfly_decoder_new(
    state: &mut OpState,
    #[string] name: &str,
    fatal: bool,
) -> Result<u32, JsErrorBox> {
    let encoding = Encoding::for_label_no_replacement(name.as_bytes())
        .ok_or_else(|| JsErrorBox::range_error(format!("The encoding label {name:?} is invalid")))?;
    if !state.has::<Decoders>() {
        state.put(Decoders::default());
    }
    let decoders = state.borrow_mut::<Decoders>();
    let id = decoders.next;
    decoders.next = id.wrapping_add(1);
    decoders
        .open
        .insert(id, (encoding.new_decoder_without_bom_handling(), fatal));
    Ok(id)
}

/// Decodes the next bytes of a stream; a character that is not whole yet stays in the decoder, unless these are the last.
#[op2]
#[string]
pub fn op_mayfly_decoder_push(
    state: &mut OpState,
    id: u32,
    #[buffer] bytes: &[u8],
    last: bool,
) -> Result<String, JsErrorBox> {
    let decoder = state
        .try_borrow_mut::<Decoders>()
        .and_then(|decoders| decoders.open.get_mut(&id));
    let (decoder, fatal) =
        decoder.ok_or_else(|| JsErrorBox::range_error(format!("There is no decoder {id}")))?;
    let room = if *fatal {
        decoder.max_utf8_buffer_length_without_replacement(bytes.len())
    } else {
        decoder.max_utf8_buffer_length(bytes.len())
    };
    let room =
        room.ok_or_else(|| JsErrorBox::range_error(format!("Cannot decode {} bytes at once", bytes.len())))?;
    let mut text = String::with_capacity(room);
    if *fatal {
        let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, last);
        if !matches!(result, DecoderResult::InputEmpty) {
            return Err(JsErrorBox::type_error("The encoded data is not valid"));
        }
    } else {
        let (result, _, _) = decoder.decode_to_string(bytes, &mut text, last);
        if result != CoderResult::InputEmpty {
            return Err(JsErrorBox::generic("The decoder wants more room than it said"));
        }
    }
    Ok(text)
}

/// Ends a decoder; one that is not there is none.
#[op2(fast)]
pub fn op_mayfly_decoder_free(state: &mut OpState, id: u32) {
    if let Some(decoders) = state.try_borrow_mut::<Decoders>() {
        decoders.open.remove(&id);
    }
}

/// The bytes of base64 as a text of U+0000 to U+00FF (<https://infra.spec.whatwg.org/#forgiving-base64-decode>).
#[op2]
#[string]
pub fn op_mayfly_atob(#[string] text: &str) -> Result<String, JsErrorBox> {
    let compact: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' '))
        .collect();
    // Padding is allowed where it makes the length a multiple of four, and nowhere else.
    let padding = compact.iter().rev().take_while(|&&byte| byte == b'=').count();
    let padded_well = padding == 0 || padding <= 2 && compact.len().is_multiple_of(4);
    let bytes = padded_well.then(|| FORGIVING.decode(&compact).ok()).flatten();
    let bytes = bytes.ok_or_else(|| JsErrorBox::generic("Failed to decode base64"))?;
    Ok(bytes.into_iter().map(char::from).collect())
}

/// Base64 of a text of U+0000 to U+00FF.
#[op2]
#[string]
pub fn op_mayfly_btoa(#[string] text: &str) -> Result<String, JsErrorBox> {
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    let bytes = bytes
        .map_err(|_| JsErrorBox::generic("The string to be encoded has characters outside of Latin1"))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}
