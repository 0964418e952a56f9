//! The names among what is allowed, and the files by which a program finds their addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use mayfly_pool::Mount;

use crate::outgoing::allowed::{Allowed, Host};

/// Most addresses of a name that a program is told.
const ADDRESSES_MAX: usize = 16;

/// What a line of notes begins with that tells of an address, and a name behind it.
const NOTE: &str = "# host ";

/// Names and the addresses that the host gave for them at the start, or when the program's snapshot was taken.
#[derive(Debug, Default)]
pub(super) struct Names(RwLock<BTreeMap<String, BTreeSet<IpAddr>>>);

impl Names {
    /// Asks the host for the addresses of all names.
    pub fn resolve(allowed: &[Allowed]) -> io::Result<Self> {
        let mut names = BTreeMap::new();
        for rule in allowed {
            if let Host::Name(name) = &rule.host
                && !names.contains_key(name)
            {
                let unknown = |e: &dyn std::fmt::Display| {
                    io::Error::other(format!(
                        "--allow-connect {rule}: the host does not know {name}: {e}"
                    ))
                };
                let found = (name.as_str(), *rule.ports.start()).to_socket_addrs();
                let found: BTreeSet<IpAddr> = found
                    .map_err(|e| unknown(&e))?
                    .map(|address| address.ip().to_canonical())
                    .take(ADDRESSES_MAX)
                    .collect();
                if found.is_empty() {
                    return Err(unknown(&"it has no address"));
                }
                names.insert(name.clone(), found);
            }
        }
        Ok(Self(RwLock::new(names)))
    }

    /// Whether an address was one of a name's.
    pub fn has(&self, name: &str, address: IpAddr) -> bool {
        self.read()
            .get(name)
            .is_some_and(|found| found.contains(&address))
    }

    /// No change leaves them half made.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, BTreeSet<IpAddr>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses, to be noted with a program whose `/etc/hosts` has them.
    pub fn notes(&self) -> String {
        let names = self.read();
        let all = names
            .iter()
            .flat_map(|(name, found)| found.iter().map(move |address| (address, name)));
        all.map(|(address, name)| format!("{NOTE}{address} {name}\n"))
            .collect()
    }

    /// Adds what was noted of the names that are here, within the bound on their addresses.
    pub fn remember(&self, notes: &str) {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for line in notes.lines() {
            let noted = line.strip_prefix(NOTE).and_then(|rest| rest.split_once(' '));
            if let Some((address, name)) = noted
                && let Ok(address) = address.parse()
                && let Some(found) = names.get_mut(name)
                && found.len() < 2 * ADDRESSES_MAX
            {
                found.insert(address);
            }
        }
    }

    /// `/etc/hosts`, and what leads programs there.
    pub fn files(&self) -> Vec<Mount> {
        let mut hosts = String::from("127.0.0.1 localhost\n::1 localhost\n");
        for (name, addresses) in self.read().iter() {
            for address in addresses {
                if name != "localhost" || !address.is_loopback() {
                    // Writing to a string does not fail.
                    let _ = writeln!(hosts, "{address} {name}");
                }
            }
        }
        vec![
            Mount::bytes("/etc/hosts", hosts),
            Mount::bytes("/etc/nsswitch.conf", "hosts: files\n"),
            Mount::bytes(
                "/etc/resolv.conf",
                "# All names that may be connected to are in /etc/hosts.\n",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_shown_and_unknown_ones_told() {
        let allowed = |text: &str| vec![text.parse::<Allowed>().expect("a host and a port")];
        let names = Names::resolve(&allowed("localhost:80")).expect("a name that each host knows");
        assert!(
            names.has("localhost", [127, 0, 0, 1].into())
                || names.has("localhost", IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]))
        );
        assert!(!names.has("localhost", [10, 0, 0, 1].into()) && !names.has("other", [127, 0, 0, 1].into()));
        let why = Names::resolve(&allowed("no-such-name.invalid:80")).expect_err("reserved never to be");
        assert!(
            why.to_string()
                .contains("--allow-connect no-such-name.invalid:80"),
            "{why}"
        );
        let names = BTreeMap::from([("db".into(), BTreeSet::from([[10, 0, 0, 1].into()]))]);
        let names = Names(RwLock::new(names));
        let files = names.files();
        assert_eq!(
            files[0],
            Mount::bytes("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n10.0.0.1 db\n")
        );
    }

    #[test]
    fn what_a_name_led_to_at_the_snapshot_is_remembered() {
        let at = |name: &str, address: [u8; 4]| {
            let names = BTreeMap::from([(name.to_owned(), BTreeSet::from([address.into()]))]);
            Names(RwLock::new(names))
        };
        let (then, now) = (at("db", [10, 0, 0, 1]), at("db", [10, 0, 0, 2]));
        now.remember(&format!(
            "queue = 5\n{}# host x db\n# host 10.0.0.9\n",
            then.notes()
        ));
        assert!(now.has("db", [10, 0, 0, 1].into()) && now.has("db", [10, 0, 0, 2].into()));
        assert!(!now.has("db", [10, 0, 0, 9].into()));
        // Who is not allowed any more is not, whatever was noted.
        let other = at("mail", [10, 0, 0, 3]);
        other.remember(&then.notes());
        assert!(!other.has("db", [10, 0, 0, 1].into()) && !other.has("mail", [10, 0, 0, 1].into()));
        let many: String = (0..=255)
            .map(|last| format!("# host 10.0.1.{last} db\n"))
            .collect();
        now.remember(&many);
        assert_eq!(now.read()["db"].len(), 2 * ADDRESSES_MAX);
    }
}
