//! Programs that the isolates of a process share: those of equal keys are one, until the last holder lets go of it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Fault, Status, fault};

/// Longest key.
const KEY_MAX: usize = 4096;

/// Who holds what, by key.
#[derive(Debug, Default)]
pub struct Shares {
    by_key: BTreeMap<Vec<u8>, i32>,
    shared: BTreeMap<i32, Share>,
}

#[derive(Debug)]
struct Share {
    key: Vec<u8>,
    holders: usize,
}

static SHARES: Mutex<Shares> = Mutex::new(Shares {
    by_key: BTreeMap::new(),
    shared: BTreeMap::new(),
});

/// The shares of this process. Whoever holds them is alone in making and freeing shared programs.
pub fn shares() -> MutexGuard<'static, Shares> {
    SHARES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shares {
    /// The program of a key, held once more; or the one that `make` begins, if there is none or it is not `sound`.
    pub fn hold(
        &mut self,
        key: &[u8],
        sound: impl FnOnce(i32) -> bool,
        make: impl FnOnce() -> Result<i32, Fault>,
    ) -> Result<i32, Fault> {
        if key.len() > KEY_MAX {
            let text = format!(
                "boot the program: a key of {} bytes, want at most {KEY_MAX}",
                key.len()
            );
            return Err(fault(Status::BadArgument, text));
        }
        if let Some(handle) = self.by_key.get(key).copied()
            && sound(handle)
            && let Some(share) = self.shared.get_mut(&handle)
        {
            share.holders += 1;
            return Ok(handle);
        }
        let handle = make()?;
        self.by_key.insert(key.to_vec(), handle);
        let key = key.to_vec();
        self.shared.insert(handle, Share { key, holders: 1 });
        Ok(handle)
    }

    /// Whether somebody else holds it too.
    pub fn has_others(&self, handle: i32) -> bool {
        self.shared.get(&handle).is_some_and(|share| share.holders > 1)
    }

    /// How many hold it; 1 for one that was booted without a key.
    pub fn holders(&self, handle: i32) -> usize {
        self.shared.get(&handle).map_or(1, |share| share.holders)
    }

    /// Nobody gets this one for its key any more.
    pub fn hide(&mut self, handle: i32) {
        if let Some(share) = self.shared.get(&handle)
            && self.by_key.get(&share.key) == Some(&handle)
        {
            self.by_key.remove(&share.key);
        }
    }

    /// Lets go of it once. Tells whether it was made for a key, and whether nobody holds it any more.
    pub fn let_go(&mut self, handle: i32) -> (bool, bool) {
        let Some(share) = self.shared.get_mut(&handle) else {
            return (false, true);
        };
        share.holders -= 1;
        if share.holders > 0 {
            return (true, false);
        }
        self.hide(handle);
        self.shared.remove(&handle);
        (true, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_one_program_until_the_last_lets_go() {
        let mut shares = Shares::default();
        let none = || panic!("it is there");
        assert_eq!(shares.hold(b"a", |_| true, || Ok(7)).unwrap(), 7);
        assert!(!shares.has_others(7));
        assert_eq!(shares.hold(b"a", |_| true, none).unwrap(), 7);
        assert!(shares.has_others(7));
        assert_eq!((shares.holders(7), shares.holders(50)), (2, 1));
        assert_eq!(shares.hold(b"b", |_| true, || Ok(8)).unwrap(), 8);
        assert_eq!(shares.let_go(7), (true, false));
        assert_eq!(shares.let_go(7), (true, true));
        assert_eq!(shares.hold(b"a", |_| true, || Ok(9)).unwrap(), 9);
        assert_eq!((shares.let_go(9), shares.let_go(8)), ((true, true), (true, true)));
        assert!(shares.by_key.is_empty() && shares.shared.is_empty());
        // One that was booted without a key.
        assert_eq!((shares.let_go(50), shares.has_others(50)), ((false, true), false));
    }

    #[test]
    fn one_that_failed_or_was_hidden_is_made_anew_and_its_holders_let_go_of_their_own() {
        let mut shares = Shares::default();
        shares.hold(b"a", |_| true, || Ok(1)).unwrap();
        assert_eq!(shares.hold(b"a", |_| false, || Ok(2)).unwrap(), 2);
        assert_eq!(shares.let_go(1), (true, true));
        assert_eq!(shares.hold(b"a", |_| true, || Ok(3)).unwrap(), 2);
        shares.hide(2);
        assert_eq!(shares.hold(b"a", |_| true, || Ok(4)).unwrap(), 4);
        assert_eq!(
            (shares.let_go(2), shares.let_go(2)),
            ((true, false), (true, true))
        );
        assert_eq!(shares.let_go(4), (true, true));
        assert!(shares.by_key.is_empty() && shares.shared.is_empty());
        assert!(
            shares
                .hold(b"c", |_| true, || Err(fault(Status::System, "no")))
                .is_err()
        );
        assert!(shares.by_key.is_empty());
        assert!(shares.hold(&[0; KEY_MAX + 1], |_| true, || Ok(1)).is_err());
    }
}
