//! How often a loop goes round on a slow machine.

/// By how much long loops are shortened: 1 on a host; an emulated machine names the number in `MAYFLY_SLOWNESS`.
pub fn slowness() -> usize {
    std::env::var("MAYFLY_SLOWNESS").map_or(1, |text| match text.parse() {
        Ok(slowness @ 1..=100) => slowness,
        _ => panic!("MAYFLY_SLOWNESS is {text:?}, want a whole number from 1 to 100"),
    })
}

/// `whole` on a host, less on a slow machine, at least 1.
#[allow(dead_code, reason = "some tests hand the slowness on to their guest")]
pub fn rounds(whole: usize) -> usize {
    (whole / slowness()).max(1)
}
