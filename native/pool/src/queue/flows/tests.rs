use super::*;

const A: FlowId = (1, 0);
const B: FlowId = (1, 1);
const C: FlowId = (2, 0);
const D: FlowId = (3, 0);

/// The job that a worker is to run: nothing is parked.
fn next(flows: &mut Flows<u32>, worker: usize, all: bool, now: u64) -> Option<u32> {
    match flows.next(worker, all, now)? {
        Next::Job(job) => Some(job),
        Next::Parked(number) => panic!("{number}"),
    }
}

fn order(flows: &mut Flows<u32>, worker: usize, now: u64) -> Vec<u32> {
    std::iter::from_fn(|| {
        let job = next(flows, worker, false, now)?;
        flows.done(worker, now);
        Some(job)
    })
    .collect()
}

#[test]
fn lines_are_served_in_turn_and_each_in_its_order() {
    let mut flows = Flows::new(1, 100);
    for (id, job) in [(A, 1), (A, 2), (A, 3), (A, 4), (A, 5), (B, 6), (C, 7), (B, 8)] {
        flows.add(id, 1, job, 0, 0).unwrap();
    }
    assert_eq!(order(&mut flows, 0, 0), [1, 6, 7, 2, 8, 3, 4, 5]);
}

#[test]
fn a_heavy_line_has_as_many_turns_in_a_row_as_it_weighs() {
    let mut flows = Flows::new(1, 100);
    for job in 0..6 {
        flows.add(A, 3, job, 0, 0).unwrap();
        flows.add(B, 1, 100 + job, 0, 0).unwrap();
    }
    assert_eq!(
        order(&mut flows, 0, 0),
        [0, 1, 2, 100, 3, 4, 5, 101, 102, 103, 104, 105]
    );
    // Turns that it had no jobs for are lost, and no weight is above the heaviest or below 1.
    flows.add(A, 3, 0, 0, 0).unwrap();
    assert_eq!(order(&mut flows, 0, 0), [0]);
    for job in 0..20 {
        flows.add(A, u32::MAX, job, 0, 0).unwrap();
        flows.add(B, 0, 100 + job, 0, 0).unwrap();
    }
    assert_eq!(order(&mut flows, 0, 0)[..18], {
        let mut wanted: Vec<u32> = (0..WEIGHT_MAX).collect();
        wanted.extend([100, 16]);
        wanted
    });
}

#[test]
fn a_line_that_is_alone_may_fill_all_places_and_hold_all_workers() {
    let mut flows = Flows::new(2, 100);
    let mut now = 0;
    for job in 0..100 {
        flows.add(A, 1, job, 0, now).unwrap();
    }
    assert_eq!(flows.add(A, 1, 100, 0, now), Err(100));
    for _ in 0..10 {
        assert!(next(&mut flows, 0, false, now).is_some() && next(&mut flows, 1, false, now).is_some());
        now += 5 * BRIEF;
        flows.done(0, now);
        flows.done(1, now);
    }
}

#[test]
fn a_flood_leaves_places_to_others() {
    let mut flows = Flows::new(2, 100);
    flows.add(B, 1, 0, 0, 0).unwrap();
    let taken = (0..200).filter(|job| flows.add(A, 1, *job, 0, 0).is_ok()).count();
    assert_eq!(taken, 80);
    for id in [B, C] {
        flows.add(id, 1, 0, 0, 0).unwrap();
    }
    // Places that something else takes are not free.
    assert_eq!(flows.add(B, 1, 0, 17, 0), Err(0));
    assert_eq!(flows.add(B, 1, 0, 16, 0), Ok(()));
}

#[test]
fn a_slow_line_leaves_one_worker_while_others_are_about() {
    let mut flows = Flows::new(2, 100);
    for job in 0..9 {
        flows.add(A, 1, job, 0, 0).unwrap();
    }
    flows.add(B, 1, 100, 0, 0).unwrap();
    assert_eq!(next(&mut flows, 0, false, 0), Some(0));
    assert_eq!(next(&mut flows, 1, false, 0), Some(100));
    flows.done(1, BRIEF);
    // Still brief at the limit, slow one above it.
    assert!(flows.may_take(A, 1, BRIEF) && !flows.may_take(A, 1, BRIEF + 1));
    assert_eq!(next(&mut flows, 1, false, BRIEF + 1), None);
    flows.add(B, 1, 101, 0, BRIEF + 2).unwrap();
    assert_eq!(next(&mut flows, 1, false, BRIEF + 3), Some(101));
    flows.done(1, BRIEF + 4);
    // With all of them, as when the queue is closed.
    assert_eq!(next(&mut flows, 1, true, BRIEF + 5), Some(1));
    flows.done(0, BRIEF + 10);
    flows.done(1, BRIEF + 10);
    // Slow for as long as it is remembered, then not; alone before that.
    let until = BRIEF + 10 + FORGET * (BRIEF + 10);
    assert_eq!(next(&mut flows, 0, false, BRIEF + 11), Some(2));
    assert!(!flows.may_take(A, 1, BRIEF + 12));
    flows.done(0, BRIEF + 12);
    flows.add(B, 1, 102, 0, until - 1).unwrap();
    assert_eq!(next(&mut flows, 0, false, until - 2), Some(3));
    assert!(!flows.may_take(A, 1, until - 1) && flows.may_take(A, 1, until));
}

#[test]
fn a_parked_request_goes_on_in_its_flows_turn_on_its_own_worker() {
    let mut flows = Flows::new(2, 10);
    for (id, job) in [(A, 1), (B, 2), (A, 3)] {
        flows.add(id, 1, job, 0, 0).unwrap();
    }
    assert_eq!(flows.next(0, false, 0), Some(Next::Job(1)));
    assert_eq!(flows.flow_of(0), Some(A));
    flows.done(0, 0);
    flows.go_on(A, 0, 77, 0, 0);
    assert_eq!((flows.waiting(), flows.running()), (2, 0));
    // B's turn, then A's: its parked request before its job, but for the other worker.
    assert_eq!(flows.next(0, false, 0), Some(Next::Job(2)));
    flows.done(0, 0);
    assert_eq!(flows.next(1, false, 0), Some(Next::Job(3)));
    flows.done(1, 0);
    assert_eq!(flows.next(1, false, 0), None);
    assert!(flows.has_work(0) && !flows.has_work(1));
    assert_eq!(flows.next(0, false, 0), Some(Next::Parked(77)));
    flows.done(0, 0);
    assert_eq!((flows.next(0, false, 0), flows.waiting()), (None, 0));
    flows.go_on(B, 1, 5, 0, 0);
    flows.go_on(B, 0, 6, 0, 0);
    flows.forget_parked(1);
    assert_eq!(flows.next(1, false, 0), None);
    assert_eq!(flows.next(0, false, 0), Some(Next::Parked(6)));
}

#[test]
fn who_has_had_its_time_gives_way_to_other_flows_in_turn() {
    let mut flows = Flows::new(1, 10);
    flows.add(A, 1, 1, 0, 0).unwrap();
    flows.add(A, 1, 2, 0, 0).unwrap();
    assert_eq!(next(&mut flows, 0, false, 0), Some(1));
    // Its own flow's jobs wait for its end.
    assert!(!flows.is_wanted(0, 10 * BRIEF));
    flows.add(B, 1, 3, 0, BRIEF).unwrap();
    flows.add(C, 1, 4, 0, BRIEF).unwrap();
    assert!(!flows.is_wanted(0, BRIEF) && flows.is_wanted(0, BRIEF + 1));
    let mut now = BRIEF + 1;
    flows.give_way(0, 1, now);
    assert_eq!((flows.running(), flows.waiting()), (0, 3));
    assert!(!flows.is_wanted(0, now), "nothing runs");
    // B computes too and gives way to C. A's request comes before A's next job.
    let mut order = Vec::new();
    while let Some(what) = flows.next(0, false, now) {
        order.push(what.clone());
        now += BRIEF + 1;
        match what {
            Next::Job(3) => {
                assert!(flows.is_wanted(0, now));
                flows.give_way(0, 3, now);
            }
            _ => flows.done(0, now),
        }
    }
    let job = Next::Job;
    let parked = Next::Parked;
    assert_eq!(order, [job(3), job(4), parked(1), parked(3), job(2)]);
}

#[test]
fn no_more_requests_give_way_than_may_and_those_that_did_take_turns() {
    let mut flows = Flows::new(1, 100);
    let many = GAVE_WAY_MAX as u32 + 2;
    for job in 0..many {
        flows.add((1, job), 1, job, 0, 0).unwrap();
    }
    let mut now = 0;
    for job in 0..many - 1 {
        assert_eq!(next(&mut flows, 0, false, now), Some(job));
        now += BRIEF + 1;
        if job < many - 2 {
            assert!(flows.is_wanted(0, now));
            flows.give_way(0, job.into(), now);
        }
    }
    // A job waits, and one more may not be begun and put aside.
    assert!(!flows.is_wanted(0, now));
    flows.done(0, now);
    assert_eq!(next(&mut flows, 0, false, now), Some(many - 1));
    now += BRIEF + 1;
    assert!(flows.is_wanted(0, now), "to one that has begun");
    flows.give_way(0, (many - 1).into(), now);
    assert_eq!(flows.next(0, false, now), Some(Next::Parked(0)));
}

#[test]
fn a_request_that_gave_way_is_as_long_as_all_of_its_slices() {
    let mut flows = Flows::new(2, 10);
    let mut now = 0;
    flows.add(A, 1, 0, 0, now).unwrap();
    flows.add(A, 1, 1, 0, now).unwrap();
    assert_eq!(next(&mut flows, 0, false, now), Some(0));
    flows.done(0, now);
    assert_eq!(next(&mut flows, 0, false, now), Some(1));
    for _ in 1..LONG / BRIEF {
        flows.add(B, 1, 2, 0, now).unwrap();
        now += BRIEF + 1;
        flows.give_way(0, 1, now);
        assert_eq!(next(&mut flows, 0, false, now), Some(2));
        flows.done(0, now);
        assert_eq!(flows.next(0, false, now), Some(Next::Parked(1)));
    }
    assert_eq!(flows.flows[&A].long_until, 0);
    now += 2 * BRIEF;
    flows.done(0, now);
    assert!(flows.flows[&A].long_until > now + FORGET * LONG);
}

/// What all of its flow's first request costs is no sign of the next.
#[test]
fn a_first_request_may_take_longer() {
    let mut flows = Flows::new(2, 10);
    flows.add(A, 1, 1, 0, 0).unwrap();
    assert_eq!(next(&mut flows, 0, false, 0), Some(1));
    flows.done(0, LONG_COLD);
    assert_eq!(flows.flows[&A].long_until, 0);
    flows.add(A, 1, 2, 0, LONG_COLD).unwrap();
    assert_eq!(next(&mut flows, 0, false, LONG_COLD), Some(2));
    flows.done(0, LONG_COLD + LONG + 1);
    assert!(flows.flows[&A].long_until > LONG_COLD + LONG + FORGET * LONG);
}

/// A flow that was long once is not kept out by two that became long since and hold both workers.
#[test]
fn a_long_flow_takes_the_place_of_another() {
    let mut flows = Flows::new(2, 10);
    let mut now = 0;
    for job in [1, 2] {
        flows.add(A, 1, job, 0, now).unwrap();
        assert_eq!(next(&mut flows, 0, false, now), Some(job));
        now += LONG + 1;
        flows.done(0, now);
    }
    for (worker, id, job) in [(0, B, 3), (1, C, 4)] {
        flows.add(id, 1, job, 0, now).unwrap();
        assert_eq!(next(&mut flows, worker, false, now), Some(job));
    }
    now += LONG_COLD + 1;
    flows.add(A, 1, 5, 0, now).unwrap();
    assert!(
        flows.is_wanted(0, now) && flows.is_wanted(1, now),
        "nobody else is about"
    );
    // With one that is brief, the three share a worker.
    flows.done(1, now);
    flows.add(D, 1, 6, 0, now).unwrap();
    assert_eq!(next(&mut flows, 1, false, now), Some(6));
    flows.done(1, now);
    assert_eq!(next(&mut flows, 1, false, now), None);
    assert!(flows.is_wanted(0, now));
    flows.give_way(0, 3, now);
    assert_eq!(next(&mut flows, 0, false, now), Some(5));
}

/// Three that spin, one of them on a worker of its own: they share one worker's time, whichever they have begun on.
#[test]
fn long_flows_that_began_on_different_workers_take_turns() {
    let mut flows = Flows::new(2, 10);
    let mut now = 0;
    for (id, job) in [(A, 1), (B, 2), (C, 3)] {
        flows.add(id, 1, job, 0, now).unwrap();
    }
    assert_eq!(next(&mut flows, 0, false, now), Some(1));
    assert_eq!(next(&mut flows, 1, false, now), Some(2));
    let mut running = [Some(1), Some(2)];
    let mut slices = BTreeMap::from([(1, 0), (2, 0), (3, 0)]);
    for step in 0..1000 {
        now += BRIEF + 1;
        // One that is brief is about all the time.
        if step % 100 == 0 {
            flows.add(D, 1, 9, 0, now).unwrap();
        }
        for (worker, runs) in running.iter_mut().enumerate() {
            let Some(job) = *runs else { continue };
            *slices.get_mut(&job).unwrap() += usize::from(step >= 500);
            if flows.is_wanted(worker, now) {
                flows.give_way(worker, job.into(), now);
                *runs = None;
            }
        }
        for (worker, runs) in running.iter_mut().enumerate() {
            while runs.is_none() && flows.may_work(worker, now) {
                match flows.next(worker, false, now).unwrap() {
                    Next::Job(9) => flows.done(worker, now),
                    Next::Job(job) => *runs = Some(job),
                    Next::Parked(number) => *runs = Some(number as u32),
                }
            }
        }
        assert!(step < 500 || running.iter().flatten().count() == 1, "{running:?}");
    }
    let (least, most) = (slices.values().min().unwrap(), slices.values().max().unwrap());
    assert!(*least > 100 && *most < 2 * *least, "{slices:?}");
}

/// One worker, and one program: a request that waits for the host and computes in turn, and quick ones that come.
#[test]
fn a_heavy_request_takes_turns_with_those_of_its_own_flow() {
    let mut flows = Flows::new(1, 10);
    let mut now = 0;
    flows.add(A, 1, 1, 0, now).unwrap();
    assert_eq!(next(&mut flows, 0, false, now), Some(1));
    for job in [2, 3] {
        flows.add(A, 1, job, 0, now).unwrap();
    }
    now = HEAVY;
    assert!(
        !flows.is_wanted(0, now),
        "it never waited: its machine is the next one's"
    );
    let total = flows.park(0, now);
    assert_eq!(total, HEAVY);
    flows.go_on(A, 0, 1, total, now);
    assert_eq!(flows.next(0, false, now), Some(Next::Parked(1)), "not yet heavy");
    now += BRIEF + 1;
    assert!(flows.is_wanted(0, now));
    flows.give_way(0, 1, now);
    for job in [2, 3] {
        assert_eq!(next(&mut flows, 0, false, now), Some(job));
        flows.done(0, now);
        assert_eq!(flows.next(0, false, now), Some(Next::Parked(1)));
        now += BRIEF + 1;
        assert_eq!(flows.is_wanted(0, now), job == 2);
        match job {
            2 => flows.give_way(0, 1, now),
            _ => assert_eq!(flows.park(0, now), HEAVY + 3 * (BRIEF + 1)),
        }
    }
    // It waits for a moment each time: its turn, and then the other's.
    flows.go_on(A, 0, 1, HEAVY + 1, now);
    for job in [4, 5] {
        flows.add(A, 1, job, 0, now).unwrap();
        let first = flows.next(0, false, now);
        flows.park(0, now);
        match job {
            4 => assert_eq!(first, Some(Next::Job(4)), "it ran last"),
            _ => assert_eq!(first, Some(Next::Parked(1))),
        }
    }
    assert_eq!(flows.next(0, false, now), Some(Next::Job(5)));
}

/// Two that spin on two workers, and one that is brief: the first two share one worker from when they are known.
#[test]
fn long_flows_leave_one_worker_together() {
    let mut flows = Flows::new(2, 100);
    for job in 0..9 {
        flows.add(A, 1, job, 0, 0).unwrap();
        flows.add(B, 1, 100 + job, 0, 0).unwrap();
    }
    flows.add(C, 1, 200, 0, 0).unwrap();
    assert_eq!(next(&mut flows, 0, false, 0), Some(0));
    assert_eq!(next(&mut flows, 1, false, 0), Some(100));
    let mut now = LONG_COLD + 1;
    flows.done(0, now);
    flows.done(1, now);
    assert_eq!(next(&mut flows, 0, false, now), Some(200));
    flows.done(0, now);
    let mut last = B;
    for _ in 0..6 {
        let job = next(&mut flows, 0, false, now).unwrap();
        let of = if job < 100 { A } else { B };
        assert_ne!(of, last, "they take turns");
        last = of;
        assert_eq!(next(&mut flows, 1, false, now), None, "both workers are theirs");
        flows.add(C, 1, 200, 0, now).unwrap();
        assert_eq!(next(&mut flows, 1, false, now), Some(200));
        flows.done(1, now);
        now += LONG + 1;
        flows.done(0, now);
    }
    // Among themselves they may hold all.
    now += ABOUT;
    let alone = (next(&mut flows, 0, false, now), next(&mut flows, 1, false, now));
    assert!(alone.0.is_some() && alone.1.is_some(), "{alone:?}");
}

#[test]
fn one_worker_serves_slow_lines_too() {
    let mut flows = Flows::new(1, 10);
    flows.add(A, 1, 1, 0, 0).unwrap();
    flows.add(A, 1, 2, 0, 0).unwrap();
    flows.add(B, 1, 3, 0, 0).unwrap();
    assert_eq!(next(&mut flows, 0, false, 0), Some(1));
    flows.done(0, 5 * BRIEF);
    assert_eq!(order(&mut flows, 0, 5 * BRIEF), [3, 2]);
}

/// Random jobs, workers and times against a list that knows all.
#[test]
fn every_job_is_run_once_in_turn_and_slow_lines_never_hold_all_workers() {
    let mut state = 88_172_645_463_325_252u64;
    let mut random = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    for _ in 0..200 {
        let (workers, capacity) = (1 + random(4) as usize, 1 + random(30) as usize);
        let mut flows = Flows::new(workers, capacity);
        let mut busy: Vec<Option<FlowId>> = vec![None; workers];
        let mut queued: BTreeMap<FlowId, VecDeque<u32>> = BTreeMap::new();
        // How often a flow with a job was passed over for each other flow.
        let mut passed: BTreeMap<(FlowId, FlowId), u32> = BTreeMap::new();
        let (mut now, mut job) = (0, 0);
        for _ in 0..600 {
            now += match random(40) {
                0..25 => 0,
                25..33 => BRIEF / 3,
                33..39 => 2 * BRIEF,
                _ => ABOUT,
            };
            let id = (random(2), random(3) as u32);
            if random(2) == 0 {
                job += 1;
                let waiting: usize = queued.values().map(VecDeque::len).sum();
                let own = queued.entry(id).or_default();
                match flows.add(id, 1, job, 0, now) {
                    Ok(()) => own.push_back(job),
                    Err(_) => assert!(waiting == capacity || own.len() >= SHARE * (capacity - waiting)),
                }
            }
            let worker = random(workers as u64) as usize;
            if busy[worker].take().is_some() {
                flows.done(worker, now);
                continue;
            }
            let allowed: Vec<FlowId> = queued
                .iter()
                .filter(|(id, jobs)| !jobs.is_empty() && flows.may_take(**id, worker, now))
                .map(|(id, _)| *id)
                .collect();
            let Some(given) = next(&mut flows, worker, false, now) else {
                assert!(allowed.is_empty());
                continue;
            };
            let of = *queued
                .iter()
                .find(|(_, jobs)| jobs.front() == Some(&given))
                .expect("the first of its flow")
                .0;
            queued.get_mut(&of).unwrap().pop_front();
            passed.retain(|(loser, _), _| *loser != of);
            for loser in allowed.iter().filter(|id| **id != of) {
                let times = passed.entry((*loser, of)).or_default();
                *times += 1;
                assert!(*times <= 1, "{loser:?} waits while {of:?} is served twice");
            }
            passed.retain(|(loser, _), _| allowed.contains(loser));
            busy[worker] = Some(of);
            let others = busy.iter().flatten().any(|id| *id != of)
                || queued.iter().any(|(id, jobs)| *id != of && !jobs.is_empty());
            let all = busy.iter().all(|b| *b == Some(of));
            let slow = flows.flows[&of].slow_until > now;
            assert!(
                !(workers > 1 && all && slow && others),
                "a slow flow holds all workers"
            );
            let waiting: usize = queued.values().map(VecDeque::len).sum();
            assert_eq!(
                (flows.waiting(), flows.running()),
                (waiting, busy.iter().flatten().count())
            );
        }
    }
}

#[test]
fn a_machine_that_is_made_for_a_job_makes_no_line_slow() {
    let mut flows = Flows::new(2, 10);
    flows.add(A, 1, 1, 0, 0).unwrap();
    next(&mut flows, 0, false, 0);
    flows.begin_anew(0, 2 * BRIEF);
    flows.done(0, 3 * BRIEF);
    assert_eq!(flows.flows[&A].slow_until, 0);
}
