//! Whether a guest's answer tells of an error.

use mayfly_wire::{HEAD_BYTES, Head, Kind, Limits};
use serde_json::Value;

/// Least status of a server's error (RFC 9110, section 15.6).
const SERVER_ERROR: u64 = 500;

/// Whether a whole answer tells of an error: it has one, or the status of a server's error, or the host would refuse it. What a guest says
/// is bounded by the pool before it comes here.
pub fn tells_of_an_error(answer: &[u8]) -> bool {
    let Some((head, rest)) = answer.split_first_chunk::<HEAD_BYTES>() else {
        return true;
    };
    let Ok(head) = Head::decode(head, Kind::Response, Limits::default()) else {
        return true;
    };
    let header = rest.get(..head.header_bytes as usize).map(serde_json::from_slice);
    let Some(Ok(Value::Object(header))) = header else {
        return true;
    };
    let status = header.get("status").and_then(Value::as_u64);
    header.contains_key("error") || status.is_some_and(|status| status >= SERVER_ERROR)
}

/// An answer without a body.
#[cfg(test)]
pub fn encode_answer(header: &str) -> Vec<u8> {
    let head = Head {
        kind: Kind::Response,
        header_bytes: header.len() as u32,
        body_bytes: 0,
    };
    [&head.encode(), header.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_a_status_of_500_and_what_is_no_answer_are_errors() {
        for fine in ["{}", r#"{"status":200,"headers":[]}"#, r#"{"status":499}"#] {
            assert!(!tells_of_an_error(&encode_answer(fine)), "{fine}");
        }
        for bad in [
            r#"{"status":500}"#,
            r#"{"status":599}"#,
            r#"{"error":{"name":"Error"}}"#,
            "[]",
            "{",
            "",
        ] {
            assert!(tells_of_an_error(&encode_answer(bad)), "{bad}");
        }
        assert!(tells_of_an_error(b""));
        assert!(tells_of_an_error(&encode_answer("{}")[..HEAD_BYTES]));
        assert!(tells_of_an_error(&[0; 64]));
    }
}
