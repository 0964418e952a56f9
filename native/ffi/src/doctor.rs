//! What this host can do.

use mayfly_vmm::{Entry, Error, Flush, Host};

use crate::json::{object, string};

/// Opens KVM, probes it and tells what was found, as JSON.
pub fn report() -> String {
    match Host::open() {
        Ok(host) => {
            let flavour = host.flavour();
            let entry = match flavour.entry {
                Entry::Ring0 => "hardware",
                Entry::Ring3 => "pvm",
            };
            let flush = match flavour.flush {
                Flush::ReloadCr3 => "cr3",
                Flush::Notifier => "notifier",
            };
            object([
                ("available", "true".into()),
                ("flavour", string(entry)),
                ("flush", string(flush)),
                ("xsaveBytes", host.xsave_length().to_string()),
            ])
        }
        Err(Error::Unavailable(u)) => unavailable(&u.reason, &u.hint),
        Err(e) => unavailable(
            &format!("KVM opens, but its probe failed: {e}"),
            "report this line with the kernel's version and the CPU's model",
        ),
    }
}

fn unavailable(reason: &str, hint: &str) -> String {
    object([
        ("available", "false".into()),
        ("reason", string(reason)),
        ("hint", string(hint)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_says_one_or_the_other() {
        let text = report();
        let good = text.starts_with(r#"{"available":true,"flavour":""#);
        let bad = text.starts_with(r#"{"available":false,"reason":""#) && text.contains(r#","hint":""#);
        assert!(good != bad, "{text}");
    }
}
