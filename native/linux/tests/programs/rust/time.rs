//! Clocks, sleeps and time-outs of the standard library: what holds between them, not their values.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let begin = Instant::now();
    let wall = SystemTime::now();
    let mut last = begin;
    println!(
        "never back {}",
        (0..100_000).all(|_| {
            let now = Instant::now();
            now >= std::mem::replace(&mut last, now)
        })
    );
    for micros in [0, 1, 500, 3000, 20_000] {
        let before = Instant::now();
        thread::sleep(Duration::from_micros(micros));
        println!(
            "slept {micros}: {}",
            before.elapsed() >= Duration::from_micros(micros)
        );
    }
    let (lock, never) = (Mutex::new(()), Condvar::new());
    let before = Instant::now();
    let (guard, result) = never
        .wait_timeout(lock.lock().unwrap(), Duration::from_millis(7))
        .unwrap();
    println!(
        "timed out {} {}",
        result.timed_out(),
        before.elapsed() >= Duration::from_millis(7)
    );
    drop(guard);
    let sleepers: Vec<_> = (0..5)
        .map(|n| {
            thread::spawn(move || {
                let before = Instant::now();
                let length = Duration::from_millis(10 * (6 - n));
                thread::sleep(length);
                before.elapsed() >= length
            })
        })
        .collect();
    let woken: Vec<_> = sleepers.into_iter().map(|s| s.join().unwrap()).collect();
    println!("each slept its length {woken:?}");
    println!("later {}", begin.elapsed() > Duration::from_millis(50));
    println!(
        "this century {}",
        wall.duration_since(UNIX_EPOCH).unwrap() > Duration::from_secs(1_600_000_000)
    );
    println!("wall goes on {}", SystemTime::now() >= wall);
    println!(
        "no time {:?}",
        Instant::now().checked_duration_since(Instant::now() + Duration::from_secs(1))
    );
}
