//! TLS for the front's clients.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What HTTP/2 is called in a handshake.
pub const HTTP_2: &[u8] = b"h2";

/// Reads a chain of certificates and its key, both PEM.
///
/// # Errors
/// Which file cannot be read or is no PEM, or that the two do not fit.
pub fn config(chain: &Path, key: &Path) -> Result<Arc<ServerConfig>, Box<dyn std::error::Error>> {
    let wrong =
        |path: &Path, e: rustls::pki_types::pem::Error| format!("read {}: {e}, want PEM", path.display());
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(chain)
        .map_err(|e| wrong(chain, e))?
        .collect();
    let certificates = certificates.map_err(|e| wrong(chain, e))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
