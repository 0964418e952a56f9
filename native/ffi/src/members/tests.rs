use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn sizes(workers: u32) -> Sizes {
    Sizes {
        workers,
        queue: 4,
        parked: mayfly_pool::Parking::default(),
    }
}

fn join(key: &str, workers: u32) -> Arc<Member> {
    Arc::new(Member::join(key.as_bytes(), sizes(workers)).unwrap())
}

#[test]
fn equal_keys_and_sizes_are_one_pool_until_it_is_stopped() {
    let (a, b) = (join("one", 1), join("one", 1));
    assert_eq!((a.members(), a.secret()), (2, b.secret()));
    for other in [join("other", 1), join("one", 2), join("", 1), join("", 1)] {
        assert_eq!(other.members(), 1);
        assert_ne!(other.secret(), a.secret());
    }
    drop(b);
    let c = join("one", 1);
    assert_eq!((a.members(), a.secret()), (2, c.secret()));
    a.stop();
    // One goes on.
    assert_eq!(join("one", 1).secret(), c.secret());
    c.stop();
    let next = join("one", 1);
    assert_ne!(next.secret(), c.secret());
    assert!(Member::join(&[0; KEY_MAX + 1], sizes(1)).is_err());
}

#[test]
fn each_member_waits_and_ends_by_itself() {
    // The one that waits for the pool ends as the one that sleeps beside it does.
    for leader_first in [false, true] {
        let (a, b) = (join("waits", 1), join("waits", 1));
        let begin = Instant::now();
        let wait = |member: &Arc<Member>| {
            let member = member.clone();
            thread::spawn(move || member.wait(8, LONG))
        };
        let leads = wait(&a);
        while a.shared.lock().leader != Some(a.number) {
            thread::yield_now();
        }
        let sleeps = wait(&b);
        while !b.shared.lock().members[&b.number].asleep {
            thread::yield_now();
        }
        assert_eq!(a.wait(8, Duration::ZERO).unwrap_err().status, Status::Busy);
        let mut ends = [(&b, sleeps), (&a, leads)];
        if leader_first {
            ends.reverse();
        }
        for (member, wait) in ends {
            member.stop();
            assert_eq!(wait.join().unwrap().unwrap(), []);
            assert_eq!(member.wait(8, LONG).unwrap(), []);
        }
        assert!(begin.elapsed() < LONG);
        assert_eq!(a.resets(8).unwrap(), []);
    }
}

#[test]
fn a_wait_ends_in_time_whoever_leads() {
    let (a, b) = (join("time", 1), join("time", 1));
    let leads = {
        let a = a.clone();
        thread::spawn(move || a.wait(8, Duration::from_millis(200)))
    };
    assert_eq!(b.wait(8, Duration::from_millis(20)).unwrap(), []);
    assert_eq!(leads.join().unwrap().unwrap(), []);
    assert_eq!(b.wait(8, Duration::from_millis(1)).unwrap(), []);
}
