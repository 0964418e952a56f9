//! Threads of the standard library: channels, locks, condition variables, barriers, parking, thread-locals, panics.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        println!("dropped {}", self.0);
    }
}

thread_local! {
    static LOCAL: RefCell<Vec<Noisy>> = const { RefCell::new(Vec::new()) };
}

fn main() {
    channels();
    locks();
    waiting();
    ends();
}

fn channels() {
    let (tell, told) = channel();
    let threads: Vec<_> = (0..8u64)
        .map(|n| {
            let tell = tell.clone();
            thread::spawn(move || (0..1000).for_each(|i| tell.send(n * 1000 + i).unwrap()))
        })
        .collect();
    drop(tell);
    println!("sum {}", told.iter().sum::<u64>());
    threads.into_iter().for_each(|t| t.join().unwrap());
    let (tell, told) = sync_channel(0);
    thread::scope(|s| {
        s.spawn(|| (0..100).for_each(|i| tell.send(i).unwrap()));
        println!("met {}", told.iter().take(100).sum::<i32>());
    });
    let wait = told.recv_timeout(Duration::from_millis(5));
    println!("silent {}", wait == Err(RecvTimeoutError::Timeout));
}

fn locks() {
    let (sum, count) = (Mutex::new(0u64), AtomicUsize::new(0));
    let table = RwLock::new(vec![0; 16]);
    thread::scope(|s| {
        for n in 0..6 {
            let (sum, count, table) = (&sum, &count, &table);
            s.spawn(move || {
                for i in 0..2000 {
                    *sum.lock().unwrap() += i;
                    count.fetch_add(1, Ordering::Relaxed);
                    if i % 100 == 0 {
                        table.write().unwrap()[n] += 1;
                    }
                    assert!(table.read().unwrap().len() == 16);
                }
            });
        }
    });
    println!(
        "{} {} {:?}",
        sum.into_inner().unwrap(),
        count.into_inner(),
        table.into_inner().unwrap()
    );
    static ONCE: Once = Once::new();
    static CELL: OnceLock<usize> = OnceLock::new();
    let runs = AtomicUsize::new(0);
    thread::scope(|s| {
        for n in 0..5 {
            let runs = &runs;
            s.spawn(move || {
                ONCE.call_once(|| drop(runs.fetch_add(1, Ordering::SeqCst)));
                CELL.get_or_init(|| n)
            });
        }
    });
    println!("once {} {}", runs.into_inner(), CELL.get().is_some());
}

fn waiting() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let theirs = pair.clone();
    let ping = thread::spawn(move || {
        for turn in 0..200 {
            let mut at = theirs
                .1
                .wait_while(theirs.0.lock().unwrap(), |at| *at != 2 * turn + 1)
                .unwrap();
            *at += 1;
            theirs.1.notify_all();
        }
    });
    for turn in 0..200 {
        let mut at = pair
            .1
            .wait_while(pair.0.lock().unwrap(), |at| *at != 2 * turn)
            .unwrap();
        *at += 1;
        pair.1.notify_all();
    }
    ping.join().unwrap();
    println!("turns {}", pair.0.lock().unwrap());
    let (barrier, leaders) = (Barrier::new(5), AtomicUsize::new(0));
    thread::scope(|s| {
        for _ in 0..5 {
            s.spawn(|| {
                for _ in 0..20 {
                    leaders.fetch_add(barrier.wait().is_leader().into(), Ordering::SeqCst);
                }
            });
        }
    });
    println!("leaders {}", leaders.into_inner());
    let parked = thread::spawn(|| {
        thread::park();
        thread::park_timeout(Duration::from_millis(1));
        "unparked"
    });
    parked.thread().unpark();
    println!("{}", parked.join().unwrap());
}

fn ends() {
    std::panic::set_hook(Box::new(|_| {}));
    let named = thread::Builder::new().name("named".into()).stack_size(1 << 16);
    let ended = named.spawn(|| {
        LOCAL.with_borrow_mut(|local| local.push(Noisy("local")));
        let _kept = Noisy("frame");
        if thread::current().name() == Some("named") {
            panic!("on purpose");
        }
    });
    println!(
        "panicked {:?}",
        ended.unwrap().join().unwrap_err().downcast_ref::<&str>()
    );
    let poisoned = Arc::new(Mutex::new(1));
    let theirs = poisoned.clone();
    let end = thread::spawn(move || {
        let _held = theirs.lock().unwrap();
        panic!("with the lock");
    });
    println!("{} {}", end.join().is_err(), poisoned.lock().is_err());
    println!(
        "caught {}",
        std::panic::catch_unwind(|| vec![1][usize::MAX / 2]).is_err()
    );
    std::process::exit(17);
}
