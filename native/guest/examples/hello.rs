//! Says hello. `cargo build --release --example hello --target x86_64-unknown-linux-musl`, or without the target for a dynamic program.

use mayfly_guest::{Guest, Response};

fn main() {
    let mut guest = Guest::new();
    while let Some(request) = guest.wait_for_request() {
        let text = format!("Hello from Rust, {}\n", request.path());
        request.respond(Response::text(&text));
    }
}
