//! One request to a program that serves, on a connection of its own.
//!
//! ```text
//!                  +--- idle, and more is to come: waits, parked ---+
//!                  v                                                 |
//! connect ──> the request's bytes in, the answer's bytes out ──────-+──> whole by the protocol, or by the end of the connection
//! ```
//! Without a channel the answer is collected. With one, what there is of it goes to the host whenever the program waits in the middle of
//! it or has written much, and more of the request may come.

use mayfly_linux::action::Action;
use mayfly_linux::fs::files::HostEnd;
use mayfly_vmm::{Alarm, Error};

use crate::channel::Channel;
use crate::clock::ClockSource;
use crate::outcome::Outcome;
use crate::program::running::Running;
use crate::program::serve::{Service, Watch};
use crate::program::to_request;
use crate::wait::deadlines::Deadlines;
use crate::wait::event::{Event, Pause};

/// Bytes of an answer that are collected before the host hears of them.
const PIECE: usize = 64 << 10;
/// Waits in the middle of an answer that are shorter than this, in nanoseconds, are passed in no real time: parking takes as long.
const BRIEF_NS: u64 = 100_000;

/// A request's way to the host and from it, while it is under way.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    pub channel: &'a Channel,
    /// Called when the host is to look at the channel.
    pub tell: &'a dyn Fn(),
    /// Whether something else waits for the worker, which has run this for its time.
    pub is_wanted: &'a dyn Fn(Pause) -> bool,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Exchange {
    end: HostEnd,
    watch: Box<dyn Watch>,
    /// Bytes of the request that the program has no room for yet.
    left: Vec<u8>,
    /// Nothing comes behind them.
    whole: bool,
    /// The program was told that.
    end_told: bool,
    /// What of the answer the host has not been given.
    answer: Vec<u8>,
    answered: usize,
    /// Waits take real time: somebody follows the answer as it comes, or the program waits for the outside.
    paced: bool,
    /// The program is let run by its scheduler, not by going on where it was.
    scheduled: bool,
}

/// How far a request came.
pub(crate) enum Step {
    End(Outcome),
    /// It waits for the host, or for a time in nanoseconds; while it is `deaf` more of the request need not wake it.
    Waits {
        wait: Option<u64>,
        deaf: bool,
    },
}

/// Runs one request without a channel to its answer or its end. The connection is closed afterwards; the program has not seen that yet.
pub(crate) fn exchange(
    running: &mut Running,
    service: &Service,
    clock: ClockSource,
    request: Vec<u8>,
    alarm: &mut Alarm,
    deadlines: Deadlines,
) -> mayfly_vmm::Result<Outcome> {
    let (mut exchange, action) = match Exchange::begin(running, service, clock, request, true)? {
        Ok(begun) => begun,
        Err(outcome) => return Ok(outcome),
    };
    let step = exchange.advance(running, service, action, alarm, deadlines, None);
    exchange.close(running);
    match step {
        Ok(Step::End(outcome)) => Ok(outcome),
        Ok(Step::Waits { .. }) => Ok(Outcome::Stuck),
        Err(Error::OutOfMemory { .. }) => Ok(Outcome::OutOfMemory),
        Err(e) => Err(e),
    }
}

impl Exchange {
    /// Connects, and gives the program what it has room for of the request, which may not be `whole`; or tells why that cannot be.
    pub fn begin(
        running: &mut Running,
        service: &Service,
        clock: ClockSource,
        request: Vec<u8>,
        whole: bool,
    ) -> mayfly_vmm::Result<Result<(Exchange, Action), Outcome>> {
        let end = match running.kernel.host_connect(&service.to) {
            Ok(end) => end,
            Err(errno) => {
                return Ok(Err(Outcome::Misbehaved(format!(
                    "takes no connection: {errno:?}"
                ))));
            }
        };
        let mut exchange = Exchange {
            end,
            watch: service.protocol.watch(&request),
            left: request,
            whole,
            end_told: false,
            answer: Vec::new(),
            answered: 0,
            paced: false,
            scheduled: true,
        };
        exchange.send(running);
        let begin = to_request(clock, Vec::new(), false)?;
        // Until it has the whole request, its waits take real time: it waits for us.
        let action = match exchange.has_all() {
            true => running.kernel.begin_request(&mut running.guest, begin),
            false => running.kernel.begin_load(&mut running.guest, begin),
        };
        Ok(Ok((exchange, action)))
    }

    /// Whether the answer has begun.
    pub fn is_answered(&self) -> bool {
        self.answered > 0
    }

    /// Whether the request came whole.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Lets a program go on that waited.
    pub fn resume(&self, running: &mut Running) -> Action {
        match self.scheduled {
            true => running.kernel.run(&mut running.guest),
            false => Action::Resume,
        }
    }

    /// Closes the host's end of the connection.
    pub fn close(&self, running: &mut Running) {
        running.kernel.host_close(self.end);
        running.kernel.set_in_flight(false);
        running.kernel.forget_said();
    }

    fn has_all(&self) -> bool {
        self.whole && self.left.is_empty()
    }

    fn send(&mut self, running: &mut Running) -> usize {
        let sent = running.kernel.host_send(self.end, &self.left);
        self.left.drain(..sent);
        sent
    }

    /// Gives the host what there is of the answer.
    fn flush(&mut self, talk: Talk) {
        let bytes = std::mem::take(&mut self.answer);
        if talk.channel.put_bytes(bytes) {
            (talk.tell)();
        }
    }

    /// Runs the program until its answer is whole, it ends otherwise, or it waits.
    pub fn advance(
        &mut self,
        running: &mut Running,
        service: &Service,
        action: Action,
        alarm: &mut Alarm,
        deadlines: Deadlines,
        talk: Option<Talk>,
    ) -> mayfly_vmm::Result<Step> {
        let mut action = action;
        loop {
            // One that asks for the host again and again is in the machine too briefly to be stopped there.
            let event = match deadlines.passed() {
                Some(event) => event,
                None => running.run(action, alarm, deadlines)?,
            };
            let wanted = match event {
                Event::Deadline => return Ok(Step::End(Outcome::Timeout)),
                Event::CpuDeadline => return Ok(Step::End(Outcome::CpuOver)),
                Event::CalledOff => return Ok(Step::End(Outcome::CalledOff)),
                Event::Action(wanted) => wanted,
                Event::Slice => Action::Resume,
            };
            let bytes = running.kernel.host_receive(self.end);
            // Before the end of the request is seen: what it wrote there goes out.
            let has_news = talk.is_some() && running.sync_outside();
            self.answered += bytes.len();
            if self.answered > service.answer_bytes {
                return Ok(Step::End(Outcome::OutputOver));
            }
            self.answer.extend_from_slice(&bytes);
            if self.watch.more(&bytes) || running.kernel.host_ended(self.end) {
                return Ok(Step::End(match self.answered {
                    0 if !self.watch.tells_end() => {
                        Outcome::Misbehaved("closed the connection without an answer".into())
                    }
                    _ => Outcome::Answered(std::mem::take(&mut self.answer)),
                }));
            }
            if talk.is_some_and(|talk| talk.channel.is_called_off()) {
                return Ok(Step::End(Outcome::CalledOff));
            }
            self.paced |= talk.is_some() && (self.is_answered() || running.hears_outside());
            if self.paced {
                running.kernel.pace();
            }
            let wait = match wanted {
                Action::Resume | Action::Connection | Action::Frame | Action::Said => None,
                Action::Output => {
                    running.kernel.log_output();
                    None
                }
                Action::Idle { wait } => Some(wait),
                Action::Wait { wait } if talk.is_some() => Some(Some(wait)),
                Action::Wait { .. } | Action::Deadlock => return Ok(Step::End(Outcome::Stuck)),
                Action::Stop(stop) => return Ok(Step::End(stop.into())),
            };
            self.scheduled = wait.is_some();
            if let Some(talk) = talk
                && self.answer.len() >= PIECE
            {
                self.flush(talk);
                if talk.channel.is_full() {
                    running.set_deaf(true);
                    return Ok(Step::Waits {
                        wait: None,
                        deaf: true,
                    });
                }
            }
            action = match wait {
                None => Action::Resume,
                Some(wait) => match self.idle(running, wait, !bytes.is_empty() || has_news, talk) {
                    Ok(action) => action,
                    Err(step) => return Ok(step),
                },
            };
        }
    }

    /// What a program does next that waits; it may have answered something before, or been told something by the outside.
    fn idle(
        &mut self,
        running: &mut Running,
        wait: Option<u64>,
        answered: bool,
        talk: Option<Talk>,
    ) -> Result<Action, Step> {
        let had = !self.left.is_empty();
        if let Some(talk) = talk
            && !had
            && !self.whole
        {
            // Whoever sends without a pause would keep the worker to the end of the body. It goes on in its flow's turn.
            if (talk.is_wanted)(Pause::Wait) {
                self.flush(talk);
                return Err(Step::Waits {
                    wait: Some(0),
                    deaf: false,
                });
            }
            let taken = talk.channel.take_bytes();
            (self.left, self.whole) = (taken.bytes, taken.whole);
            if taken.tell {
                (talk.tell)();
            }
        }
        let sent = self.send(running);
        let paced = self.paced;
        if !paced {
            running.kernel.set_in_flight(self.has_all());
        }
        let tells_end = self.has_all() && !self.end_told && self.watch.tells_end();
        if tells_end {
            running.kernel.host_finish(self.end);
            self.end_told = true;
        }
        if sent > 0 || answered || tells_end {
            return Ok(running.kernel.run(&mut running.guest));
        }
        match (wait, talk) {
            (None, _) if self.whole && !running.hears_outside() => Err(Step::End(Outcome::Stuck)),
            (Some(wait), _) if paced && wait < BRIEF_NS => Ok(running.kernel.pass(&mut running.guest, wait)),
            (wait, Some(talk)) if paced || !self.whole => {
                self.flush(talk);
                Err(Step::Waits {
                    wait,
                    deaf: !self.left.is_empty() || self.whole,
                })
            }
            // It does not read what it was sent.
            (Some(wait), _) if had => Ok(running.kernel.pass(&mut running.guest, wait)),
            (Some(_), _) => Ok(running.kernel.run(&mut running.guest)),
            (None, _) => Err(Step::End(Outcome::Stuck)),
        }
    }
}
