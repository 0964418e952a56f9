//! From a request's bytes to its completion: a pool of machines, asked from asynchronous code.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mayfly_pool::{Completion, Job, Pool, PoolStats, Program, Refused};
use tokio::sync::oneshot;

/// Completions that are fetched at once.
const FETCHED: usize = 64;
/// How long the fetching thread waits before it looks whether it is to end.
const FETCH_WAIT: Duration = Duration::from_secs(1);

/// How requests run.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Longest time, in nanoseconds.
    pub timeout_ns: u64,
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
    waiting: Mutex<HashMap<u64, oneshot::Sender<Completion>>>,
    /// No request comes any more.
    closing: AtomicBool,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Completion>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machines {
    /// Starts as many workers as `threads`, each with a machine of its own; at most `queue` requests wait.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(program: Program, threads: usize, queue: usize, running: Running) -> std::io::Result<Self> {
        let pool = match running.ephemeral {
            true => Pool::start_early(threads, queue)?,
            false => Pool::start(threads, queue)?,
        };
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

    /// Runs a request.
    ///
    /// # Errors
    /// As many wait as may, or the machines are closed.
    pub async fn run(&self, request: Vec<u8>) -> Result<Completion, Refused> {
        let Shared {
            pool,
            program,
            running,
            next,
            ..
        } = &*self.shared;
        let id = next.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        self.shared.waiting().insert(id, tell);
        let job = Job {
            id,
            program: program.clone(),
            flow: 0,
            frame: request,
            timeout_ns: running.timeout_ns,
            keep: !running.ephemeral,
            check: running.checks,
            channel: None,
            weight: 1,
        };
        if let Err((_, why)) = pool.submit(job) {
            self.shared.waiting().remove(&id);
            return Err(why);
        }
        // A sender goes without a word only when the machines close.
        told.await.map_err(|_| Refused::Closed)
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared.pool.stats()
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

/// Hands completions to who waits for them, until the pool is closed and empty.
fn fetch(shared: &Shared) {
    let (mut completions, mut resets) = (Vec::new(), Vec::new());
    loop {
        let count = shared.pool.fetch(&mut completions, FETCHED, FETCH_WAIT);
        for completion in completions.drain(..) {
            let tell = shared.waiting().remove(&completion.id);
            if let Some(tell) = tell {
                // Who asked may be gone.
                drop(tell.send(completion));
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
