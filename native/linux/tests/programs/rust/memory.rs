//! The allocator, collections, arguments, environment, and a death by overflow of the stack.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

fn main() {
    println!("{:?}", std::env::args().skip(1).collect::<Vec<_>>());
    println!("{:?}", std::env::var("NEVER_SET"));
    // SAFETY: there is one thread.
    unsafe { std::env::set_var("SET_HERE", "value") };
    println!("{:?}", std::env::var("SET_HERE"));
    let mut blocks: VecDeque<Vec<u8>> = VecDeque::new();
    let mut state = 1u32;
    for i in 0..20_000u32 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        blocks.push_back(vec![i as u8; (state >> 12) as usize % 20_000]);
        if blocks.len() > 200 {
            let mut block = blocks.pop_front().unwrap();
            block.extend_from_slice(&[7; 1000]);
            block.shrink_to_fit();
            assert!(block.iter().rev().take(1000).all(|b| *b == 7));
        }
    }
    println!(
        "{}",
        blocks
            .iter()
            .map(|b| b.iter().map(|x| u64::from(*x)).sum::<u64>())
            .sum::<u64>()
    );
    // Its hasher draws random keys.
    let map: HashMap<u32, String> = (0..50_000).map(|i| (i, i.to_string())).collect();
    let sorted: BTreeMap<_, _> = map.iter().filter(|(k, _)| **k % 10_000 == 3).collect();
    println!("{} {sorted:?}", map.len());
    println!("{}", map.values().map(String::len).collect::<HashSet<_>>().len());
    let mut huge: Vec<u64> = Vec::new();
    println!("{}", huge.try_reserve(usize::MAX / 16).is_err());
    let mut large = vec![0u8; 48 << 20];
    large.iter_mut().step_by(4096).for_each(|b| *b = 1);
    println!("{}", large.iter().map(|b| u64::from(*b)).sum::<u64>());
    println!("{:.6} {:e} {}", (2f64).sqrt().sin(), f64::MIN_POSITIVE, u128::MAX);
    println!("{}", dive(1));
}

/// The guard page ends it: the runtime's handler on its alternate stack says so, and aborts.
#[allow(unconditional_recursion)]
fn dive(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    dive(depth + 1) + frame[depth as usize % 64]
}
