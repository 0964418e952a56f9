//! The page tables of guests; the walk itself lies beside them, in `mayfly_vmm::fuzzing`.

/// See `mayfly_vmm::fuzzing::space`.
pub fn run(data: &[u8]) {
    mayfly_vmm::fuzzing::space(data);
}
