//! Which boundary this machine gives.

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use mayfly_vmm::{Entry, Error, Flush, Host};

use crate::runtimes::print_runtimes;

/// Opens KVM, runs the probes and prints what they say. Fails where no machine can run.
pub fn doctor() -> ExitCode {
    match Host::open() {
        Ok(host) => {
            let flavour = host.flavour();
            let (name, boundary) = match flavour.entry {
                Entry::Ring0 => ("hardware", "the CPU's virtualisation (AMD-V or VT-x)"),
                Entry::Ring3 => (
                    "PVM",
                    "KVM without hardware help (PVM): the host kernel's shadow page tables",
                ),
            };
            let flush = match flavour.flush {
                Flush::ReloadCr3 => "nested paging: changed translations are flushed by the guest's CR3",
                Flush::Notifier => {
                    "shadow paging: changed translations are flushed by the host's MMU notifier"
                }
            };
            println!("isolation   available");
            println!("flavour     {name}");
            println!("boundary    {boundary}");
            println!("paging      {flush}");
            println!(
                "vectors     {} bytes of XSAVE state per thread",
                host.xsave_length()
            );
            print_runtimes();
            host_kernel();
            ExitCode::SUCCESS
        }
        Err(Error::Unavailable(u)) => {
            println!("isolation   unavailable");
            println!("reason      {}", u.reason);
            println!("hint        {}", u.hint);
            ExitCode::FAILURE
        }
        Err(e) => {
            println!("isolation   unavailable");
            println!("reason      KVM opens, but its probe failed: {e}");
            println!("hint        report this line with the kernel's version and the CPU's model");
            ExitCode::FAILURE
        }
    }
}

/// What the kernel says of itself and of the CPU; its patch level shows nowhere.
fn host_kernel() {
    let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let release = line("/proc/sys/kernel/osrelease");
    println!("kernel      {}", release.as_deref().unwrap_or("unknown"));
    let smt = match line("/sys/devices/system/cpu/smt/active").as_deref() {
        Ok("0") => "off",
        Ok("1") => "on: two machines may share a core at the same time",
        _ => "unknown",
    };
    println!("SMT         {smt}");
    let mut open = BTreeSet::new();
    for fault in fs::read_dir("/sys/devices/system/cpu/vulnerabilities")
        .into_iter()
        .flatten()
        .flatten()
    {
        let state = fs::read_to_string(fault.path()).unwrap_or_default();
        if state.contains("Vulnerable") {
            open.insert(format!("{}: {}", fault.file_name().display(), state.trim()));
        }
    }
    for fault in open {
        println!("vulnerable  {fault}");
    }
}
