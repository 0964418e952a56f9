//! Classes of blocks: sizes in bytes, header included. Each is a multiple of 16, and from 1 KiB on there are eight to a doubling.

/// Size of a header.
pub const HEADER: usize = 8;
/// Classes, of which 0 is none.
pub const CLASSES: usize = 145;
/// The largest block with a class.
pub const MAX_BYTES: usize = 1 << 20;
/// In place of a class: a mapping of its own.
pub const MAPPED: u64 = 0xfe;
/// In place of a class: an aligned part of a block, whose distance from that block's start is in the bits above.
pub const ALIGNED: u64 = 0xfd;

/// The smallest class whose blocks hold `bytes` and a header; `None` where that is over [`MAX_BYTES`].
pub fn of(bytes: usize) -> Option<usize> {
    let total = bytes.checked_add(HEADER + 15)? & !15;
    if total <= 1024 {
        return Some(total.max(32) / 16);
    }
    if total > MAX_BYTES {
        return None;
    }
    let last = total - 1;
    let doubling = last.ilog2() as usize;
    Some(65 + (doubling - 10) * 8 + (last >> (doubling - 3) & 7))
}

/// Bytes of a block of a class.
pub fn size(class: usize) -> usize {
    if class <= 64 {
        return class * 16;
    }
    let (doubling, step) = (10 + (class - 65) / 8, (class - 65) % 8);
    (9 + step) << (doubling - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        for bytes in (0..70_000).chain(MAX_BYTES - 5000..=MAX_BYTES - HEADER) {
            let class = of(bytes).expect("a class");
            assert!(
                class > 0 && class < CLASSES && size(class) >= bytes + HEADER,
                "{bytes}"
            );
            assert!(
                class <= 2 || size(class - 1) < bytes + HEADER,
                "{bytes} would fit {}",
                class - 1
            );
            assert_eq!(size(class) % 16, 0, "{bytes}");
        }
        assert_eq!((of(MAX_BYTES - HEADER + 1), of(usize::MAX)), (None, None));
        assert_eq!(size(CLASSES - 1), MAX_BYTES);
    }
}
