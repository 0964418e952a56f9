//! From a request's bytes to its answer, piece by piece: a pool of machines, asked from asynchronous code.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mayfly_pool::{Channel, Completion, Job, Parking, Pool, PoolStats, Program, Refused};
use tokio::sync::{Notify, oneshot};

/// Completions that are fetched at once.
const FETCHED: usize = 64;
/// How long the fetching thread waits before it looks whether it is to end.
const FETCH_WAIT: Duration = Duration::from_secs(1);

/// How requests run.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Longest time, in nanoseconds.
    pub timeout_ns: u64,
    /// Bytes that machines may hold while they are parked, of all together.
    pub parked_bytes: u64,
    /// Whether a machine is reset after each request, or goes on with its state.
    pub ephemeral: bool,
    /// Whether each reset is compared with the snapshot: slow.
    pub checks: bool,
}

/// A program's machines.
#[derive(Debug)]
pub struct Machines {
    shared: Arc<Shared>,
    fetcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    pool: Pool,
    program: Arc<Program>,
    running: Running,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, Waiting>>,
    /// No request comes any more.
    closing: AtomicBool,
}

/// Who waits for a request's answer.
#[derive(Debug)]
struct Waiting {
    /// There is a piece of it, or room for more of the request.
    told: Arc<Notify>,
    done: oneshot::Sender<Completion>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machines {
    /// Starts as many workers as `threads`, each with a machine of its own; at most `queue` requests wait, or are
    /// under way.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(program: Program, threads: usize, queue: usize, running: Running) -> std::io::Result<Self> {
        let pool = match running.ephemeral {
            true => Pool::start_early(threads, queue)?,
            false => Pool::start(threads, queue)?,
        };
        let most = queue + threads;
        pool.limit_parking(Parking {
            each: most,
            all: most,
            each_bytes: running.parked_bytes,
            all_bytes: running.parked_bytes,
        });
        let program = Arc::new(program);
        pool.prepare(&program);
        let shared = Arc::new(Shared {
            pool,
            program,
            running,
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
            closing: AtomicBool::new(false),
        });
        let fetching = shared.clone();
        let fetcher = std::thread::Builder::new()
            .name("mayfly-fetch".into())
            .spawn(move || fetch(&fetching))?;
        Ok(Self {
            shared,
            fetcher: Some(fetcher),
        })
    }

    /// Begins a request. It is `whole`, or more of it is sent later.
    ///
    /// # Errors
    /// As many wait as may, or the machines are closed.
    pub fn ask(&self, request: Vec<u8>, whole: bool) -> Result<Asked, Refused> {
        let Shared {
            pool,
            program,
            running,
            next,
            ..
        } = &*self.shared;
        let id = next.fetch_add(1, Ordering::Relaxed);
        let channel = Arc::new(Channel::default());
        if whole {
            pool.finish(id, &channel);
        }
        let (tell, done) = oneshot::channel();
        let told = Arc::new(Notify::new());
        let waiting = Waiting {
            told: told.clone(),
            done: tell,
        };
        self.shared.waiting().insert(id, waiting);
        let job = Job {
            id,
            program: program.clone(),
            flow: 0,
            frame: request,
            timeout_ns: running.timeout_ns,
            keep: !running.ephemeral,
            check: running.checks,
            channel: Some(channel.clone()),
            weight: 1,
        };
        if let Err((_, why)) = pool.submit(job) {
            self.shared.waiting().remove(&id);
            return Err(why);
        }
        Ok(Asked {
            shared: self.shared.clone(),
            id,
            channel,
            told,
            done,
            completion: None,
            ended: false,
        })
    }

    /// Requests that wait, and those that run or whose machines are reset.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        self.shared.pool.load()
    }

    /// Requests whose machines wait for a client or a time.
    #[must_use]
    pub fn parked(&self) -> usize {
        self.shared.pool.parked()
    }

    /// Bytes that their machines hold for themselves alone.
    #[must_use]
    pub fn parked_bytes(&self) -> u64 {
        self.shared.pool.parked_bytes()
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared.pool.stats()
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Told {
    /// The next bytes of its answer.
    Piece(Vec<u8>),
    /// There may be room for more of the request.
    Room,
    /// Its end, with the last bytes of its answer.
    Done(Box<Completion>),
}

/// A request under way. One that is dropped before its end is called off.
#[derive(Debug)]
pub struct Asked {
    shared: Arc<Shared>,
    id: u64,
    channel: Arc<Channel>,
    told: Arc<Notify>,
    done: oneshot::Receiver<Completion>,
    /// It came, and a piece goes before it.
    completion: Option<Completion>,
    ended: bool,
}

impl Asked {
    /// Sends more of the request; false without room, of which [`Told::Room`] tells.
    #[must_use]
    pub fn send(&self, bytes: &[u8]) -> bool {
        self.shared.pool.send(self.id, &self.channel, bytes)
    }

    /// All of the request was sent.
    pub fn finish(&self) {
        self.shared.pool.finish(self.id, &self.channel);
    }

    /// What comes next. May be dropped while it waits.
    ///
    /// # Errors
    /// The machines are closed.
    pub async fn next(&mut self) -> Result<Told, Refused> {
        if self.completion.is_none() {
            tokio::select! {
                biased;
                () = self.told.notified() => {}
                // A sender goes without a word only when the machines close.
                done = &mut self.done => self.completion = Some(done.map_err(|_| Refused::Closed)?),
            }
        }
        // What was said before the end goes before it.
        let bytes = self.shared.pool.receive(self.id, &self.channel);
        if !bytes.is_empty() {
            return Ok(Told::Piece(bytes));
        }
        Ok(match self.completion.take() {
            None => Told::Room,
            Some(completion) => {
                self.ended = true;
                Told::Done(Box::new(completion))
            }
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.ended && self.shared.waiting().remove(&self.id).is_some() {
            self.shared.pool.call_off(self.id, &self.channel);
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.shared.pool.close();
        self.shared.closing.store(true, Ordering::Release);
        if let Some(fetcher) = self.fetcher.take() {
            // It has nothing that is to be released when it panicked.
            let _ = fetcher.join();
        }
    }
}

/// Hands completions, and word of pieces, to who waits for them, until the pool is closed and empty.
fn fetch(shared: &Shared) {
    let (mut said, mut completions, mut resets) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let count = shared
            .pool
            .fetch_told(&mut said, &mut completions, FETCHED, FETCH_WAIT);
        for id in said.drain(..) {
            let told = shared.waiting().get(&id).map(|waiting| waiting.told.clone());
            if let Some(told) = told {
                told.notify_one();
            }
        }
        for completion in completions.drain(..) {
            let waiting = shared.waiting().remove(&completion.id);
            if let Some(waiting) = waiting {
                // Who asked may be gone.
                drop(waiting.done.send(completion));
            }
        }
        while shared.pool.take_resets(&mut resets, FETCHED) > 0 {
            resets.clear();
        }
        if count == 0 && shared.closing.load(Ordering::Acquire) && shared.pool.load() == (0, 0) {
            shared.waiting().clear();
            return;
        }
    }
}
