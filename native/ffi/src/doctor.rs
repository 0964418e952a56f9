//! What this host can do.

use mayfly_vmm::{Entry, Error, Flush, Host};

use serde_json::json;

use crate::layout::hash;

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
            json!({
                "available": true,
                "flavour": entry,
                "flush": flush,
                "xsaveBytes": host.xsave_length(),
                "host": format!("{:08x}", hash(&json!(host.facts()).to_string())),
            })
            .to_string()
        }
        Err(Error::Unavailable(u)) => unavailable(&u.reason, &u.hint),
        Err(e) => unavailable(
            &format!("KVM opens, but its probe failed: {e}"),
            "report this line with the kernel's version and the CPU's model",
        ),
    }
}

fn unavailable(reason: &str, hint: &str) -> String {
    json!({ "available": false, "reason": reason, "hint": hint }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_says_one_or_the_other() {
        let text = report();
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        let good = told["available"] == true && told["flavour"].is_string();
        let bad = told["available"] == false && told["reason"].is_string() && told["hint"].is_string();
        assert!(good != bad, "{text}");
    }
}
