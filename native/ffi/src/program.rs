//! Programs that boot on threads of their own.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mayfly_pool::{BootError, DiskError, Opening, Program, TRIAL_RUNS, Trial, WarmupRequest, try_out};
use mayfly_vmm::{Error, Host};
use serde_json::{Value, json};

use crate::abi::{Fault, Status, fault, words};
use crate::cache::{check_path, decode_notes, encode_notes, touch, trim};
use crate::layout::micros;
use crate::spec::{Description, Start};
use crate::verdict::tells_of_an_error;
use crate::warmup::Plan;

/// A program from the moment its boot is asked for.
#[derive(Debug)]
pub struct BootedProgram {
    state: Mutex<State>,
    /// Signalled when the boot is over.
    over: Condvar,
    /// Nobody wants it any more.
    called_off: AtomicBool,
    /// Where its snapshot lies, once it was saved or if it was opened.
    file: Mutex<Option<PathBuf>>,
}

#[derive(Debug)]
enum State {
    Booting,
    Ready {
        program: Arc<Program>,
        answers: Vec<Vec<u8>>,
        tried: Vec<Tried>,
        /// Frames of the warm-up that failed at last, and fail in forks.
        failing: Vec<usize>,
        /// Of who saved it, if it came from a file.
        notes: Vec<u8>,
    },
    Failed {
        status: Status,
        text: String,
        /// The warm-up frame at fault.
        entry: Option<usize>,
    },
}

/// A warm-up frame before and after the snapshot.
#[derive(Debug)]
struct Tried {
    entry: usize,
    /// Nanoseconds of its quickest run in the warm-up; 0 if it ran in forks only.
    warm_ns: u64,
    trial: Trial,
    /// Its answer in the fork told of an error.
    failed: bool,
}

impl BootedProgram {
    /// Starts the boot and returns at once. `base` is the program that the description names, if it names one.
    pub fn boot(
        description: Description,
        base: Option<Arc<BootedProgram>>,
    ) -> Result<Arc<BootedProgram>, Fault> {
        let base = base.map(|base| Ok((base.program()?, base))).transpose()?;
        let booted = Arc::new(BootedProgram {
            state: Mutex::new(State::Booting),
            over: Condvar::new(),
            called_off: AtomicBool::new(false),
            file: Mutex::new(None),
        });
        let theirs = booted.clone();
        let thread = thread::Builder::new().name("mayfly-boot".into());
        thread
            .spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| theirs.begin(description, base)));
                let state = result.unwrap_or_else(|panic| State::Failed {
                    status: Status::Panic,
                    text: format!("boot the program: internal error: {}", words(&*panic)),
                    entry: None,
                });
                *theirs.lock() = state;
                theirs.over.notify_all();
            })
            .map_err(|e| fault(Status::System, format!("start a thread for a boot: {e}")))?;
        Ok(booted)
    }

    fn begin(&self, description: Description, base: Option<(Arc<Program>, Arc<BootedProgram>)>) -> State {
        let (program, base) = base.unzip();
        let Start::Open(_, path) = description.start else {
            return boot(description, program, &self.called_off);
        };
        let state = open(&path, program);
        if matches!(state, State::Ready { .. }) {
            // Of what was used last the base comes last: without it the file is of no use.
            touch(&path);
            if let Some(base) = base {
                base.touch();
            }
            *self.lock_file() = Some(path);
        }
        state
    }

    /// Writes the program to a file, with its kept answers and `notes`, and removes others of the folder until they have at most
    /// `most` bytes. What of it lies in the file of its base is left out. Does nothing if it has that file.
    pub fn save(
        &self,
        path: &Path,
        notes: &[u8],
        base: Option<&BootedProgram>,
        most: u64,
    ) -> Result<(), Fault> {
        let folder = check_path(path)?;
        let (program, notes) = match &*self.lock() {
            State::Ready { program, answers, .. } => (program.clone(), encode_notes(answers, notes)),
            State::Failed { status, text, .. } => return Err(fault(*status, text)),
            State::Booting => return Err(fault(Status::NotReady, "save a program: it still boots")),
        };
        let below = base.map(BootedProgram::program).transpose()?;
        // Others that share the program wait, and find it written.
        let mut file = self.lock_file();
        if file.as_deref() == Some(path) {
            return Ok(());
        }
        program
            .save(path, &notes, below.as_deref())
            .map_err(|e| fault(Status::System, format!("save a program: {e}")))?;
        *file = Some(path.into());
        drop(file);
        if let Some(base) = base {
            base.touch();
        }
        trim(folder, most).map_err(|e| {
            fault(
                Status::System,
                format!("bound the folder {}: {e}", folder.display()),
            )
        })
    }

    fn touch(&self) {
        if let Some(path) = &*self.lock_file() {
            touch(path);
        }
    }

    fn lock_file(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What lay beside the program in its file; empty for one that booted.
    pub fn notes(&self) -> Result<Vec<u8>, Fault> {
        match &*self.lock() {
            State::Ready { notes, .. } => Ok(notes.clone()),
            State::Failed { status, text, .. } => Err(fault(*status, text)),
            State::Booting => Err(fault(Status::NotReady, "read a program's notes: it still boots")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a boot before its next warm-up request; it fails then. Does nothing to one that is over.
    pub fn call_off(&self) {
        self.called_off.store(true, Ordering::Relaxed);
    }

    /// Waits until the boot is over; an error tells that it failed or is not over yet.
    pub fn wait(&self, timeout: Duration) -> Result<(), Fault> {
        let end = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            match &*state {
                State::Ready { .. } => return Ok(()),
                State::Failed { status, text, .. } => return Err(fault(*status, text)),
                State::Booting => {}
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(fault(Status::NotReady, "wait for a program: it still boots"));
            }
            let waited = self.over.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The program, once it is ready.
    pub fn program(&self) -> Result<Arc<Program>, Fault> {
        match &*self.lock() {
            State::Ready { program, .. } => Ok(program.clone()),
            State::Failed { status, text, .. } => Err(fault(*status, text)),
            State::Booting => Err(fault(Status::NotReady, "use a program: it still boots")),
        }
    }

    /// Whether its boot failed.
    pub fn has_failed(&self) -> bool {
        matches!(&*self.lock(), State::Failed { .. })
    }

    /// How the boot went as JSON, or why it failed: a message, and the index of the warm-up frame at fault or null.
    pub fn text(&self) -> Result<String, Fault> {
        match &*self.lock() {
            State::Failed { text, entry, .. } => Ok(json!({ "message": text, "entry": entry }).to_string()),
            State::Booting => Err(fault(Status::NotReady, "read a boot's report: it still boots")),
            State::Ready {
                program,
                tried,
                failing,
                ..
            } => {
                let r = program.report();
                let own = program
                    .own_bytes()
                    .map_err(|e| fault(Status::System, e.to_string()))?;
                let told = json!({
                    "bootUs": micros(r.boot_ns),
                    "warmupUs": micros(r.warmup_ns),
                    "warmupRequests": r.warmup_requests,
                    "exits": r.exits,
                    "memoryBytes": r.memory_bytes,
                    "ownBytes": own,
                    "trials": tried.iter().map(Tried::to_json).collect::<Value>(),
                    "failing": failing,
                });
                Ok(told.to_string())
            }
        }
    }

    /// The answer to a warm-up frame that was to be kept.
    pub fn answer(&self, index: u32) -> Result<Vec<u8>, Fault> {
        match &*self.lock() {
            State::Ready { answers, .. } => answers.get(index as usize).cloned().ok_or_else(|| {
                let text = format!(
                    "read an answer of the warm-up: {index}, want one below {}",
                    answers.len()
                );
                fault(Status::BadArgument, text)
            }),
            State::Failed { status, text, .. } => Err(fault(*status, text)),
            State::Booting => Err(fault(
                Status::NotReady,
                "read an answer of the warm-up: it still boots",
            )),
        }
    }
}

impl Tried {
    fn to_json(&self) -> Value {
        json!({
            "entry": self.entry,
            "warmUs": micros(self.warm_ns),
            "runUs": micros(self.trial.run_ns),
            "resetUs": micros(self.trial.reset_ns),
            "dirtyPages": self.trial.dirty_pages,
            "failed": self.failed,
        })
    }
}

fn boot(description: Description, base: Option<Arc<Program>>, called_off: &AtomicBool) -> State {
    let Description { start, mut warmup } = description;
    let result = host().and_then(|host| {
        let mut next = |last: Option<(&[u8], u64)>| match called_off.load(Ordering::Relaxed) {
            true => None,
            false => step(&mut warmup, last),
        };
        let program = match (&start, &base) {
            (Start::Boot(spec), _) => Program::boot(&host, spec, &mut next)?,
            (Start::Load(_, load), Some(base)) => Program::load(base, load, &mut next)?,
            (Start::Load(..), None) | (Start::Open(..), _) => {
                return Err(BootError::Machine(Error::Broken {
                    what: "a program to load without its base",
                }));
            }
        };
        if called_off.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let program = Arc::new(program);
        let tried = try_warm(&program, &warmup)?;
        let failing = try_failing(&program, &warmup)?;
        Ok(Some((program, tried, failing)))
    });
    match result {
        Ok(None) => State::Failed {
            status: Status::Closed,
            text: "boot the program: it was called off".into(),
            entry: None,
        },
        Ok(Some((program, tried, failing))) => State::Ready {
            program,
            failing,
            answers: warmup.into_answers(),
            tried,
            notes: Vec::new(),
        },
        Err(e) => State::Failed {
            entry: matches!(e, BootError::Ended { .. })
                .then(|| warmup.last())
                .flatten(),
            status: match e {
                BootError::Machine(Error::Unavailable(_)) => Status::Unavailable,
                BootError::Crashed(_) => Status::Panic,
                BootError::Machine(_)
                | BootError::Mount(_)
                | BootError::Exec(_)
                | BootError::Ended { .. } => Status::BootFailed,
            },
            text: e.to_string(),
        },
    }
}

/// Goes on from a file, over `base` if it lies over one.
fn open(path: &Path, base: Option<Arc<Program>>) -> State {
    let failed = |status, text: String| State::Failed {
        status,
        text,
        entry: None,
    };
    let host = match host() {
        Ok(host) => host,
        Err(e) => return failed(Status::Unavailable, e.to_string()),
    };
    let opening = Opening {
        base,
        ..Opening::default()
    };
    let (program, bytes) = match Program::open(&host, path, &opening) {
        Ok(opened) => opened,
        Err(e) => {
            let status = match &e {
                DiskError::File { source, .. } if source.kind() == io::ErrorKind::NotFound => Status::Missing,
                DiskError::File { .. } | DiskError::Refused { .. } => Status::Stale,
                DiskError::Machine(_) => Status::BootFailed,
            };
            return failed(status, e.to_string());
        }
    };
    match decode_notes(&bytes) {
        Some((answers, notes)) => State::Ready {
            program: Arc::new(program),
            answers,
            tried: Vec::new(),
            failing: Vec::new(),
            notes,
        },
        None => failed(
            Status::Stale,
            format!("snapshot {}: its notes cannot be read", path.display()),
        ),
    }
}

/// Tries out the frames that forks rehearse. Those without an answer there are left out.
fn try_warm(program: &Arc<Program>, warmup: &Plan) -> Result<Vec<Tried>, BootError> {
    let rehearsed = warmup.rehearsed();
    let requests: Vec<_> = rehearsed.iter().map(|(_, r, _)| r.clone()).collect();
    // What did not run before is asked for its answers.
    let runs = match rehearsed.iter().all(|(.., warm_ns)| *warm_ns == 0) {
        true => 1,
        false => TRIAL_RUNS,
    };
    let trials = try_out(program, &requests, runs)?;
    let both = rehearsed.into_iter().zip(trials);
    Ok(both
        .filter_map(|((entry, _, warm_ns), trial)| {
            let mut trial = trial?;
            Some(Tried {
                entry,
                warm_ns,
                // The program would keep the answers for as long as it lives.
                failed: tells_of_an_error(&std::mem::take(&mut trial.answer)),
                trial,
            })
        })
        .collect())
}

/// The frames that failed at last in the warm-up, and fail in a fork of its snapshot too.
fn try_failing(program: &Arc<Program>, warmup: &Plan) -> Result<Vec<usize>, BootError> {
    let (entries, requests): (Vec<_>, Vec<_>) = warmup.failing().into_iter().unzip();
    if requests.is_empty() {
        return Ok(entries);
    }
    let trials = try_out(program, &requests, 1)?;
    let fails = |trial: &Option<Trial>| trial.as_ref().is_none_or(|t| tells_of_an_error(&t.answer));
    let both = entries.into_iter().zip(trials);
    Ok(both
        .filter(|(_, trial)| fails(trial))
        .map(|(entry, _)| entry)
        .collect())
}

fn step(warmup: &mut Plan, last: Option<(&[u8], u64)>) -> Option<WarmupRequest> {
    if let Some((answer, ns)) = last {
        warmup.hear(answer, ns);
    }
    warmup.next()
}

/// The host's KVM, opened by the first program that needs it; a failure is not kept.
fn host() -> Result<Arc<Host>, BootError> {
    static HOST: Mutex<Option<Arc<Host>>> = Mutex::new(None);
    let mut host = HOST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(open) = &*host {
        return Ok(open.clone());
    }
    let open = Arc::new(Host::open()?);
    *host = Some(open.clone());
    Ok(open)
}

#[cfg(test)]
mod tests {
    use mayfly_pool::Spec;

    use super::*;

    #[test]
    fn a_program_without_a_file_fails_with_words_on_its_handle() {
        let spec = Spec {
            path: "/missing".into(),
            folder: "/".into(),
            ..Spec::default()
        };
        let (start, warmup) = (Start::Boot(spec), Plan::new(Vec::new()));
        let booted = BootedProgram::boot(Description { start, warmup }, None).unwrap();
        let fault = booted.wait(Duration::from_secs(20)).unwrap_err();
        // Without /dev/kvm there is another reason, and it has its own status.
        assert!(
            [Status::BootFailed, Status::Unavailable].contains(&fault.status),
            "{fault:?}"
        );
        let told = json!({ "message": fault.text, "entry": null }).to_string();
        assert_eq!(booted.text().unwrap(), told);
        assert_eq!(booted.program().unwrap_err().status, fault.status);
        assert_eq!(booted.answer(0).unwrap_err().status, fault.status);
    }
}
