//! SHA-1 and SHA-2 (FIPS 180-4).

use deno_core::op2;
use deno_error::JsErrorBox;
use sha2::Digest;

/// The digest of `bytes` by the algorithm of that name, as WebCrypto writes it.
#[op2]
#[buffer]
pub fn op_mayfly_digest(#[string] name: &str, #[anybuffer] bytes: &[u8]) -> Result<Vec<u8>, JsErrorBox> {
    match name {
        "SHA-1" => Ok(sha1::Sha1::digest(bytes).to_vec()),
        "SHA-256" => Ok(sha2::Sha256::digest(bytes).to_vec()),
        "SHA-384" => Ok(sha2::Sha384::digest(bytes).to_vec()),
        "SHA-512" => Ok(sha2::Sha512::digest(bytes).to_vec()),
        _ => Err(JsErrorBox::generic(format!(
            "Cannot digest by {name:?}, want SHA-1, SHA-256, SHA-384 or SHA-512"
        ))),
    }
}
