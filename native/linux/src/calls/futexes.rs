//! Futexes: words in guest memory that threads wait for.

use super::{Answer, Done, ZERO, value};
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::task::threads::{Retry, Wait, WaitFor};

const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
/// `FUTEX_CLOCK_REALTIME`.
const REALTIME: u64 = 256;
const ANY: u32 = u32::MAX;

impl Kernel {
    pub(super) fn sys_futex(&mut self, m: &mut impl Machine, a: [u64; 6], retry: Option<Retry>) -> Answer {
        let [address, operation, count, timeout, second, third] = a;
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        // Linux counts after it woke one: to wake none, or fewer, wakes one.
        let at_least_one = |count: u64| (count as i32).max(1) as u64;
        let bits = third as u32;
        match operation & 0x7f {
            WAIT => self.futex_wait(m, address, count as u32, ANY, (operation, timeout), retry),
            WAIT_BITSET if bits != 0 => {
                self.futex_wait(m, address, count as u32, bits, (operation, timeout), retry)
            }
            WAKE => value(self.futex_wake(address, at_least_one(count), ANY)),
            WAKE_BITSET if bits != 0 => value(self.futex_wake(address, at_least_one(count), bits)),
            WAIT_BITSET | WAKE_BITSET => Err(Errno::EINVAL),
            REQUEUE | CMP_REQUEUE => {
                if !second.is_multiple_of(4) || (count as i32) < 0 || (timeout as i32) < 0 {
                    return Err(Errno::EINVAL);
                }
                if operation & 0x7f == CMP_REQUEUE && self.space.read_u32(m, address)? != third as u32 {
                    return Err(Errno::EAGAIN);
                }
                let woken = self.futex_wake(address, count, ANY);
                value(woken + self.futex_move(address, second, u64::from(timeout as u32)))
            }
            WAKE_OP => {
                if !second.is_multiple_of(4) {
                    return Err(Errno::EINVAL);
                }
                let holds = self.futex_change(m, second, third as u32)?;
                let mut woken = self.futex_wake(address, at_least_one(count), ANY);
                if holds {
                    woken += self.futex_wake(second, at_least_one(timeout), ANY);
                }
                value(woken)
            }
            _ => {
                self.statistics.count_unknown(super::number::futex);
                Err(Errno::ENOSYS)
            }
        }
    }

    fn futex_wait(
        &mut self,
        m: &mut impl Machine,
        address: u64,
        expected: u32,
        bits: u32,
        (operation, timeout): (u64, u64),
        retry: Option<Retry>,
    ) -> Answer {
        match retry {
            Some(Retry { woken: true, .. }) => return ZERO,
            Some(Retry { timed_out: true, .. }) => return Err(Errno::ETIMEDOUT),
            _ => {}
        }
        // The timeout is checked before the word, as on Linux.
        let deadline = match operation & 0x7f {
            WAIT => self.deadline(m, timeout, retry)?,
            _ if timeout == 0 => None,
            _ => {
                let at = super::time::nanoseconds(self.space.read_words(m, timeout)?)?;
                Some(if operation & REALTIME != 0 {
                    self.monotonic_of_realtime(m, at)
                } else {
                    at
                })
            }
        };
        if self.space.read_u32(m, address)? != expected {
            return Err(Errno::EAGAIN);
        }
        Ok(Done::Wait(WaitFor::Futex { address, bits }, deadline))
    }

    /// Slots of the threads that wait for the word with one of the bits.
    fn futex_waiters(&self, word: u64, wanted: u32) -> Vec<usize> {
        let waits = |wait: &Wait| match wait.what {
            WaitFor::Futex { address, bits } => address == word && bits & wanted != 0 && !wait.woken,
            _ => false,
        };
        self.threads
            .iter()
            .filter(|(_, thread)| thread.wait.as_ref().is_some_and(waits))
            .map(|(slot, _)| slot)
            .collect()
    }

    /// Wakes up to `count` threads and gives how many.
    pub(crate) fn futex_wake(&mut self, address: u64, count: u64, bits: u32) -> u64 {
        let mut woken = 0;
        for slot in self.futex_waiters(address, bits) {
            if woken == count {
                break;
            }
            if let Some(wait) = self.threads.get_mut(slot).and_then(|thread| thread.wait.as_mut()) {
                wait.woken = true;
                woken += 1;
            }
        }
        woken
    }

    /// Lets up to `count` threads wait for another word and gives how many.
    fn futex_move(&mut self, from: u64, to: u64, count: u64) -> u64 {
        let mut moved = 0;
        for slot in self.futex_waiters(from, ANY) {
            if moved == count {
                break;
            }
            if let Some(Wait {
                what: WaitFor::Futex { address, .. },
                ..
            }) = self.threads.get_mut(slot).and_then(|thread| thread.wait.as_mut())
            {
                *address = to;
                moved += 1;
            }
        }
        moved
    }

    /// The operation of FUTEX_WAKE_OP on a word; whether its comparison holds for the old value.
    fn futex_change(&mut self, m: &mut impl Machine, address: u64, code: u32) -> Result<bool, Errno> {
        let signed = |value: u32| ((value << 20) as i32 >> 20).cast_unsigned();
        let (operand, compared) = (signed(code >> 12 & 0xfff), signed(code & 0xfff));
        let operand = if code >> 31 != 0 {
            1_u32 << (operand & 31)
        } else {
            operand
        };
        let old = self.space.read_u32(m, address)?;
        let new = match code >> 28 & 7 {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            4 => old ^ operand,
            _ => return Err(Errno::ENOSYS),
        };
        self.space.write(m, address, &new.to_le_bytes())?;
        let (old, compared) = (old.cast_signed(), compared.cast_signed());
        match code >> 24 & 0xf {
            0 => Ok(old == compared),
            1 => Ok(old != compared),
            2 => Ok(old < compared),
            3 => Ok(old <= compared),
            4 => Ok(old > compared),
            5 => Ok(old >= compared),
            _ => Err(Errno::ENOSYS),
        }
    }
}
