use mayfly_pool::{MachineState, Reason, RequestStats};

use super::*;

#[test]
fn completions_carry_all_that_the_pool_told() {
    let mut tickets = Tickets::new(2);
    let (a, b) = (tickets.begin().unwrap(), tickets.begin().unwrap());
    let stats = RequestStats {
        queue_ns: 1500,
        run_ns: 2_000_250,
        reset_ns: 250,
        exits: u64::MAX,
        dirty_pages: 31,
        parks: 2,
        parked_ns: 3500,
        said: 4,
        heard: 5,
    };
    let done = |ticket: i32, outcome| native::Completion {
        id: u64::from(ticket.unsigned_abs()),
        outcome,
        traces: Traces {
            log: b"line".to_vec(),
            log_dropped: u64::MAX,
            denials: vec![Denial {
                call: 41,
                reason: Reason::Network,
                times: 3,
            }],
        },
        stats,
        machine: MachineState::Lost,
        worker: 1,
    };
    let first = take_in(&mut tickets, done(a, Outcome::Answered(vec![5; 9]))).unwrap();
    assert_eq!((first.ticket, first.outcome, first.response_bytes), (a, 0, 9));
    assert_eq!(
        (first.queue_us, first.run_us, first.reset_us),
        (1.5, 2000.25, 0.25)
    );
    assert_eq!(
        (first.exits, first.dirty_pages, first.log_bytes, first.worker),
        (u32::MAX, 31, 4, 1)
    );
    assert_eq!(first.machine, 2);
    assert_eq!(
        (first.parks, first.parked_us, first.said, first.heard),
        (2, 3.5, 4, 5)
    );
    let denials = r#"[{"call":"socket","reason":"network","times":3}]"#;
    assert_eq!(
        (first.denials_bytes as usize, first.log_dropped),
        (denials.len(), u32::MAX)
    );
    assert_eq!(tickets.finished(a).unwrap().denials, denials);
    let second = take_in(&mut tickets, done(b, Outcome::Exited(-3))).unwrap();
    assert_eq!((second.outcome, second.detail, second.response_bytes), (4, -3, 0));
    let failed = take_in(&mut tickets, done(b, Outcome::Failed("why".into()))).unwrap();
    assert_eq!((failed.message_bytes, failed.outcome), (3, 8));
    assert_eq!(tickets.finished(b).unwrap().message, "why");
}

#[test]
fn resets_carry_all_that_the_pool_told() {
    let reset = encode_reset(native::Reset {
        id: 65_537,
        reset_ns: 1500,
        dirty_pages: u64::MAX,
        machine: MachineState::Clean,
    });
    assert_eq!((reset.ticket, reset.reset_us), (65_537, 1.5));
    assert_eq!((reset.dirty_pages, reset.machine), (u32::MAX, 0));
}

#[test]
fn a_second_wait_is_refused_and_the_first_ends_in_time() {
    let pool = Arc::new(TicketPool::start(sizes(1, 1)).unwrap());
    let theirs = pool.clone();
    let first = std::thread::spawn(move || theirs.wait(8, Duration::from_secs(20)));
    while !pool.waiting.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    assert_eq!(pool.wait(8, Duration::ZERO).unwrap_err().status, Status::Busy);
    pool.pool().close();
    assert_eq!(first.join().unwrap().unwrap(), []);
    assert_eq!(pool.wait(8, Duration::ZERO).unwrap(), []);
    let told: Value = serde_json::from_str(&pool.statistics()).unwrap();
    assert_eq!(told["outcomes"], json!({}));
    assert_eq!((&told["logsCut"], &told["refused"]), (&json!(0), &json!(0)));
}

fn sizes(workers: u32, queue: u32) -> Sizes {
    Sizes {
        workers,
        queue,
        parked: Parking::default(),
    }
}

#[test]
fn sizes_of_pools_are_bounded() {
    for (workers, queue) in [(0, 1), (1, 0), (WORKERS_MAX + 1, 1), (1, QUEUE_MAX + 1)] {
        assert_eq!(
            TicketPool::start(sizes(workers, queue)).unwrap_err().status,
            Status::BadArgument
        );
    }
}
