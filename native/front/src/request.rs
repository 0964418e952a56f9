//! A client's request, written anew for the guest.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderName, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Version};

/// Fields that are about a connection and not about what it carries (RFC 9110, section 7.6.1), and what the front does itself.
pub const CONNECTION_FIELDS: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// Fields that only the front says: what a client says here is dropped.
const OWN_FIELDS: [&str; 6] = [
    "content-length",
    "expect",
    "host",
    "x-forwarded-for",
    "x-forwarded-proto",
    "forwarded",
];

/// Who asks, and how.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its address, where it has one.
    pub address: Option<IpAddr>,
    /// Whether TLS is between.
    pub secure: bool,
}

/// How the guest is told where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its length in bytes.
    Length(u64),
    /// By chunks ([`chunk`], [`LAST_CHUNK`]).
    Chunks,
}

/// Behind the last chunk of a body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Writes a piece of a body as a chunk; none is the end and not written.
pub fn chunk(piece: &[u8], to: &mut Vec<u8>) {
    if !piece.is_empty() {
        to.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        to.extend_from_slice(piece);
        to.extend_from_slice(b"\r\n");
    }
}

/// The protocol that a request wants to go on with (RFC 9110, section 7.8), as WebSocket does. Those of HTTP/1.1 alone can, and the
/// front itself speaks HTTP/2 to who wants that.
#[must_use]
pub fn wanted_protocol(parts: &Parts) -> Option<&HeaderValue> {
    let mut protocols = parts.headers.get_all(UPGRADE).iter();
    let protocol = protocols.next()?;
    let asks = parts.version == Version::HTTP_11
        && parts.method == Method::GET
        && connection_options(&parts.headers).contains(&UPGRADE);
    let is_http = protocol.as_bytes().to_ascii_lowercase().starts_with(b"h2c");
    (asks && !is_http && protocols.next().is_none()).then_some(protocol)
}

/// The end of a request that asks the guest to go on with another protocol.
pub const UPGRADES: &[u8] = b"\r\nconnection: upgrade\r\n\r\n";

/// The bytes of the request with the beginning of its body, or `None` for a method that is for proxies. With a `protocol` the guest is
/// asked to go on with that.
#[must_use]
pub fn to_bytes(
    parts: &Parts,
    body: &[u8],
    framing: Framing,
    protocol: Option<&HeaderValue>,
    client: Client,
) -> Option<Vec<u8>> {
    if parts.method == Method::CONNECT {
        return None;
    }
    let mut bytes = Vec::with_capacity(512 + body.len());
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    bytes.extend_from_slice(parts.method.as_str().as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(path.as_bytes());
    bytes.extend_from_slice(b" HTTP/1.1\r\n");
    let mut field = |name: &str, value: &[u8]| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    };
    // What the request line says is right: HTTP/2 says it there alone.
    let host = parts.uri.authority().map(|host| host.as_str().as_bytes());
    let host = host.or_else(|| parts.headers.get(HOST).map(|host| host.as_bytes()));
    field("host", host.unwrap_or(b"localhost"));
    let named = connection_options(&parts.headers);
    for (name, value) in &parts.headers {
        let text = name.as_str();
        if !CONNECTION_FIELDS.contains(&text) && !OWN_FIELDS.contains(&text) && !named.contains(name) {
            field(text, value.as_bytes());
        }
    }
    if let Some(address) = client.address {
        field("x-forwarded-for", address.to_string().as_bytes());
    }
    field(
        "x-forwarded-proto",
        if client.secure { b"https" } else { b"http" },
    );
    let asks_for_none = [
        Method::GET,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
        Method::DELETE,
    ];
    match framing {
        Framing::Length(0) if asks_for_none.contains(&parts.method) => {}
        Framing::Length(length) => field("content-length", length.to_string().as_bytes()),
        Framing::Chunks => field("transfer-encoding", b"chunked"),
    }
    match protocol {
        Some(protocol) => {
            field("upgrade", protocol.as_bytes());
            // The line before ends with the first two bytes of it.
            bytes.extend_from_slice(&UPGRADES[2..]);
        }
        None => {
            field("connection", b"close");
            bytes.extend_from_slice(b"\r\n");
        }
    }
    match framing {
        Framing::Length(_) => bytes.extend_from_slice(body),
        Framing::Chunks => chunk(body, &mut bytes),
    }
    Some(bytes)
}

/// The fields that `connection` names.
fn connection_options(fields: &HeaderMap) -> Vec<HeaderName> {
    let values = fields.get_all("connection").iter();
    let names = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    names.filter_map(|name| name.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn text(request: Request<()>, body: &str) -> Option<String> {
        let client = Client {
            address: Some([192, 0, 2, 7].into()),
            secure: true,
        };
        let (parts, ()) = request.into_parts();
        let framing = Framing::Length(body.len() as u64);
        to_bytes(&parts, body.as_bytes(), framing, wanted_protocol(&parts), client)
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_request_is_written_with_what_is_the_fronts_own() {
        let request = Request::post("/a?b=c")
            .header("host", "example.org")
            .header("connection", "keep-alive, x-secret")
            .header("x-secret", "1")
            .header("transfer-encoding", "chunked")
            .header("content-length", "900")
            .header("x-forwarded-for", "10.0.0.1")
            .header("accept", "*/*")
            .body(())
            .unwrap();
        assert_eq!(
            text(request, "hello").unwrap(),
            "POST /a?b=c HTTP/1.1\r\nhost: example.org\r\naccept: */*\r\nx-forwarded-for: 192.0.2.7\r\n\
             x-forwarded-proto: https\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"
        );
    }

    #[test]
    fn a_body_of_unknown_length_goes_in_chunks() {
        let (parts, ()) = Request::post("/").body(()).unwrap().into_parts();
        let client = Client {
            address: None,
            secure: false,
        };
        let mut bytes = to_bytes(&parts, b"0123456789ab", Framing::Chunks, None, client).unwrap();
        chunk(b"", &mut bytes);
        bytes.extend_from_slice(LAST_CHUNK);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("transfer-encoding: chunked\r\n") && !text.contains("content-length"));
        assert!(text.ends_with("\r\n\r\nc\r\n0123456789ab\r\n0\r\n\r\n"), "{text}");
    }

    #[test]
    fn the_authority_of_the_request_line_is_the_host() {
        let request = Request::get("http://example.org/x")
            .header("host", "other")
            .body(())
            .unwrap();
        let text = text(request, "").unwrap();
        assert!(
            text.starts_with("GET /x HTTP/1.1\r\nhost: example.org\r\n"),
            "{text}"
        );
        assert!(
            !text.contains("other") && !text.contains("content-length"),
            "{text}"
        );
    }

    #[test]
    fn another_protocol_is_asked_for_if_the_client_can_go_on_with_it() {
        let request = |connection: &str, protocols: &[&str], version: Version, method: &str| {
            let mut request = Request::builder()
                .method(method)
                .version(version)
                .header("connection", connection);
            for protocol in protocols {
                request = request.header("upgrade", *protocol);
            }
            text(request.body(()).unwrap(), "").unwrap()
        };
        let asked = request("keep-alive, Upgrade", &["websocket"], Version::HTTP_11, "GET");
        assert!(
            asked.ends_with("\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
            "{asked}"
        );
        for plain in [
            request("keep-alive", &["websocket"], Version::HTTP_11, "GET"),
            request("upgrade", &[], Version::HTTP_11, "GET"),
            request("upgrade", &["websocket", "other"], Version::HTTP_11, "GET"),
            request("upgrade", &["websocket"], Version::HTTP_10, "GET"),
            request("upgrade", &["websocket"], Version::HTTP_11, "POST"),
            request("upgrade", &["H2C"], Version::HTTP_11, "GET"),
        ] {
            assert!(
                !plain.contains("upgrade") && plain.ends_with("\r\nconnection: close\r\n\r\n"),
                "{plain}"
            );
        }
    }

    #[test]
    fn proxies_methods_are_not_for_guests() {
        let request = Request::builder()
            .method("CONNECT")
            .uri("example.org:80")
            .body(())
            .unwrap();
        assert_eq!(text(request, ""), None);
    }
}
