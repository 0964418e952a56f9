//! The command line. Names are kvmserver's where the meaning is.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use mayfly_front::listen::Listen;
use mayfly_front::outgoing::allowed::Allowed;
use mayfly_pool::Parking;

/// Unmodified servers in virtual machines.
#[derive(Debug, Parser)]
#[command(name = "mayfly", version)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a program's HTTP from machines: `mayfly serve --ephemeral run node server.js`.
    Serve(Box<Serve>),
    /// Boot a program as `serve` does, and write it to a file: `mayfly snapshot -o app.snap run node server.js`.
    Snapshot(Box<Snapshot>),
    /// Write the completions of a shell to the standard output.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Write the manual page of `mayfly serve` to the standard output.
    Man,
}

/// What `serve` is told.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct Serve {
    /// A TOML file with these options by their names without dashes before, and `run`, the program and its arguments. What the command line says goes before.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print what was asked for as such a file, and end.
    #[arg(long)]
    pub print_config: bool,
    /// Where operators find /metrics and /status: ADDRESS:PORT, :PORT or unix:PATH.
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<Listen>,
    /// Where to listen: ADDRESS:PORT, :PORT or unix:PATH.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub listen: Listen,
    /// Threads, and machines; 0: as many as there are cores.
    #[arg(long, short, default_value_t = 1, value_name = "N", value_parser = up_to(1024))]
    pub threads: usize,
    /// Reset the machine after each request; without it, each machine goes on with its state.
    #[arg(long, short)]
    pub ephemeral: bool,
    /// Hand each connection to the program as it is, in a machine of its own, and reset that behind the connection's end: for programs
    /// that keep connections alive themselves, and for what is no HTTP.
    #[arg(long)]
    pub per_connection: bool,
    /// Seconds that a request may take.
    #[arg(long, default_value_t = 8.0, value_name = "SECONDS", value_parser = some_time)]
    pub max_request_time: f64,
    /// Longest body of a request in MiB.
    #[arg(long, default_value_t = 8, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub max_body: u64,
    /// Connections of clients at a time.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = up_to(1_000_000))]
    pub connections: usize,
    /// Requests that may wait for a machine, or have one that waits for them.
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = up_to(1_000_000))]
    pub queue: usize,
    /// MiB that machines may hold which wait for their clients, for the outside or for a time; over it a request that would wait ends with 503.
    #[arg(long, default_value_t = Parking::default().all_bytes >> 20, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub max_parked_memory: u64,
    /// Connections of the program to the outside at a time, of all machines together; a machine has 64 at most.
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = up_to(1_000_000))]
    pub max_connect: usize,
    /// Seconds that a client has for the head of a request, for its body, and for a TLS handshake.
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS", value_parser = some_time)]
    pub client_time: f64,
    /// A chain of certificates in PEM: serve by TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Compare every machine with its snapshot after each reset; slow.
    #[arg(long)]
    pub check_resets: bool,
    /// Do not pass on what the program prints.
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub boot: Boot,
    #[command(subcommand)]
    pub program: Served,
}

/// What `snapshot` is told.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct Snapshot {
    /// The file to write. Only its owner may read it.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Seconds that a request of the warm-up may take.
    #[arg(long, default_value_t = 8.0, value_name = "SECONDS", value_parser = some_time)]
    pub max_request_time: f64,
    #[command(flatten)]
    pub boot: Boot,
    #[command(subcommand)]
    pub program: Run,
}

/// What a program is booted with. A snapshot's file has it inside.
#[derive(Args, Debug)]
pub struct Boot {
    /// Requests of the warm-up, before the snapshot.
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = up_to(1_000_000))]
    pub warmup: usize,
    /// A path that the warm-up asks for, `/` by default; several are asked in turn.
    #[arg(long, value_name = "PATH")]
    pub warmup_path: Vec<String>,
    /// Let requests of the warm-up connect to what `--allow-connect` lists: they are not played. Each one's connections end with it.
    #[arg(long, requires = "allow_connect")]
    pub warmup_connect: bool,
    /// The port that the program is asked on; the first that it listens on by default. It is bound nowhere.
    #[arg(long, value_name = "PORT")]
    pub guest_port: Option<u16>,
    /// Files and folders that the program may read, as they are when it boots.
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub allow_read: Vec<PathBuf>,
    /// Folders of the host that the program may read and write where they lie. No reset touches what it writes there.
    #[arg(long, value_name = "FOLDERS", value_delimiter = ',')]
    pub allow_write: Vec<PathBuf>,
    /// MiB by which files may grow in the folders that it may write, all together; what it removes gives room back.
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 24))]
    pub max_write: u64,
    /// Files and folders that it may add there, likewise.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    pub max_write_files: u64,
    /// Hosts and ports that the program may connect to in requests: a name, an IPv4 address or an [IPv6 address], and a port or FIRST-LAST.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub allow_connect: Vec<Allowed>,
    /// Variables of the environment that the program gets; it gets no others.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub allow_env: Vec<String>,
    /// A variable that the program gets.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A file or folder of the host at a place of the guest: as with `--allow-read`, or with `rw` a folder as with `--allow-write`.
    #[arg(long = "volume", value_name = "HOST:GUEST[:ro|rw]")]
    pub volumes: Vec<Volume>,
    /// The program's working directory.
    #[arg(long, value_name = "PATH")]
    pub cwd: Option<String>,
    /// Seconds until the program waits for its first request, the warm-up included.
    #[arg(long, default_value_t = 20.0, value_name = "SECONDS", value_parser = some_time)]
    pub max_boot_time: f64,
    /// Seconds that a request may take whose answer is sent as it comes, or whose body comes slowly.
    #[arg(long, default_value_t = 300.0, value_name = "SECONDS", value_parser = some_time)]
    pub max_stream_time: f64,
    /// Memory of a machine in MiB.
    #[arg(long, default_value_t = 2048, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub max_main_memory: u64,
    /// Longest answer in MiB.
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=4095))]
    pub max_answer: u32,
}

impl Serve {
    /// The time that a client has.
    pub fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.client_time)
    }
}

/// A program and its arguments.
#[derive(Args, Debug)]
pub struct Line {
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM ARGS"
    )]
    pub command: Vec<String>,
}

/// What is served.
#[derive(Debug, Subcommand)]
pub enum Served {
    /// The program and its arguments.
    Run(Line),
    /// The file of `mayfly snapshot`, with what it was told of the program.
    Snaprun {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// What is booted.
#[derive(Debug, Subcommand)]
pub enum Run {
    /// The program and its arguments.
    Run(Line),
}

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Path on the host.
    pub host: PathBuf,
    /// Path in the guest.
    pub guest: String,
    /// Whether the guest writes it.
    pub writable: bool,
}

impl FromStr for Volume {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let (host, guest, right, end) = (parts.next(), parts.next(), parts.next(), parts.next());
        let writable = match right {
            None | Some("r" | "ro") => false,
            // The last one is kvmserver's.
            Some("rw" | "r=w") => true,
            Some(_) => return Err("ro or rw is wanted behind HOST:/GUEST".into()),
        };
        match (host, guest, end) {
            (Some(host), Some(guest), None) if !host.is_empty() && guest.starts_with('/') => Ok(Self {
                host: host.into(),
                guest: guest.into(),
                writable,
            }),
            _ => Err("HOST:/GUEST is wanted".into()),
        }
    }
}

fn up_to(most: usize) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let number = text.parse().ok().filter(|&number: &usize| number <= most);
        number.ok_or_else(|| format!("a number up to {most} is wanted"))
    }
}

fn some_time(text: &str) -> Result<f64, String> {
    let time = text.parse().ok().filter(|time| (0.001..=86_400.0).contains(time));
    time.ok_or_else(|| "seconds from 0.001 to 86400 are wanted".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Serve, String> {
        let parsed = Arguments::try_parse_from(text.split_whitespace()).map_err(|e| e.to_string())?;
        match parsed.command {
            Command::Serve(serve) => Ok(*serve),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn options_end_at_the_program() {
        let line = "mayfly serve -e -t 0 --listen unix:/a --warmup 3 --allow-read /x,/y --volume /h:/g run node -e 1 --threads 9";
        let options = parse(line).unwrap();
        assert!(options.ephemeral);
        assert_eq!((options.threads, options.boot.warmup), (0, 3));
        assert_eq!(options.listen, Listen::Unix("/a".into()));
        assert_eq!(options.boot.allow_read, [PathBuf::from("/x"), "/y".into()]);
        assert_eq!(options.boot.volumes[0].guest, "/g");
        let rights = |right: &str| {
            format!("/h:/g{right}")
                .parse::<Volume>()
                .map(|volume| volume.writable)
        };
        assert_eq!(
            ["", ":r", ":ro", ":rw", ":r=w"].map(rights),
            [false, false, false, true, true].map(Ok)
        );
        let Served::Run(Line { command }) = options.program else {
            panic!("{:?}", options.program);
        };
        assert_eq!(command, ["node", "-e", "1", "--threads", "9"]);
    }

    #[test]
    fn what_may_be_connected_to_is_a_list() {
        let line = "mayfly serve --allow-connect db:5432,[::1]:80 --allow-connect 10.0.0.1:8000-8010 run x";
        let options = parse(line).unwrap();
        let shown: Vec<String> = options
            .boot
            .allow_connect
            .iter()
            .map(Allowed::to_string)
            .collect();
        assert_eq!(shown, ["db:5432", "[::1]:80", "10.0.0.1:8000-8010"]);
    }

    #[test]
    fn a_snapshot_is_written_and_served() {
        let line = "mayfly snapshot -o a.snap --warmup 2 run ./x -o b";
        match Arguments::try_parse_from(line.split_whitespace())
            .unwrap()
            .command
        {
            Command::Snapshot(snapshot) => {
                let Run::Run(Line { command }) = &snapshot.program;
                assert_eq!((snapshot.output, snapshot.boot.warmup), ("a.snap".into(), 2));
                assert_eq!(command[..], ["./x", "-o", "b"]);
            }
            other => panic!("{other:?}"),
        }
        match parse("mayfly serve -e snaprun a.snap").unwrap().program {
            Served::Snaprun { file } => assert_eq!(file, PathBuf::from("a.snap")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn wrong_options_are_named() {
        for (line, said) in [
            ("mayfly serve", "run"),
            ("mayfly serve run", "PROGRAM ARGS"),
            ("mayfly serve --volume /a:/b:w run x", "ro or rw"),
            ("mayfly serve --volume /a:b run x", "HOST:/GUEST"),
            ("mayfly serve --threads=-1 run x", "--threads"),
            ("mayfly serve --max-request-time 0 run x", "0.001"),
            ("mayfly serve --allow-connect db run x", "HOST:PORT"),
            ("mayfly serve --allow-connect db:80,::1:80 run x", "[::1]"),
            ("mayfly serve --tls-cert a run x", "--tls-key"),
            ("mayfly serve --nonsense run x", "--nonsense"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
