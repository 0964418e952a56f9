//! A small program for guests to be.

/// An ELF file that is loaded at 0x40_0000: headers and two bytes of code in one segment, and a writable segment behind it.
pub(crate) fn tiny() -> Vec<u8> {
    const START: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 2 * 56;
    let total = HEADERS + 2;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    for word in [START + HEADERS, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend([0; 4]);
    for half in [64_u16, 56, 2, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for (flags, address, in_file, in_memory) in
        [(5_u32, START, total, total), (6, START + 0x1_0000, 16, 5016)]
    {
        file.extend(1_u32.to_le_bytes());
        file.extend(flags.to_le_bytes());
        for word in [0, address, address, in_file, in_memory, 4096_u64] {
            file.extend(word.to_le_bytes());
        }
    }
    file.extend([0x0f, 0x05]);
    file
}
