//! The front by TLS, with a certificate that signs itself. It and its key are nobody's:
//! `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost ...`

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};

use super::{Served, connect, start};

fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/serve/tls")
        .join(name)
}

pub fn config() -> Arc<ServerConfig> {
    mayfly_front::tls::config(&file("certificate.pem"), &file("key.pem")).expect("a certificate and its key")
}

/// A client that trusts that certificate alone.
fn shake_hands(to: &Served, protocol: &[u8]) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(file("certificate.pem")).expect("a certificate");
    roots.add(certificate).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = "localhost".try_into().expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    StreamOwned::new(client, connect(to.address))
}

#[test]
fn both_versions_are_served_by_tls() {
    let Some(served) = start(true, true) else { return };
    let mut one = shake_hands(&served, b"http/1.1");
    for _ in 0..2 {
        one.write_all(b"GET /head HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        let mut seen = Vec::new();
        let mut piece = [0; 1024];
        while !seen.ends_with(b"connection: close") {
            let length = one.read(&mut piece).expect("an answer");
            assert!(length > 0, "{:?}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..length]);
        }
        let seen = String::from_utf8_lossy(&seen);
        assert!(
            seen.starts_with("HTTP/1.1 200") && seen.contains("x-forwarded-proto: https"),
            "{seen}"
        );
    }
    assert_eq!(one.conn.alpn_protocol(), Some(&b"http/1.1"[..]));

    let mut two = shake_hands(&served, b"h2");
    // Empty settings; then the request: GET, https, /count, a.
    two.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let head = b"\x82\x87\x04\x06/count\x01\x01a";
    let frame = [&[0, 0, head.len() as u8, 1, 5, 0, 0, 0, 1], &head[..]].concat();
    two.write_all(&frame).unwrap();
    let body = loop {
        let mut frame = [0; 9];
        two.read_exact(&mut frame).expect("a frame");
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
        let mut load = vec![0; length];
        two.read_exact(&mut load).expect("a whole frame");
        match frame[3] {
            0 => break load,
            3 | 7 => panic!("refused: {frame:?} {load:?}"),
            _ => {}
        }
    };
    assert_eq!(body, b"3");
    assert_eq!(two.conn.alpn_protocol(), Some(&b"h2"[..]));
}

#[test]
fn what_was_agreed_is_spoken() {
    let Some(served) = start(true, true) else { return };
    let mut two = shake_hands(&served, b"h2");
    two.write_all(b"GET /count HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // The connection ends, by a frame that says so or without.
    drop(two.read_to_end(&mut answer));
    assert!(!answer.windows(4).any(|piece| piece == b"HTTP"), "{answer:?}");
    // Who speaks no TLS is not answered.
    let mut plain = connect(served.address);
    plain
        .write_all(b"GET /count HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    drop(plain.read_to_end(&mut answer));
    assert!(!answer.windows(4).any(|piece| piece == b"HTTP"), "{answer:?}");
}
