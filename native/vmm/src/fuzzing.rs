//! What is fuzzed here: the page tables of a fork. It needs no `/dev/kvm`.

mod space;

/// Does what the bytes say to the page tables of a fork and to a map of pages, and panics where they differ.
pub fn space(data: &[u8]) {
    space::run(data);
}
