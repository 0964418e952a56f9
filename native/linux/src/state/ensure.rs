//! What audits of tables begin with.

/// Fails with this text unless the condition holds.
pub(crate) fn ensure(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
