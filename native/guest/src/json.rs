//! As much JSON as frames need: texts in, texts out.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::str;

/// The texts of an array, or names and values of an object, in turn, up to its end. The host writes sound JSON.
pub struct Texts<'a> {
    rest: &'a str,
}

impl<'a> Texts<'a> {
    /// Those of the array or object that `json` begins with; none of anything else.
    pub fn of(json: &'a str) -> Self {
        let rest = match json.as_bytes().first() {
            Some(b'[' | b'{') => &json[1..],
            _ => "",
        };
        Self { rest }
    }
}

impl<'a> Iterator for Texts<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest.find(['"', ']', '}'])?;
        if self.rest.as_bytes()[start] != b'"' {
            self.rest = "";
            return None;
        }
        let text = &self.rest[start + 1..];
        let mut end = 0;
        loop {
            end += text[end..].find(['"', '\\'])?;
            if text.as_bytes()[end] == b'"' {
                break;
            }
            end += 2;
            if !text.is_char_boundary(end) || end > text.len() {
                return None;
            }
        }
        self.rest = &text[end + 1..];
        Some(unescape(&text[..end]))
    }
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escaped = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or("");
        match escaped {
            b'n' => out.push('\n'),
            b't' => out.push('\t'),
            b'r' => out.push('\r'),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'u' => {
                let (found, behind) = unit(rest);
                rest = behind;
                let low = (found & 0xfc00 == 0xd800)
                    .then(|| rest.strip_prefix("\\u"))
                    .flatten()
                    .map(unit);
                let code = match low {
                    Some((low, behind)) if low & 0xfc00 == 0xdc00 => {
                        rest = behind;
                        0x10000 + ((found & 0x3ff) << 10 | (low & 0x3ff))
                    }
                    _ => found,
                };
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            other => out.push(other as char),
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Four hex digits, and what follows them.
fn unit(text: &str) -> (u32, &str) {
    let digits = text.get(..4).unwrap_or("");
    let found = u32::from_str_radix(digits, 16).unwrap_or(0xfffd);
    (found, text.get(4..).unwrap_or(""))
}

/// Adds a text as JSON writes it.
pub fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' | '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn texts(json: &str) -> Vec<String> {
        Texts::of(json).map(|text| text.to_string()).collect()
    }

    #[test]
    fn texts_of_arrays_and_objects_are_read_up_to_their_end() {
        assert_eq!(texts(r#"["host","a","b",""]"#), ["host", "a", "b", ""]);
        assert_eq!(texts(r#"{"id":"5","b":"c"},null,"x"]"#), ["id", "5", "b", "c"]);
        assert_eq!(
            texts(r#"["\"\\\/\n\u00e4\ud83d\ude00\ud800x","]}"]"#),
            ["\"\\/\n\u{e4}\u{1f600}\u{fffd}x", "]}"]
        );
        for none in ["", "[]", "null", "[", "[\"cut", "[\"cut\\", "[\"\\u12"] {
            assert_eq!(texts(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut json = String::from("[");
        let odd = "a\"\\\n\u{1}\u{e4}\u{1f600}";
        push_text(&mut json, odd);
        assert_eq!(texts(&json), [odd]);
    }
}
