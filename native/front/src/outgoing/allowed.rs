//! What `--allow-connect` says: hosts and ports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Longest name, and longest part of one, of RFC 1035.
const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// A host, and the ports on it that programs may connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The host.
    pub host: Host,
    /// Its ports.
    pub ports: RangeInclusive<u16>,
}

/// A host, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By a name, in lower case.
    Name(String),
    /// By its address.
    Address(IpAddr),
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted =
            "HOST:PORT is wanted: a name, an IPv4 address or an [IPv6 address], and a port or FIRST-LAST";
        let (host, ports) = text.rsplit_once(':').ok_or(wanted)?;
        Ok(Self {
            host: read_host(host)?,
            ports: read_ports(ports)?,
        })
    }
}

fn read_host(host: &str) -> Result<Host, String> {
    if let Some(inner) = host.strip_prefix('[') {
        let address = inner.strip_suffix(']').and_then(|inner| inner.parse().ok());
        let address: Ipv6Addr = address.ok_or_else(|| format!("{host} is no IPv6 address"))?;
        // The same host has one address here, however it is written.
        return Ok(Host::Address(IpAddr::V6(address).to_canonical()));
    }
    if host.contains(':') {
        return Err(format!(
            "{host} is in no brackets: [{host}] is wanted of an IPv6 address"
        ));
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let is_label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(known) && !label.starts_with('-')
    };
    // What ends in a number is an address to whoever resolves it, in forms that are read in different ways.
    let ends_in_number = host.rsplit('.').next().is_some_and(|last| {
        let is_hex = last
            .strip_prefix("0x")
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
        is_hex || last.bytes().all(|byte| byte.is_ascii_digit())
    });
    if host.len() > NAME_MAX || !host.split('.').all(is_label) || ends_in_number {
        return Err(format!("{host:?} is no name and no address"));
    }
    Ok(Host::Name(host.to_ascii_lowercase()))
}

fn read_ports(ports: &str) -> Result<RangeInclusive<u16>, String> {
    let port = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let port = text.parse().ok().filter(|&port: &u16| is_number && port > 0);
        port.ok_or_else(|| format!("{text:?} is no port: a number from 1 to 65535 is wanted"))
    };
    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
    let (first, last) = (port(first)?, port(last)?);
    match first <= last {
        true => Ok(first..=last),
        false => Err(format!("{ports} are no ports: the first is behind the last")),
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:")?,
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}:")?,
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:")?,
        }
        match (self.ports.start(), self.ports.end()) {
            (first, last) if first == last => write!(f, "{first}"),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read_and_shown() {
        for (text, shown) in [
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("[::1]:443", "[::1]:443"),
            ("[::ffff:10.0.0.1]:1", "10.0.0.1:1"),
            ("DB.Internal:5432", "db.internal:5432"),
            ("localhost:8000-8010", "localhost:8000-8010"),
            ("a_b-c:1-65535", "a_b-c:1-65535"),
            ("x:7-7", "x:7"),
        ] {
            assert_eq!(
                text.parse::<Allowed>().map(|a| a.to_string()).as_deref(),
                Ok(shown)
            );
        }
    }

    #[test]
    fn what_is_no_host_or_no_port_is_told() {
        for (text, said) in [
            ("", "HOST:PORT"),
            ("db", "HOST:PORT"),
            (":80", "no name"),
            ("db:", "no port"),
            ("db:0", "no port"),
            ("db:65536", "no port"),
            ("db:+80", "no port"),
            ("db:http", "no port"),
            ("db:90-80", "behind the last"),
            ("db:80-", "no port"),
            ("::1:80", "[::1]"),
            ("[::1:80", "no IPv6"),
            ("[10.0.0.1]:80", "no IPv6"),
            ("1.2.3:80", "no name"),
            ("2130706433:80", "no name"),
            ("0x7f.1:80", "no name"),
            ("127.0.0.0x1:80", "no name"),
            ("a..b:80", "no name"),
            ("a b:80", "no name"),
            ("http://a:80", "brackets"),
            ("*:80", "no name"),
        ] {
            let why = text.parse::<Allowed>().expect_err(text);
            assert!(why.contains(said), "{text}: {why}");
        }
        assert!(format!("{}:1", "a".repeat(64)).parse::<Allowed>().is_err());
    }
}
