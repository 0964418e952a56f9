//! URLs, by the crate `url` (<https://url.spec.whatwg.org>).

use deno_core::op2;
use deno_core::url::{Url, form_urlencoded, quirks};
use deno_error::JsErrorBox;

/// Numbers that tell where the parts of a URL lie in its text.
const PARTS: usize = 8;
/// Stands for no port.
const NO_PORT: u32 = 65_536;

/// Parses `text` against `base`, which is '' for none. Gives the normalised text, '' when it is no URL.
///
/// ```text
/// https://user:pass@example.com:1234/foo/bar?baz#quux
///      |      |    |          | ^^^^|       |   |
///      0      1    2          3 4   5       6   7
/// ```
///
/// `parts`: ends of scheme and user name, start and end of the host, the port (65 536 for none), starts of path, query and
/// fragment (0 for none). The text is ASCII, so an offset counts characters as well.
#[op2]
#[string]
pub fn op_mayfly_parse_url(
    #[string] text: &str,
    #[string] base: &str,
    #[buffer] parts: &mut [u32],
) -> Result<String, JsErrorBox> {
    let base = match base {
        "" => None,
        base => match Url::parse(base) {
            Ok(base) => Some(base),
            Err(_) => return Ok(String::new()),
        },
    };
    match Url::options().base_url(base.as_ref()).parse(text) {
        Ok(url) => give(url, parts),
        Err(_) => Ok(String::new()),
    }
}

/// Sets a part of a URL that was parsed before. Gives the new text, '' when the value is refused: the URL stays as it was then.
///
/// `which`: 0 hash, 1 host, 2 hostname, 3 password, 4 pathname, 5 port, 6 protocol, 7 search, 8 username.
#[op2]
#[string]
pub fn op_mayfly_set_url(
    #[string] href: &str,
    which: u32,
    #[string] value: &str,
    #[buffer] parts: &mut [u32],
) -> Result<String, JsErrorBox> {
    let Ok(mut url) = Url::parse(href) else {
        return Ok(String::new());
    };
    let set = match which {
        0 => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        1 => quirks::set_host(&mut url, value),
        2 => quirks::set_hostname(&mut url, value),
        3 => quirks::set_password(&mut url, value),
        4 => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        5 => quirks::set_port(&mut url, value),
        6 => quirks::set_protocol(&mut url, value),
        7 => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        8 => quirks::set_username(&mut url, value),
        _ => {
            return Err(JsErrorBox::range_error(format!(
                "Cannot set part {which} of a URL, want 0 to 8"
            )));
        }
    };
    if set.is_ok() {
        give(url, parts)
    } else {
        Ok(String::new())
    }
}

/// The pairs of a query without its question mark.
#[op2]
#[serde]
pub fn op_mayfly_parse_query(#[string] text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// The query of pairs.
#[op2]
#[string]
pub fn op_mayfly_format_query(#[serde] pairs: Vec<(String, String)>) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

fn give(url: Url, parts: &mut [u32]) -> Result<String, JsErrorBox> {
    if parts.len() != PARTS {
        return Err(JsErrorBox::type_error(format!(
            "Cannot tell the parts of a URL in {} numbers, want {PARTS}",
            parts.len()
        )));
    }
    let found = quirks::internal_components(&url);
    parts.copy_from_slice(&[
        found.scheme_end,
        found.username_end,
        found.host_start,
        found.host_end,
        found.port.map_or(NO_PORT, u32::from),
        found.path_start,
        found.query_start.unwrap_or(0),
        found.fragment_start.unwrap_or(0),
    ]);
    Ok(url.into())
}
