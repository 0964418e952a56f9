//! `epoll`.

use std::collections::BTreeMap;

use super::events::Timeout;
use super::{Answer, Done, ZERO, value};
use crate::errno::Errno;
use crate::fs::files::{FileKind, event};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::task::threads::Retry;

/// Most events that one call reports.
const EVENTS_MAX: u64 = 1024;

impl Kernel {
    pub(super) fn sys_epoll_create(&mut self, flags: u64) -> Answer {
        if flags & !0o200_0000 != 0 {
            return Err(Errno::EINVAL);
        }
        let file = self.files.add(
            FileKind::Epoll {
                interests: BTreeMap::new(),
                last: (-1, 0),
            },
            2,
        );
        value(self.files.attach(file, 0, flags != 0)?)
    }

    pub(super) fn sys_epoll_ctl(
        &mut self,
        m: &mut impl Machine,
        epoll: u64,
        operation: u64,
        fd: u64,
        address: u64,
    ) -> Answer {
        // The event is read first, as on Linux; removal needs none.
        let (events, data) = if operation == 2 {
            (0, 0)
        } else {
            let [e0, e1, e2, e3, data @ ..] = self.space.read_array::<12>(m, address)?;
            (u32::from_le_bytes([e0, e1, e2, e3]), u64::from_le_bytes(data))
        };
        let epoll = self.files.get(epoll)?;
        self.files
            .epoll_control(epoll, operation, fd, events, data)
            .and(ZERO)
    }

    pub(super) fn sys_epoll_wait(
        &mut self,
        m: &mut impl Machine,
        a: [u64; 6],
        timeout: Timeout,
        retry: Option<Retry>,
    ) -> Answer {
        let [epoll, address, count, ..] = a;
        if count as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        let epoll = self.files.get(epoll)?;
        if !matches!(
            self.files.file(epoll).map(|open| &open.kind),
            Some(FileKind::Epoll { .. })
        ) {
            return Err(Errno::EINVAL);
        }
        let now = self.now(m);
        let events = self
            .files
            .epoll_take(epoll, u64::from(count as u32).min(EVENTS_MAX) as usize, now);
        if events.is_empty() {
            return self.wait_for_files(m, vec![(epoll, event::IN)], timeout, retry);
        }
        let mut bytes = Vec::with_capacity(events.len() * 12);
        for (events, data) in &events {
            bytes.extend(events.to_le_bytes());
            bytes.extend(data.to_le_bytes());
        }
        self.space.write(m, address, &bytes)?;
        Ok(Done::Value(events.len() as u64))
    }

    pub(super) fn sys_epoll_pwait(
        &mut self,
        m: &mut impl Machine,
        a: [u64; 6],
        timeout: Timeout,
        retry: Option<Retry>,
    ) -> Answer {
        if retry.is_none() {
            self.set_mask_for_call(m, a[4], a[5])?;
        }
        self.sys_epoll_wait(m, a, timeout, retry)
    }

    pub(super) fn sys_epoll_pwait2(
        &mut self,
        m: &mut impl Machine,
        a: [u64; 6],
        retry: Option<Retry>,
    ) -> Answer {
        let timeout = self.timeout_at(m, a[3])?;
        self.sys_epoll_pwait(m, a, timeout, retry)
    }
}
