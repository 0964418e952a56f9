use super::*;
use std::sync::Arc;

const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_secs(10);
const LINE: FlowId = (0, 0);
type Numbers = Queue<u32, char, u32, u32>;

impl Numbered for u32 {
    fn number(&self) -> u64 {
        (*self).into()
    }
}

#[test]
fn submit_refuses_one_above_the_capacity_and_takes_again_below_it() {
    let q = Numbers::new(1, 2);
    assert_eq!((q.submit(LINE, 1, 1), q.submit(LINE, 1, 2)), (Ok(()), Ok(())));
    assert_eq!(q.submit(LINE, 1, 3), Err((3, Refused::Full)));
    assert_eq!(q.take(0), Some(Work::Job(1)));
    assert_eq!(q.submit(LINE, 1, 3), Ok(()));
    assert_eq!(q.load(), (2, 1));
}

#[test]
fn unfetched_completions_end_in_refusal() {
    let q = Numbers::new(1, 2);
    let mut taken = 0;
    while q.submit(LINE, 1, taken).is_ok() {
        assert_eq!(q.take(0), Some(Work::Job(taken)));
        q.complete(0, taken);
        taken += 1;
        assert!(taken < 100, "never refused");
    }
    assert_eq!(taken, 5);
    let mut all = Vec::new();
    assert_eq!(q.fetch(&mut all, 3, SOON), 3);
    assert_eq!(q.submit(LINE, 1, 9), Ok(()));
    q.fetch(&mut all, 100, SOON);
    assert_eq!(all, [0, 1, 2, 3, 4]);
}

#[test]
fn orders_reach_every_worker_before_jobs() {
    let q = Numbers::new(2, 2);
    q.submit(LINE, 1, 1).unwrap();
    q.order(&'a');
    assert_eq!(q.take(0), Some(Work::Order('a')));
    assert_eq!(q.take(1), Some(Work::Order('a')));
    assert_eq!(q.take(1), Some(Work::Job(1)));
}

#[test]
fn an_order_to_one_worker_reaches_it_alone_and_wakes_it() {
    let q = Arc::new(Numbers::new(2, 2));
    q.order_to(7, 'x');
    let taken = {
        let q = q.clone();
        std::thread::spawn(move || q.take(1))
    };
    q.order_to(1, 'b');
    assert_eq!(taken.join().unwrap(), Some(Work::Order('b')));
    q.submit(LINE, 1, 1).unwrap();
    assert_eq!(q.take(0), Some(Work::Job(1)));
}

#[test]
fn close_ends_workers_and_fetchers_after_the_last_job() {
    let q = Arc::new(Numbers::new(2, 10));
    for i in 0..10 {
        q.submit(LINE, 1, i).unwrap();
    }
    q.close();
    assert_eq!(q.submit(LINE, 1, 11), Err((11, Refused::Closed)));
    let workers: Vec<_> = (0..2)
        .map(|w| {
            let q = q.clone();
            std::thread::spawn(move || {
                while let Some(Work::Job(j)) = q.take(w) {
                    q.complete(w, j);
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    while q.fetch(&mut all, 3, LATE) > 0 {}
    workers.into_iter().for_each(|w| w.join().unwrap());
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
    assert_eq!(q.fetch(&mut all, 1, LATE), 0);
}

#[test]
fn fetch_soon_takes_what_is_there_and_does_not_wait_long() {
    let q = Numbers::new(1, 4);
    let mut all = Vec::new();
    assert_eq!(q.fetch_soon(&mut all, 1, SOON), 0);
    for i in 0..2 {
        q.submit(LINE, 1, i).unwrap();
        assert_eq!(q.take(0), Some(Work::Job(i)));
        q.complete(0, i);
    }
    assert_eq!(q.fetch_soon(&mut all, 1, SOON), 1);
    assert_eq!(q.fetch_soon(&mut all, 9, SOON), 1);
    assert_eq!(all, [0, 1]);
}

#[test]
fn a_reset_goes_into_its_completion_until_that_is_fetched_and_follows_it_then() {
    let q = Numbers::new(2, 9);
    let add = |completion: &mut u32, reset: u32| *completion += reset;
    let mut all = Vec::new();
    for job in [1, 2, 3] {
        q.submit(LINE, 1, job).unwrap();
    }
    assert_eq!((q.take(0), q.take(1)), (Some(Work::Job(1)), Some(Work::Job(2))));
    assert_eq!((q.at(0), q.at(1)), (At::Job(1), At::Job(2)));
    q.answer(0, 10);
    q.answer(1, 20);
    assert_eq!(q.at(1), At::Reset { job: 2, place: 1 });
    assert_eq!(q.load(), (1, 2), "a machine that is reset is not free");
    assert_eq!(q.fetch(&mut all, 1, SOON), 1);
    q.clean(1, 5, add);
    q.clean(0, 7, add);
    assert_eq!((q.at(0), q.at(1), q.load()), (At::Rest, At::Rest, (1, 0)));
    assert_eq!(q.fetch(&mut all, 9, SOON), 1);
    let mut resets = Vec::new();
    assert_eq!(q.take_resets(&mut resets, 9), 1);
    assert_eq!((&all[..], &resets[..]), (&[10, 25][..], &[7][..]));
    // A second end of the same job is none.
    q.clean(0, 7, add);
    assert_eq!(q.take_resets(&mut resets, 9), 0);
    assert_eq!(q.take(0), Some(Work::Job(3)));
    q.complete(0, 30);
    assert_eq!(q.fetch(&mut all, 9, SOON), 1);
    assert_eq!((q.at(0), q.load()), (At::Rest, (0, 0)));
}

#[test]
fn resets_that_nobody_takes_end_in_refusal() {
    let q = Numbers::new(1, 2);
    let mut taken = 0;
    while q.submit(LINE, 1, taken).is_ok() {
        assert_eq!(q.take(0), Some(Work::Job(taken)));
        q.answer(0, taken);
        assert_eq!(q.fetch(&mut Vec::new(), 9, SOON), 1);
        q.clean(0, taken, |_, _| panic!("it was fetched"));
        taken += 1;
        assert!(taken < 9999, "never refused");
    }
    assert_eq!(taken as usize, RESETS_MAX);
    assert_eq!(q.take_resets(&mut Vec::new(), 1), 1);
    assert_eq!(q.submit(LINE, 1, 9), Ok(()));
}

#[test]
fn no_job_is_lost_between_a_spin_and_a_sleep() {
    // Gaps around the length of a busy-poll, so that jobs meet workers that busy-poll, give up and sleep.
    let q = Arc::new(Numbers::new(2, 4));
    let workers = [0, 1].map(|w| {
        let q = q.clone();
        std::thread::spawn(move || {
            while let Some(Work::Job(j)) = q.take(w) {
                q.complete(w, j);
            }
        })
    });
    let mut all = Vec::new();
    for i in 0..3000u32 {
        q.submit(LINE, 1, i).unwrap();
        if q.fetch_soon(&mut all, 1, SOON) == 0 {
            assert_eq!(q.fetch(&mut all, 1, LATE), 1);
        }
        let end = Instant::now() + LONGEST.mul_f64(f64::from(i % 7) / 5.0);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    }
    q.close();
    workers.into_iter().for_each(|w| w.join().unwrap());
    assert_eq!(all, (0..3000).collect::<Vec<_>>());
}

#[test]
fn fetch_gives_up_when_time_is_over() {
    let q = Numbers::new(1, 1);
    assert_eq!(q.fetch(&mut Vec::new(), 1, SOON), 0);
}

/// A job that says something and ends.
fn say_and_end(q: &Numbers, number: u32) {
    q.submit(LINE, 1, number).unwrap();
    assert_eq!(q.take(0), Some(Work::Job(number)));
    q.tell_said(number.into());
    q.complete(0, number);
}

#[test]
fn a_completion_comes_behind_what_its_request_said_and_waits_for_few_others() {
    let q = Numbers::new(1, 2000);
    for number in 0..100 {
        say_and_end(&q, number);
    }
    for number in 1000..1100 {
        q.tell_said(number);
    }
    let (mut said, mut done) = (Vec::new(), Vec::new());
    let mut seen: Vec<u64> = Vec::new();
    while done.len() < 100 {
        let before = said.len() + done.len();
        let n = q.fetch_told(&mut said, &mut done, 64, SOON);
        assert!((1..=64).contains(&n) && said.len() + done.len() == before + n);
        seen.extend(&said[seen.len()..]);
        assert!(done.iter().all(|number| seen.contains(&u64::from(*number))));
    }
    // In their order, and those of the others that had room.
    assert!(done.is_sorted() && said.len() <= 100 + 16 * 5, "{}", said.len());
    while q.fetch_told(&mut said, &mut done, 64, SOON) > 0 {}
    said.sort_unstable();
    assert_eq!(said, (0..100).chain(1000..1100).collect::<Vec<u64>>());
}

#[test]
fn a_fetch_with_little_room_tells_all_in_the_end() {
    for most in 1..5 {
        let q = Numbers::new(1, 10);
        for number in 0..4 {
            say_and_end(&q, number);
        }
        let (mut said, mut done) = (Vec::new(), Vec::new());
        while q.fetch_told(&mut said, &mut done, most, SOON) > 0 {}
        said.sort_unstable();
        assert_eq!((said, done), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]), "{most}");
    }
}
