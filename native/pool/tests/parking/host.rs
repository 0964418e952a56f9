//! The host's side of the tests: a pool, and who answers what its requests say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mayfly_pool::{Channel, Completion, Job, Pool, Program, Refused, Spec, WarmupRequest};
use mayfly_wire::{Head, Kind};

use super::c_guest::{compile, compiled, spec};
use super::support::{PATIENCE, frame, host};

/// How a request's messages are answered: each by one of a byte, but where it says otherwise.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    Never,
    /// So long after it was heard, with one byte more than was said.
    After(Duration),
    /// When so many were heard.
    Last(u64),
    /// By [`Host::say`].
    ByHand,
}

struct UnderWay {
    channel: Arc<Channel>,
    reply: Reply,
    heard: u64,
}

pub struct Host {
    pub pool: Pool,
    program: Arc<Program>,
    /// Compare every machine with its snapshot.
    pub check: bool,
    /// Hear what requests say.
    pub listens: bool,
    pub timeout: u64,
    /// Channels open with the first message.
    pub late: bool,
    next: u64,
    under_way: BTreeMap<u64, UnderWay>,
    channels: BTreeMap<u64, Arc<Channel>>,
    /// Replies that are due, and to whom: with so many bytes.
    due: BTreeSet<(Instant, u64, usize)>,
    done: BTreeMap<u64, Completion>,
}

/// The guest, booted once; or with other limits each time.
pub fn program() -> Option<Arc<Program>> {
    static PROGRAM: OnceLock<Option<Arc<Program>>> = OnceLock::new();
    PROGRAM.get_or_init(|| boot(|_| {})).clone()
}

pub fn boot(change: impl FnOnce(&mut Spec)) -> Option<Arc<Program>> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    let host = host()?;
    if !BUILT.get_or_init(|| compile("parking", "-static")) {
        return None;
    }
    let mut spec = spec(&compiled("parking", "-static"));
    change(&mut spec);
    // The warm-up talks to nobody, and is told so.
    // The number is read by code that a request would otherwise be given.
    let mut warm = vec![frame("warm 1", b""); 2];
    let program = Program::boot(&host, &spec, &mut |_| warm.pop().map(WarmupRequest::new)).unwrap();
    Some(Arc::new(program))
}

fn message(bytes: usize) -> Vec<u8> {
    let head = Head {
        kind: Kind::Message,
        header_bytes: 4,
        body_bytes: bytes as u32,
    };
    [&head.encode()[..], &[1, 0, 0, 0], &vec![b'h'; bytes]].concat()
}

/// The lengths of the bodies of frames that lie back to back.
fn bodies(frames: &[u8]) -> Vec<usize> {
    let (mut rest, mut lengths) = (frames, Vec::new());
    while !rest.is_empty() {
        let head = Head::decode(rest.first_chunk().unwrap(), Kind::Message, Default::default()).unwrap();
        lengths.push(head.body_bytes as usize);
        rest = &rest[head.frame_bytes()..];
    }
    lengths
}

impl Host {
    pub fn new(program: &Arc<Program>, workers: usize) -> Host {
        Host {
            pool: Pool::start(workers, 2000).unwrap(),
            program: program.clone(),
            check: true,
            listens: true,
            timeout: PATIENCE,
            late: false,
            next: 0,
            under_way: BTreeMap::new(),
            channels: BTreeMap::new(),
            due: BTreeSet::new(),
            done: BTreeMap::new(),
        }
    }

    pub fn try_submit(&mut self, what: &str) -> Result<u64, Refused> {
        self.next += 1;
        let channel = if self.late {
            Channel::late()
        } else {
            Channel::default()
        };
        let (id, channel) = (self.next, Arc::new(channel));
        let job = Job {
            id,
            program: self.program.clone(),
            flow: 0,
            frame: frame(what, b""),
            timeout_ns: self.timeout,
            keep: false,
            check: self.check,
            channel: Some(channel.clone()),
            weight: 1,
        };
        self.pool.submit(job).map_err(|(_, why)| why)?;
        let reply = Reply::ByHand;
        self.channels.insert(id, channel.clone());
        self.under_way.insert(
            id,
            UnderWay {
                channel,
                reply,
                heard: 0,
            },
        );
        Ok(id)
    }

    pub fn submit(&mut self, what: &str, reply: Reply) -> u64 {
        let id = self.try_submit(what).unwrap();
        self.under_way.get_mut(&id).unwrap().reply = reply;
        id
    }

    pub fn ask(&mut self, what: &str, reply: Reply) -> Completion {
        let id = self.submit(what, reply);
        self.until(id)
    }

    /// Says so many bytes to a request.
    pub fn say(&self, id: u64, bytes: usize) -> bool {
        self.pool.say(id, &self.channels[&id], &message(bytes))
    }

    /// Gives a request so much time from now on.
    pub fn extend(&self, id: u64, time: Duration) {
        self.channels[&id].extend(time);
    }

    pub fn call_off(&self, id: u64) {
        self.pool.call_off(id, &self.channels[&id]);
    }

    /// Numbers of the requests that are not done.
    pub fn under_way(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.under_way.keys().copied().collect::<Vec<_>>().into_iter()
    }

    pub fn is_under_way(&mut self, id: u64) -> bool {
        self.step();
        self.under_way.contains_key(&id)
    }

    pub fn until(&mut self, id: u64) -> Completion {
        let end = Instant::now() + Duration::from_nanos(PATIENCE);
        loop {
            if let Some(done) = self.done.remove(&id) {
                return done;
            }
            assert!(Instant::now() < end, "waited in vain for {id}");
            self.step();
        }
    }

    /// Waits until so many messages of a request were heard.
    pub fn until_heard(&mut self, id: u64, count: u64) {
        let end = Instant::now() + Duration::from_nanos(PATIENCE);
        while self.under_way[&id].heard < count {
            assert!(Instant::now() < end, "waited in vain for message {count} of {id}");
            self.step();
        }
    }

    pub fn until_parked(&mut self, count: usize) {
        let end = Instant::now() + Duration::from_nanos(PATIENCE);
        while self.pool.parked() < count {
            assert!(
                Instant::now() < end,
                "{} are parked, wanted {count}",
                self.pool.parked()
            );
            self.step();
        }
    }

    /// Gives the most that were parked at once.
    pub fn until_all_are_done(&mut self, check: impl Fn(&Completion)) -> usize {
        let mut most = 0;
        while !self.under_way.is_empty() {
            most = most.max(self.pool.parked());
            self.step();
            std::mem::take(&mut self.done).values().for_each(&check);
        }
        most
    }

    /// Hears what is left.
    pub fn drain(&mut self) {
        self.channels
            .values()
            .for_each(|channel| drop(channel.hear(usize::MAX)));
    }

    /// Does what is due, and waits a moment for what is told.
    fn step(&mut self) {
        let now = Instant::now();
        while let Some(&(at, id, bytes)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            assert!(self.say(id, bytes) || !self.under_way.contains_key(&id));
        }
        let wait = self.due.first().map(|(at, ..)| at.saturating_duration_since(now));
        let (mut said, mut done) = (Vec::new(), Vec::new());
        let longest = Duration::from_millis(10);
        self.pool
            .fetch_told(&mut said, &mut done, 64, wait.unwrap_or(longest).min(longest));
        if self.listens {
            said.into_iter().for_each(|id| self.hear(id));
        }
        for completion in done {
            self.under_way.remove(&completion.id);
            self.done.insert(completion.id, completion);
        }
    }

    fn hear(&mut self, id: u64) {
        let Some(under_way) = self.under_way.get_mut(&id) else {
            return;
        };
        for bytes in bodies(&under_way.channel.hear(2 << 20)) {
            under_way.heard += 1;
            match under_way.reply {
                Reply::After(time) => drop(self.due.insert((Instant::now() + time, id, bytes + 1))),
                Reply::Last(last) if under_way.heard == last => {
                    self.due.insert((Instant::now(), id, 1));
                }
                Reply::Never | Reply::Last(_) | Reply::ByHand => {}
            }
        }
        if under_way.channel.unheard() > 0 {
            self.hear(id);
        }
    }
}
