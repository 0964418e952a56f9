//! The guest as a process: scripts in, frames through pipes.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use mayfly_wire::{HEAD_BYTES, Head, Kind, Limits};

/// Stands for the surface: names for what the tests call.
const SURFACE: &str = "
  const host = globalThis.__mayfly
  globalThis.host = host
  globalThis.say = (...parts) => host.log(host.encode(parts.join(' ') + '\\n'))
";

/// Answers each frame with its own header and body.
pub const ECHO: &str = "
  for (;;) {
    const frame = host.receive()
    if (frame === null) host.exit(0)
    const [fields, rest, body] = frame
    const line = fields.join('\t')
    host.sendBytes(rest === '' ? line : `${line}\\n${rest}`, body ?? new Uint8Array(0), 1e9)
  }
";

/// A folder with scripts, removed at the end.
pub struct Scripts(pub PathBuf);

impl Scripts {
    pub fn new(program: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("mayfly-guest-core-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a new folder");
        std::fs::write(folder.join("surface.js"), SURFACE).expect("a surface");
        std::fs::write(folder.join("program.js"), program).expect("a program");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guest-core"));
        command
            .arg(self.path("surface.js"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn describe(output: &Output) -> (String, Option<i32>) {
    (
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code(),
    )
}

/// A guest whose ends of the pipes we hold.
pub struct Guest {
    child: Child,
    pub input: Option<ChildStdin>,
    output: ChildStdout,
}

impl Guest {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("a guest that starts");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("a pipe");
        Self { child, input, output }
    }

    pub fn send(&mut self, header: &str, body: &[u8]) {
        let head = Head {
            kind: Kind::Request,
            header_bytes: header.len() as u32,
            body_bytes: body.len() as u32,
        };
        let bytes = [&head.encode()[..], header.as_bytes(), body].concat();
        self.input
            .as_mut()
            .expect("an open pipe")
            .write_all(&bytes)
            .expect("a guest that reads");
    }

    pub fn receive(&mut self) -> (String, Vec<u8>) {
        let mut bytes = [0; HEAD_BYTES];
        self.output.read_exact(&mut bytes).expect("a guest that answers");
        let head = Head::decode(&bytes, Kind::Response, Limits::default()).expect("a frame");
        let (mut header, mut body) = (
            vec![0; head.header_bytes as usize],
            vec![0; head.body_bytes as usize],
        );
        self.output.read_exact(&mut header).expect("a header");
        self.output.read_exact(&mut body).expect("a body");
        (String::from_utf8(header).expect("text"), body)
    }

    /// Closes fd 0 and gives what was said and the status.
    pub fn end(mut self) -> (String, Option<i32>) {
        self.input = None;
        describe(&self.child.wait_with_output().expect("an end"))
    }
}
