//! Requests in flight by ticket, and what finished ones left until it was read.

use std::sync::Arc;

use mayfly_pool::Channel;

use crate::abi::{Fault, Status, fault};

/// What a request left.
#[derive(Debug, Default)]
pub struct Finished {
    /// The response frame.
    pub response: Vec<u8>,
    /// What it wrote to fd 2.
    pub log: Vec<u8>,
    /// Words about a bad end.
    pub message: String,
    /// What it was refused, as JSON.
    pub denials: String,
}

impl Finished {
    /// Whether it left a response of at most `room` bytes and nothing else.
    pub fn is_answer_within(&self, room: usize) -> bool {
        self.response.len() <= room
            && self.log.is_empty()
            && self.message.is_empty()
            && self.denials.is_empty()
    }
}

#[derive(Debug)]
enum State {
    Free,
    Running(Option<Arc<Channel>>),
    Done(Finished, Option<Arc<Channel>>),
}

#[derive(Debug)]
struct Slot {
    /// Counts the uses of the slot, so that an old ticket is known as one; 15 bits.
    generation: u16,
    state: State,
}

/// Slots for as many requests as may be held. A ticket is the generation above 16 bits of the slot's index.
#[derive(Debug)]
pub struct Tickets {
    slots: Vec<Slot>,
    free: Vec<u16>,
    most: usize,
}

/// Most slots: their index has 16 bits.
pub const SLOTS_MAX: usize = 1 << 16;

impl Tickets {
    /// Room for `most` requests, at most [`SLOTS_MAX`].
    pub fn new(most: usize) -> Tickets {
        Tickets {
            slots: Vec::new(),
            free: Vec::new(),
            most: most.min(SLOTS_MAX),
        }
    }

    /// A ticket for a request that starts, or `None` when as many are held as may be.
    pub fn begin(&mut self) -> Option<i32> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < self.most => {
                self.slots.push(Slot {
                    generation: 0,
                    state: State::Free,
                });
                // Below SLOTS_MAX.
                (self.slots.len() - 1) as u16
            }
            None => return None,
        };
        let slot = &mut self.slots[usize::from(index)];
        slot.state = State::Running(None);
        Some(i32::from(slot.generation) << 16 | i32::from(index))
    }

    fn slot(&mut self, ticket: i32) -> Result<&mut Slot, Fault> {
        let index = (ticket & 0xffff) as usize;
        let generation = ticket >> 16;
        self.slots
            .get_mut(index)
            .filter(|s| i32::from(s.generation) == generation && !matches!(s.state, State::Free))
            .ok_or_else(|| {
                fault(
                    Status::BadTicket,
                    format!("use ticket {ticket}: want one that is held"),
                )
            })
    }

    /// Keeps what a request left.
    pub fn finish(&mut self, ticket: i32, finished: Finished) -> Result<(), Fault> {
        let slot = self.slot(ticket)?;
        let channel = match &mut slot.state {
            State::Running(channel) => channel.take(),
            State::Free | State::Done(..) => None,
        };
        slot.state = State::Done(finished, channel);
        Ok(())
    }

    /// Gives a request that starts its channel.
    pub fn open(&mut self, ticket: i32, channel: Arc<Channel>) -> Result<(), Fault> {
        self.slot(ticket)?.state = State::Running(Some(channel));
        Ok(())
    }

    /// The channel of a request that is held, done or not.
    pub fn channel(&mut self, ticket: i32) -> Result<Arc<Channel>, Fault> {
        match &self.slot(ticket)?.state {
            State::Running(Some(channel)) | State::Done(_, Some(channel)) => Ok(channel.clone()),
            State::Free | State::Running(None) | State::Done(_, None) => Err(fault(
                Status::BadTicket,
                format!("use the channel of ticket {ticket}: it has none, want one that was opened with it"),
            )),
        }
    }

    /// The tickets of requests that run and have a channel, of slots that are `chosen`.
    pub fn channels(&self, chosen: impl Fn(usize) -> bool) -> Vec<(i32, Arc<Channel>)> {
        let open = self.slots.iter().enumerate().filter(|(index, _)| chosen(*index));
        open.filter_map(|(index, slot)| match &slot.state {
            State::Running(Some(channel)) => {
                // Below SLOTS_MAX.
                let ticket = i32::from(slot.generation) << 16 | index as i32;
                Some((ticket, channel.clone()))
            }
            State::Free | State::Running(None) | State::Done(..) => None,
        })
        .collect()
    }

    /// What a request left, once it is done.
    pub fn finished(&mut self, ticket: i32) -> Result<&mut Finished, Fault> {
        match &mut self.slot(ticket)?.state {
            State::Done(finished, _) => Ok(finished),
            State::Running(_) | State::Free => Err(not_done(ticket)),
        }
    }

    /// Forgets a request that is done.
    pub fn release(&mut self, ticket: i32) -> Result<(), Fault> {
        self.finished(ticket)?;
        self.forget(ticket)
    }

    /// Forgets a request, done or not.
    pub fn forget(&mut self, ticket: i32) -> Result<(), Fault> {
        let slot = self.slot(ticket)?;
        slot.state = State::Free;
        slot.generation = (slot.generation + 1) & 0x7fff;
        self.free.push((ticket & 0xffff) as u16);
        Ok(())
    }

    /// How many are held, running or not read yet.
    pub fn held(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

fn not_done(ticket: i32) -> Fault {
    fault(
        Status::BadTicket,
        format!("use ticket {ticket}: it runs, want one that is done"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_lives_from_begin_to_release() {
        let mut t = Tickets::new(2);
        let (a, b) = (t.begin().unwrap(), t.begin().unwrap());
        assert_ne!(a, b);
        assert_eq!((t.begin(), t.held()), (None, 2));
        assert_eq!(t.release(a).unwrap_err().status, Status::BadTicket);
        let response = vec![1, 2];
        t.finish(
            a,
            Finished {
                response,
                ..Default::default()
            },
        )
        .unwrap();
        assert_eq!(t.finished(a).unwrap().response, [1, 2]);
        t.release(a).unwrap();
        assert!(t.finished(a).is_err() && t.release(a).is_err());
        let c = t.begin().unwrap();
        assert!(c != a && c & 0xffff == a & 0xffff, "{a} {c}");
    }

    #[test]
    fn generations_wrap_and_tickets_are_never_negative() {
        let mut t = Tickets::new(1);
        let first = t.begin().unwrap();
        t.forget(first).unwrap();
        for _ in 1..0x8000 {
            let ticket = t.begin().unwrap();
            assert!(ticket > first);
            t.forget(ticket).unwrap();
        }
        assert_eq!(t.begin(), Some(first));
    }

    #[test]
    fn wrong_tickets_are_refused() {
        let mut t = Tickets::new(4);
        t.begin().unwrap();
        for wrong in [-1, i32::MIN, i32::MAX, 1, 0xffff, 1 << 16] {
            assert!(t.finished(wrong).is_err() && t.forget(wrong).is_err(), "{wrong}");
        }
        assert_eq!(t.held(), 1);
    }
}
