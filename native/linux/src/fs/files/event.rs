//! What files are ready for, and how an epoll set is told: `EPOLLIN`, equal to `POLLIN`, and so on.
#![allow(missing_docs, reason = "the names are Linux's (epoll_ctl(2), poll(2))")]

pub const IN: u32 = 0x1;
pub const OUT: u32 = 0x4;
pub const ERR: u32 = 0x8;
pub const HUP: u32 = 0x10;
pub const NVAL: u32 = 0x20;
/// What poll(2) tells without being asked.
pub const ALWAYS: u32 = ERR | HUP | NVAL;
pub const RDNORM: u32 = 0x40;
pub const WRNORM: u32 = 0x100;
pub const RDHUP: u32 = 0x2000;
/// Of ours, not of Linux, and never told to a guest: one more connection may wait at a listening socket.
pub const ROOM: u32 = 1 << 27;
pub const EXCLUSIVE: u32 = 1 << 28;
pub const WAKEUP: u32 = 1 << 29;
pub const ONESHOT: u32 = 1 << 30;
pub const EDGE: u32 = 1 << 31;
