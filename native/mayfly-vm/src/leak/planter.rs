//! The planter in its machine: booted once, forked for every trial.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use mayfly_pool::{Instance, Limits, Load, Mount, Outcome, Program, Spec, WarmupRequest, library_mounts};
use mayfly_vmm::{Alarm, Host, monotonic_ns};
use mayfly_wire::{HEAD_BYTES, Head, Kind};

use super::guest::PROGRAM;
use super::protocol::{Ask, FORBIDDEN, REPORT_WORDS};
use super::secrets::Secrets;

/// What can fail in the leak check.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Longest that a request may take where none should: machines may be emulated.
pub const PATIENCE_NS: u64 = 60_000_000_000;

/// The planter, ready to be forked, and what is known of it.
pub struct Planter {
    program: Arc<Program>,
    alarm: Alarm,
    /// Address of the planter's report.
    report: u64,
    /// Vector registers of the CPU.
    pub level: u64,
    /// What a request in a fresh machine sees.
    pub clean_look: BTreeMap<String, String>,
}

impl Planter {
    /// Boots the planter.
    pub fn start(host: &Arc<Host>) -> Result<Planter> {
        let binary = std::env::current_exe()?;
        let path = PROGRAM.to_str()?.to_owned();
        let mut mounts = library_mounts(&binary);
        mounts.push(Mount::host(&path, &binary));
        let spec = Spec {
            path,
            arguments: vec!["mayfly-vm".into(), super::PLANTER.into()],
            environment: vec!["MAYFLY_LEAK=................".into()],
            mounts,
            folder: "/".into(),
            writable: Some("/tmp".into()),
            limits: Limits {
                memory_bytes: 64 << 20,
                boot_ns: PATIENCE_NS,
                ..Limits::default()
            },
            ..Spec::default()
        };
        // As the programs of a server: what differs from a base that waited, and shares the rest with it.
        let base = Arc::new(Program::boot(host, &spec, &mut |_| None)?);
        let load = Load {
            limits: spec.limits,
            ..Load::default()
        };
        let mut warm = vec![WarmupRequest::new(to_frame(Ask::Hello, &[0], &[]))];
        let program = Arc::new(Program::load(&base, &load, &mut |_| warm.pop())?);
        let mut planter = Planter {
            program,
            alarm: Alarm::new()?,
            report: 0,
            level: 1,
            clean_look: BTreeMap::new(),
        };
        let mut instance = planter.fork()?;
        let hello = planter.answered(&mut instance, Ask::Hello, &[0])?;
        let (words, _) = hello.as_chunks::<8>();
        let [report, level] = words else {
            return Err("greet the planter: wrong answer, want two words".into());
        };
        (planter.report, planter.level) = (u64::from_le_bytes(*report), u64::from_le_bytes(*level));
        instance.reset()?;
        let (body, places) = Secrets::draw()?.needles().look_body();
        let look = planter.answered(&mut instance, Ask::Look, &body)?;
        planter.clean_look = lines(&look);
        if !planter
            .clean_look
            .contains_key(&format!("found {}", places.len()))
        {
            return Err("search from inside: it did not find what is there in every fresh machine".into());
        }
        Ok(planter)
    }

    pub fn fork(&self) -> Result<Instance> {
        Ok(Instance::new(&self.program)?)
    }

    pub fn ask(
        &mut self,
        instance: &mut Instance,
        ask: Ask,
        body: &[u8],
        rest: &[u8],
        within: u64,
    ) -> Result<Outcome> {
        let frame = to_frame(ask, body, rest);
        let deadline = monotonic_ns().saturating_add(within);
        Ok(instance.handle(frame, &mut self.alarm, deadline)?)
    }

    pub fn answered(&mut self, instance: &mut Instance, ask: Ask, body: &[u8]) -> Result<Vec<u8>> {
        match self.ask(instance, ask, body, &[], PATIENCE_NS)? {
            Outcome::Answered(frame) => Ok(frame[HEAD_BYTES.min(frame.len())..].to_vec()),
            other => Err(format!("ask the planter to {ask:?}: {other}, want an answer").into()),
        }
    }

    /// What the planter told of each place: its address, or a negative error number.
    pub fn read_report(&self, instance: &mut Instance) -> Vec<i64> {
        let mut bytes = [0; 8 * REPORT_WORDS];
        match instance.machine().space().read(self.report, &mut bytes) {
            Ok(()) => bytes
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| i64::from_le_bytes(*b))
                .collect(),
            Err(_) => vec![0; REPORT_WORDS],
        }
    }

    /// Tries every instruction that ring 3 may not execute: its name, and how the request ended if it was not by a fault or
    /// left something.
    pub fn forbidden(&mut self) -> Result<Vec<(&'static str, std::result::Result<i32, String>)>> {
        let mut instance = self.fork()?;
        let mut all = Vec::new();
        for (index, name) in FORBIDDEN.into_iter().enumerate() {
            let outcome = self.ask(&mut instance, Ask::Forbidden, &[index as u8], &[], PATIENCE_NS)?;
            instance.reset()?;
            let checked = instance.check();
            all.push((
                name,
                match (outcome, checked) {
                    (Outcome::Killed(signal), Ok(())) => Ok(signal),
                    (_, Err(e)) => Err(e.to_string()),
                    (other, Ok(())) => Err(format!("it {other}, want a fault")),
                },
            ));
        }
        Ok(all)
    }
}

/// What the planter is asked, as a frame; `rest` is behind its end.
fn to_frame(ask: Ask, body: &[u8], rest: &[u8]) -> Vec<u8> {
    let head = Head {
        kind: Kind::Request,
        header_bytes: 1,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], &[ask as u8], body, rest].concat()
}

/// Lines of `name=value`.
pub fn lines(answer: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(answer);
    let pairs = text
        .lines()
        .map(|line| line.split_once('=').unwrap_or((line, "")));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
