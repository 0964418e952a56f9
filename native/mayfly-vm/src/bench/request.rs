//! The requests that are measured, and their answers.

use std::collections::BTreeSet;

use mayfly_pool::Outcome;
use mayfly_wire::{HEAD_BYTES, Head, Kind};

/// A request frame whose header says nothing.
pub fn frame(body: &str) -> Vec<u8> {
    let head = Head {
        kind: Kind::Request,
        header_bytes: 2,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], b"{}", body.as_bytes()].concat()
}

/// The answers must all be equal, since each request meets the same snapshot; random ones must all differ.
pub fn check(body: &str, outcome: Outcome, seen: &mut BTreeSet<Vec<u8>>) -> Result<(), String> {
    let Outcome::Answered(frame) = outcome else {
        return Err(format!("measured request {body}: {outcome}"));
    };
    let text = frame.get(HEAD_BYTES + 2..).unwrap_or_default().to_vec();
    let (first, new) = (seen.is_empty(), seen.insert(text.clone()));
    if first || new == (body == "uuid") {
        return Ok(());
    }
    Err(format!(
        "measured request {body}: unexpected answer {}",
        String::from_utf8_lossy(&text)
    ))
}
