//! Options of sockets: those that servers set are kept and shown; none changes how bytes move inside of the guest.

use serde::{Deserialize, Serialize};

use crate::errno::Errno;

/// What is kept, and how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// On or off.
    Switch,
    /// A number, shown as it was set.
    Number,
    /// A size of a buffer, shown doubled.
    Buffer,
    /// `struct linger`: two words, the first a switch.
    Linger,
    /// `struct timeval`: kept only as none.
    Time,
}

/// Level, option, kind, value at the start. The place is where an [`Options`] has it.
const KNOWN: [(u64, u64, Kind, u32); 24] = [
    (SOCKET, 2, Kind::Switch, 0),
    (SOCKET, 7, Kind::Buffer, 65_536),
    (SOCKET, 8, Kind::Buffer, 65_536),
    (SOCKET, 9, Kind::Switch, 0),
    (SOCKET, 13, Kind::Linger, 0),
    (SOCKET, 15, Kind::Switch, 0),
    (SOCKET, 20, Kind::Time, 0),
    (SOCKET, 21, Kind::Time, 0),
    (TCP, 1, Kind::Switch, 0),
    (TCP, 3, Kind::Switch, 0),
    (TCP, 4, Kind::Number, 7200),
    (TCP, 5, Kind::Number, 75),
    (TCP, 6, Kind::Number, 9),
    (TCP, 8, Kind::Number, 0),
    (TCP, 9, Kind::Number, 0),
    (TCP, 12, Kind::Switch, 1),
    (TCP, 18, Kind::Number, 0),
    (TCP, 23, Kind::Number, 0),
    (V4, 1, Kind::Number, 0),
    (V4, 2, Kind::Number, 64),
    (V4, 24, Kind::Switch, 0),
    (V6, 26, Kind::Switch, 0),
    (V6, 67, Kind::Number, 0),
    (SOCKET, 6, Kind::Switch, 0),
];

/// `SOL_SOCKET`.
pub const SOCKET: u64 = 1;
/// `IPPROTO_TCP`.
pub const TCP: u64 = 6;
/// `IPPROTO_IP`.
pub const V4: u64 = 0;
/// `IPPROTO_IPV6`.
pub const V6: u64 = 41;

const REUSE_ADDRESS: usize = 0;
const REUSE_PORT: usize = 5;
const V6_ONLY: usize = 21;

/// The options of a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    values: [u32; KNOWN.len()],
    linger_seconds: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            values: KNOWN.map(|(.., value)| value),
            linger_seconds: 0,
        }
    }
}

fn place(level: u64, option: u64) -> Result<usize, Errno> {
    let found = KNOWN
        .iter()
        .position(|known| (known.0, known.1) == (level, option));
    found.ok_or(Errno::ENOPROTOOPT)
}

impl Options {
    /// Longest value that is read.
    pub const VALUE_MAX: usize = 16;

    /// `setsockopt`, told at most [`Options::VALUE_MAX`] bytes.
    ///
    /// # Errors
    /// ENOPROTOOPT for one that is not known, and for a time to wait that is not none: no wait here ends by it; EINVAL for a short value.
    pub fn set(&mut self, level: u64, option: u64, value: &[u8]) -> Result<(), Errno> {
        let place = place(level, option)?;
        let word = |at: usize| {
            let bytes = value
                .get(at * 4..at * 4 + 4)
                .and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_le_bytes).ok_or(Errno::EINVAL)
        };
        let first = word(0)?;
        self.values[place] = match KNOWN[place].2 {
            Kind::Switch => u32::from(first != 0),
            Kind::Number => first,
            Kind::Buffer => first.clamp(1152, 212_992) * 2,
            Kind::Linger => {
                self.linger_seconds = word(1)?;
                u32::from(first != 0)
            }
            Kind::Time => {
                word(3)?;
                if value.iter().any(|&byte| byte != 0) {
                    return Err(Errno::ENOPROTOOPT);
                }
                0
            }
        };
        Ok(())
    }

    /// The bytes of `getsockopt`.
    ///
    /// # Errors
    /// ENOPROTOOPT for one that is not known.
    pub fn get(&self, level: u64, option: u64) -> Result<Vec<u8>, Errno> {
        let place = place(level, option)?;
        let value = self.values[place].to_le_bytes();
        Ok(match KNOWN[place].2 {
            Kind::Time => vec![0; 16],
            Kind::Linger => [value, self.linger_seconds.to_le_bytes()].concat(),
            Kind::Switch | Kind::Number | Kind::Buffer => value.to_vec(),
        })
    }

    /// `SO_REUSEADDR`.
    #[must_use]
    pub fn reuses_address(&self) -> bool {
        self.values[REUSE_ADDRESS] != 0
    }

    /// `SO_REUSEPORT`.
    #[must_use]
    pub fn reuses_port(&self) -> bool {
        self.values[REUSE_PORT] != 0
    }

    /// `IPV6_V6ONLY`.
    #[must_use]
    pub fn only_v6(&self) -> bool {
        self.values[V6_ONLY] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_their_options() {
        let at = |place: usize| (KNOWN[place].0, KNOWN[place].1);
        assert_eq!(
            [at(REUSE_ADDRESS), at(REUSE_PORT), at(V6_ONLY)],
            [(SOCKET, 2), (SOCKET, 15), (V6, 26)]
        );
    }

    #[test]
    fn an_option_is_shown_as_it_was_set() {
        let mut options = Options::default();
        options.set(SOCKET, 13, &[5, 0, 0, 0, 7, 0, 0, 0]).unwrap();
        assert_eq!(options.get(SOCKET, 13), Ok(vec![1, 0, 0, 0, 7, 0, 0, 0]));
        options.set(SOCKET, 7, &9000_u32.to_le_bytes()).unwrap();
        assert_eq!(options.get(SOCKET, 7), Ok(18_000_u32.to_le_bytes().to_vec()));
        assert_eq!(options.set(SOCKET, 2, &[1, 0]), Err(Errno::EINVAL));
        assert_eq!(options.set(SOCKET, 999, &[0; 4]), Err(Errno::ENOPROTOOPT));
        assert_eq!(options.set(SOCKET, 20, &[0; 16]), Ok(()));
        assert_eq!(options.set(SOCKET, 20, &[1; 16]), Err(Errno::ENOPROTOOPT));
    }
}
