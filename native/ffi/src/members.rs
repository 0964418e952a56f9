//! Pools that the isolates of a process share. Each isolate is a member: it submits, and hears of its own requests only.
//!
//! ```text
//! member a ── submit ──┐                       ┌── mail of a ── wait of a
//!                      ├── TicketPool ── lead ──┤
//! member b ── submit ──┘   (one, by its key)    └── mail of b ── wait of b
//! ```
//! Of the members that wait one leads: it waits for the pool, and puts what is another's into that one's mail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::abi::{Fault, Status, fault};
use crate::layout::{Completion, MachineCode, Reset, SAID};
use crate::pool::{Request, Sizes, TicketPool};

/// Most members of a pool.
const MEMBERS_MAX: usize = 1024;
/// Longest key.
const KEY_MAX: usize = 4096;
/// Pause between looks at resets that nobody is woken for.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Bytes of a pool's secret.
pub const SECRET_BYTES: usize = 32;

/// A pool as one isolate has it.
#[derive(Debug)]
pub struct Member {
    shared: Arc<Shared>,
    number: u32,
    /// A wait is under way.
    waiting: AtomicBool,
}

/// A completion, and the response frame if nothing of it is left behind.
pub type Told = (Completion, Vec<u8>);

#[derive(Debug)]
struct Shared {
    pool: TicketPool,
    state: Mutex<State>,
    secret: [u8; SECRET_BYTES],
}

#[derive(Debug, Default)]
struct State {
    members: BTreeMap<u32, Mail>,
    last: u32,
    /// By the slot of a ticket, the member that holds it.
    owners: Vec<u32>,
    /// Resets of these tickets go on, and whose they are. A ticket is released before its reset ends.
    resetting: BTreeMap<i32, u32>,
    /// Resets that came before their completions were handed out.
    early: BTreeSet<i32>,
    /// The member that waits for the pool.
    leader: Option<u32>,
    /// Its last member stopped it: nobody joins any more.
    closed: bool,
}

/// What a member has not taken yet.
#[derive(Debug, Default)]
struct Mail {
    done: VecDeque<Completion>,
    resets: VecDeque<Reset>,
    /// Requests that run.
    running: usize,
    /// Resets that go on.
    resetting: usize,
    stopped: bool,
    /// Its wait sleeps.
    asleep: bool,
    /// Signalled when there is mail, or nobody leads.
    news: Arc<Condvar>,
}

/// Pools that can be joined, by key and sizes.
type Joinable = BTreeMap<(Vec<u8>, Sizes), Weak<Shared>>;

static POOLS: Mutex<Joinable> = Mutex::new(BTreeMap::new());

impl Member {
    /// Joins the pool of this key and these sizes, or starts it; with an empty key one of its own.
    pub fn join(key: &[u8], sizes: Sizes) -> Result<Member, Fault> {
        if key.len() > KEY_MAX {
            let text = format!(
                "join a pool: a key of {} bytes, want at most {KEY_MAX}",
                key.len()
            );
            return Err(fault(Status::BadArgument, text));
        }
        if key.is_empty() {
            return Shared::start(sizes)?.add();
        }
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|_, pool| pool.strong_count() > 0);
        let key = (key.to_vec(), sizes);
        if let Some(pool) = pools.get(&key).and_then(Weak::upgrade)
            && !pool.lock().closed
        {
            return pool.add();
        }
        let pool = Shared::start(sizes)?;
        pools.insert(key, Arc::downgrade(&pool));
        pool.add()
    }

    /// Bytes that all members of this pool know, and nobody else.
    pub fn secret(&self) -> &[u8; SECRET_BYTES] {
        &self.shared.secret
    }

    /// How many share the pool.
    pub fn members(&self) -> usize {
        self.shared.lock().members.len()
    }

    /// Adds a request and gives its ticket.
    pub fn submit(&self, request: Request) -> Result<i32, Fault> {
        self.submit_in(&mut self.shared.lock(), request, false)
    }

    /// Adds a request that has a channel, and gives its ticket.
    pub fn open(&self, request: Request) -> Result<i32, Fault> {
        self.submit_in(&mut self.shared.lock(), request, true)
    }

    /// The state stays locked meanwhile: who hands completions out finds the owner of each.
    fn submit_in(&self, state: &mut State, request: Request, talks: bool) -> Result<i32, Fault> {
        let mail = state.mail(self.number)?;
        if mail.stopped {
            return Err(fault(Status::Closed, "submit a request: the pool was stopped"));
        }
        let ticket = self.shared.pool.submit(request, talks)?;
        mail.running += 1;
        let slot = slot_of(ticket);
        if state.owners.len() <= slot {
            state.owners.resize(slot + 1, 0);
        }
        state.owners[slot] = self.number;
        Ok(ticket)
    }

    /// Adds a request, gives its ticket, and looks for its completion for a short time, without sleep, if nobody waits for the pool. An
    /// answer that left nothing else and fits into `room` is given with it, and its ticket forgotten.
    pub fn ask(
        &self,
        request: Request,
        longest: Duration,
        room: usize,
    ) -> Result<(i32, Option<Told>), Fault> {
        let _waiting = self.begin_wait()?;
        let end = Instant::now() + longest;
        let mut state = self.shared.lock();
        let ticket = self.submit_in(&mut state, request, false)?;
        if state.leader.is_some() {
            return Ok((ticket, None));
        }
        let leading = self.lead(&mut state);
        drop(state);
        let told = self.look_for(ticket, end)?;
        drop(leading);
        let Some(completion) = told else {
            return Ok((ticket, None));
        };
        let response = self.shared.pool.take_answer(ticket, room)?;
        Ok((ticket, Some((completion, response.unwrap_or_default()))))
    }

    /// Hands completions out until this ticket's is there, or the time is over. Only who leads calls it.
    fn look_for(&self, ticket: i32, end: Instant) -> Result<Option<Completion>, Fault> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let done = self.shared.pool.wait_soon(1, left)?;
            let over = done.is_empty();
            let mut state = self.shared.lock();
            state.hand_out(&self.shared.pool, done);
            let mail = state.mail(self.number)?;
            let at = mail.done.iter().position(|done| done.ticket == ticket);
            if at.is_some() || over {
                return Ok(at.and_then(|at| mail.done.remove(at)));
            }
        }
    }

    /// Waits for completions; none when time is over, or when the member was stopped and has no request left, nor a reset. One at a time.
    pub fn wait(&self, most: usize, timeout: Duration) -> Result<Vec<Completion>, Fault> {
        let _waiting = self.begin_wait()?;
        let end = Instant::now() + timeout;
        let mut state = self.shared.lock();
        loop {
            let mail = state.mail(self.number)?;
            if !mail.done.is_empty() {
                let n = mail.done.len().min(most);
                return Ok(mail.done.drain(..n).collect());
            }
            let left = end.saturating_duration_since(Instant::now());
            let stopped = mail.stopped && mail.running == 0;
            if left.is_zero() || (stopped && mail.resetting == 0) {
                return Ok(Vec::new());
            }
            if stopped {
                // Nobody is woken for a reset while others go on.
                state = self.sleep(state, left.min(LOOK_AGAIN))?;
                state.collect_resets(&self.shared.pool);
            } else if state.leader.is_some() {
                state = self.sleep(state, left)?;
            } else {
                let leading = self.lead(&mut state);
                drop(state);
                let done = self.shared.pool.wait(usize::MAX, left)?;
                self.shared.lock().hand_out(&self.shared.pool, done);
                drop(leading);
                state = self.shared.lock();
            }
        }
    }

    /// Makes this member the leader until the value is dropped, which locks the state.
    fn lead(&self, state: &mut State) -> Leading<'_> {
        state.leader = Some(self.number);
        Leading(&self.shared)
    }

    /// Until there is mail, or nobody leads.
    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        time: Duration,
    ) -> Result<MutexGuard<'a, State>, Fault> {
        let mail = state.mail(self.number)?;
        mail.asleep = true;
        let news = mail.news.clone();
        let waited = news.wait_timeout(state, time);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.mail(self.number)?.asleep = false;
        Ok(state)
    }

    /// Resets that ended after this member's requests were answered. Never waits.
    pub fn resets(&self, most: usize) -> Result<Vec<Reset>, Fault> {
        let mut state = self.shared.lock();
        state.collect_resets(&self.shared.pool);
        let mail = state.mail(self.number)?;
        let n = mail.resets.len().min(most);
        Ok(mail.resets.drain(..n).collect())
    }

    /// Refuses further requests of this member; the last one stops the pool.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stop(&self.shared.pool, self.number);
    }

    fn begin_wait(&self) -> Result<Waiting<'_>, Fault> {
        if self.waiting.swap(true, Ordering::Acquire) {
            let text = "wait for completions: another call waits, want one at a time";
            return Err(fault(Status::Busy, text));
        }
        Ok(Waiting(&self.waiting))
    }
}

/// What is alike for all members.
impl Deref for Member {
    type Target = TicketPool;

    fn deref(&self) -> &TicketPool {
        &self.shared.pool
    }
}

/// Its requests are done by nobody's wait any more; what comes of them is forgotten.
impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stop(&self.shared.pool, self.number);
        if let Some(mail) = state.members.remove(&self.number) {
            for done in mail.done.into_iter().filter(|done| done.outcome != SAID) {
                // It is held: nobody else releases it.
                let _ = self.shared.pool.forget(done.ticket);
            }
            // Nobody talks with its other requests any more.
            let owners = &state.owners;
            self.shared
                .pool
                .call_off_all(|slot| owners.get(slot) == Some(&self.number));
        }
    }
}

impl Shared {
    fn start(sizes: Sizes) -> Result<Arc<Shared>, Fault> {
        let mut secret = [0; SECRET_BYTES];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut secret))
            .map_err(|e| fault(Status::System, format!("draw a pool's secret: {e}")))?;
        Ok(Arc::new(Shared {
            pool: TicketPool::start(sizes)?,
            state: Mutex::default(),
            secret,
        }))
    }

    fn add(self: Arc<Shared>) -> Result<Member, Fault> {
        let mut state = self.lock();
        if state.members.len() >= MEMBERS_MAX {
            let text = format!("join a pool: it has {MEMBERS_MAX} members, want fewer");
            return Err(fault(Status::System, text));
        }
        state.last += 1;
        let number = state.last;
        state.members.insert(number, Mail::default());
        drop(state);
        Ok(Member {
            shared: self,
            number,
            waiting: AtomicBool::new(false),
        })
    }

    /// No call leaves the state half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn mail(&mut self, member: u32) -> Result<&mut Mail, Fault> {
        self.members
            .get_mut(&member)
            .ok_or_else(|| fault(Status::Closed, "use a pool: it was left"))
    }

    /// Puts completions into the mail of those who submitted them. Those of a member that left are forgotten.
    fn hand_out(&mut self, pool: &TicketPool, done: Vec<Completion>) {
        for completion in done {
            let ticket = completion.ticket;
            let owner = self.owners.get(slot_of(ticket)).copied().unwrap_or(0);
            let resets = completion.machine == MachineCode::Resetting as u32 && !self.early.remove(&ticket);
            if resets {
                self.resetting.insert(ticket, owner);
            }
            if completion.outcome == SAID {
                // One whose member left is called off.
                if let Some(mail) = self.members.get_mut(&owner) {
                    mail.done.push_back(completion);
                    if mail.asleep {
                        mail.news.notify_one();
                    }
                }
                continue;
            }
            let Some(mail) = self.members.get_mut(&owner) else {
                // It is held: nobody else releases it.
                let _ = pool.forget(ticket);
                continue;
            };
            mail.running -= 1;
            mail.resetting += usize::from(resets);
            mail.done.push_back(completion);
            if mail.asleep {
                mail.news.notify_one();
            }
        }
    }

    fn collect_resets(&mut self, pool: &TicketPool) {
        for reset in pool.resets(usize::MAX) {
            let ticket = reset.ticket;
            let known = self.resetting.remove(&ticket);
            if known.is_none() {
                // Its completion is on its way, so its ticket is held.
                self.early.insert(ticket);
            }
            let owner = known.or_else(|| self.owners.get(slot_of(ticket)).copied());
            if let Some(mail) = owner.and_then(|owner| self.members.get_mut(&owner)) {
                mail.resetting -= usize::from(known.is_some());
                mail.resets.push_back(reset);
            }
        }
    }

    /// Nobody waits for the pool any more; another who waits does so next.
    fn step_down(&mut self) {
        self.leader = None;
        if let Some(mail) = self.members.values().find(|mail| mail.asleep && !mail.stopped) {
            mail.news.notify_one();
        } else if let Some(mail) = self.members.values().find(|mail| mail.asleep) {
            mail.news.notify_one();
        }
    }

    fn stop(&mut self, pool: &TicketPool, member: u32) {
        if let Some(mail) = self.members.get_mut(&member) {
            mail.stopped = true;
            mail.news.notify_one();
        }
        if self.leader == Some(member) {
            pool.pool().recall();
        }
        if !self.closed && self.members.values().all(|mail| mail.stopped) {
            self.closed = true;
            pool.pool().close();
        }
    }
}

fn slot_of(ticket: i32) -> usize {
    (ticket & 0xffff) as usize
}

/// Ends a wait on every path.
#[derive(Debug)]
struct Waiting<'a>(&'a AtomicBool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Leads no more on every path, so that another member can. Dropped while the state is not locked.
#[derive(Debug)]
struct Leading<'a>(&'a Shared);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.lock().step_down();
    }
}

#[cfg(test)]
mod tests;
