//! Measurements.

mod bare;
mod isolated;
mod soak;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use mayfly_vmm::{Alarm, Host};

/// Measures and prints: the bare machine, then stock Deno where its binary is given.
pub fn bench(deno: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let host = Arc::new(Host::open()?);
    let mut alarm = Alarm::new()?;
    println!("flavour {:?}", host.flavour());
    let floor = bare::bare(&host, &mut alarm)?;
    match deno {
        Some(deno) => isolated::isolated(&host, &mut alarm, deno, floor),
        None => {
            println!("stock Deno: not measured, give its binary by --deno PATH");
            Ok(())
        }
    }
}
