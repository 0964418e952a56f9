//! Handles: numbers instead of addresses, so that a wrong one is an error and a freed one stays harmless.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::abi::{Fault, Status, fault};

/// Most live handles of one kind.
const HANDLES_MAX: usize = 16_384;

/// Things by handle. Handles count up and are never used twice.
#[derive(Debug)]
pub struct Registry<T> {
    /// What is kept, for messages.
    kind: &'static str,
    live: RwLock<Live<T>>,
}

#[derive(Debug)]
struct Live<T> {
    last: i32,
    by_handle: BTreeMap<i32, Arc<T>>,
}

impl<T> Registry<T> {
    /// An empty registry.
    pub const fn new(kind: &'static str) -> Self {
        let live = Live {
            last: 0,
            by_handle: BTreeMap::new(),
        };
        Registry {
            kind,
            live: RwLock::new(live),
        }
    }

    /// Keeps a thing and gives its handle.
    pub fn add(&self, thing: Arc<T>) -> Result<i32, Fault> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live.by_handle.len() >= HANDLES_MAX || live.last == i32::MAX {
            let text = format!("make a {}: {HANDLES_MAX} are live, want fewer", self.kind);
            return Err(fault(Status::System, text));
        }
        live.last += 1;
        let handle = live.last;
        live.by_handle.insert(handle, thing);
        Ok(handle)
    }

    /// The thing of a handle.
    pub fn get(&self, handle: i32) -> Result<Arc<T>, Fault> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.by_handle.get(&handle).cloned().ok_or_else(|| {
            let text = format!("use a {}: handle {handle}, want one that is live", self.kind);
            fault(Status::BadHandle, text)
        })
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<T>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.by_handle.values().cloned().collect()
    }

    /// Takes a thing out. `None` when that was done before; an error when there never was such a handle.
    pub fn remove(&self, handle: i32) -> Result<Option<Arc<T>>, Fault> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if handle < 1 || handle > live.last {
            let text = format!("free a {}: handle {handle}, want one that was given", self.kind);
            return Err(fault(Status::BadHandle, text));
        }
        Ok(live.by_handle.remove(&handle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_freed_once_and_never_come_back() {
        let r = Registry::new("thing");
        let a = r.add(Arc::new('a')).unwrap();
        assert_eq!(*r.get(a).unwrap(), 'a');
        assert_eq!(r.remove(a).unwrap().as_deref(), Some(&'a'));
        assert!(r.remove(a).unwrap().is_none());
        assert_eq!(r.get(a).unwrap_err().status, Status::BadHandle);
        assert_ne!(r.add(Arc::new('b')).unwrap(), a);
    }

    #[test]
    fn handles_that_never_were_are_refused() {
        let r = Registry::new("thing");
        r.add(Arc::new('a')).unwrap();
        for wrong in [i32::MIN, -1, 0, 2, i32::MAX] {
            assert!(r.get(wrong).is_err() && r.remove(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn live_handles_are_bounded() {
        let r = Registry::new("thing");
        let last = (0..HANDLES_MAX).map(|_| r.add(Arc::new(0)).unwrap()).last();
        assert_eq!(r.add(Arc::new(0)).unwrap_err().status, Status::System);
        r.remove(last.unwrap()).unwrap();
        assert!(r.add(Arc::new(0)).is_ok());
    }
}
