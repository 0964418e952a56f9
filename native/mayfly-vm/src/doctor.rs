//! Which boundary this machine gives.

use std::process::ExitCode;

use mayfly_vmm::{Entry, Error, Flush, Host};

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
            ExitCode::SUCCESS
        }
        Err(Error::Unavailable(u)) => {
            println!("isolation   unavailable");
            println!("reason      {}", u.reason);
            println!("mend        {}", u.mend);
            ExitCode::FAILURE
        }
        Err(e) => {
            println!("isolation   unavailable");
            println!("reason      KVM opens, but its probe failed: {e}");
            println!("mend        report this line with the kernel's version and the CPU's model");
            ExitCode::FAILURE
        }
    }
}
