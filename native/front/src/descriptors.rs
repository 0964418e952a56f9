//! How many files the process may have open: each connection of a client is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no connections: of machines, listeners, threads.
const OTHERS: u64 = 512;

/// Lets the process have as many files open as its hard limit allows (`getrlimit(2)`), and gives how many that are.
pub fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let most = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    most.unwrap_or(u64::MAX)
}

/// How many of the connections that are wanted there are files for.
pub fn connections(wanted: usize, files: u64) -> usize {
    let room = usize::try_from(files.saturating_sub(OTHERS)).unwrap_or(usize::MAX);
    wanted.min(room.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_the_rest() {
        assert_eq!(connections(10_000, u64::MAX), 10_000);
        assert_eq!(connections(10_000, 1024), 512);
        assert_eq!(connections(10_000, 3), 1);
    }
}
