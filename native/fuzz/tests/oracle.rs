//! Breaks what the targets guard, and wants the kept inputs to notice: a check that cannot fail proves nothing.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;

use mayfly_fuzz::calls;
use mayfly_linux::state::step::Step;

#[test]
fn every_step_of_the_restore_is_missed_by_some_seed_when_it_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/calls");
    let Ok(entries) = fs::read_dir(folder) else {
        println!("SKIPPED: no inputs here (an emulated machine carries the programs alone)");
        return;
    };
    let seeds: Vec<Vec<u8>> = entries
        .map(|entry| fs::read(entry.expect("an entry").path()).expect("a file"))
        .collect();
    // A panic is what is wanted here; its text would only fill the log.
    set_hook(Box::new(|_| {}));
    let unnoticed: Vec<Step> = Step::ALL
        .into_iter()
        .filter(|&step| {
            let notices = |seed: &Vec<u8>| {
                catch_unwind(AssertUnwindSafe(|| calls::run_without(seed, Some(step)))).is_err()
            };
            !seeds.iter().any(notices)
        })
        .collect();
    drop(take_hook());
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
