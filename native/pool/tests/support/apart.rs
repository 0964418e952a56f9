//! Two programs of one base with random secrets, and a search of every page for them.
//!
//! ```text
//!                                   own secret of its start   own secret of a request   any of another program, living or gone
//! base: its file, a machine         -                         -                         no
//! program: its delta                found                     no                        no
//! machine, before its reset         found                     found                     no
//! machine, after its reset          found                     no                        no
//! ```

use std::collections::hash_map::RandomState;
use std::fmt::Debug;
use std::hash::BuildHasher;
use std::sync::Arc;

use mayfly_pool::Program;

use super::rounds::rounds;
use super::support::{Client, PATIENCE, frame, text};

/// Random text of 32 bytes; both halves of it are searched for, as the end of a page may part it once.
#[derive(Clone, PartialEq, Eq)]
struct Secret(String);

impl Secret {
    fn draw() -> Secret {
        let draw = || RandomState::new().hash_one(0);
        Secret(format!("{:016x}{:016x}", draw(), draw()))
    }

    /// As UTF-8 and as UTF-16.
    fn forms(&self) -> impl Iterator<Item = Vec<u8>> {
        let narrow = [&self.0[..16], &self.0[16..]].map(|half| half.as_bytes().to_vec());
        let wide = narrow
            .clone()
            .map(|half| half.iter().flat_map(|byte| [*byte, 0]).collect());
        narrow.into_iter().chain(wide)
    }
}

/// All secrets that there ever were, and how to find them.
#[derive(Default)]
struct Secrets {
    all: Vec<Secret>,
    /// What to look for, and whose it is.
    forms: Vec<(Vec<u8>, usize)>,
}

impl Secrets {
    fn draw(&mut self) -> Secret {
        let secret = Secret::draw();
        self.forms
            .extend(secret.forms().map(|form| (form, self.all.len())));
        self.all.push(secret.clone());
        secret
    }

    /// Asserts that the pages that `visit` shows hold these secrets and no others.
    fn assert_found(
        &self,
        place: &str,
        wanted: &[&Secret],
        visit: impl FnOnce(&mut dyn FnMut(u64, &[u8])) -> mayfly_vmm::Result<()>,
    ) {
        let mut filter = vec![false; 1 << 16];
        for (form, _) in &self.forms {
            filter[usize::from(u16::from_le_bytes([form[0], form[1]]))] = true;
        }
        let (mut pages, mut found) = (0, vec![None; self.all.len()]);
        visit(&mut |frame, page| {
            pages += 1;
            for (at, pair) in page.windows(2).enumerate() {
                if filter[usize::from(u16::from_le_bytes([pair[0], pair[1]]))] {
                    let here = self.forms.iter().filter(|(form, _)| page[at..].starts_with(form));
                    here.for_each(|(_, whose)| found[*whose] = Some(frame));
                }
            }
        })
        .unwrap();
        assert!(pages > 0, "{place} has no page");
        for (secret, frame) in self.all.iter().zip(found) {
            match (wanted.contains(&secret), frame) {
                (true, None) => panic!("{place}: its own secret is nowhere in {pages} pages"),
                (false, Some(frame)) => panic!("{place}: page {frame:#x} holds a secret that is not its own"),
                _ => {}
            }
        }
    }

    /// Asserts that a table shows no secret but those, neither as text nor as a list of bytes.
    fn assert_untold(&self, place: &str, allowed: &[&Secret], table: &dyn Debug) {
        let printed = format!("{table:?}");
        for secret in self.all.iter().filter(|secret| !allowed.contains(secret)) {
            let bytes = format!("{:?}", secret.0.as_bytes());
            let told = printed.contains(&secret.0) || printed.contains(bytes.trim_matches(['[', ']']));
            assert!(!told, "{place} tells a secret that is not its own");
        }
    }
}

/// A program of the base, and a machine of it.
struct Tenant {
    program: Arc<Program>,
    client: Client,
    kept: Secret,
}

impl Tenant {
    /// Asserts what the machine holds.
    fn assert_holds(&mut self, place: &str, secrets: &Secrets, wanted: &[&Secret]) {
        let instance = &mut self.client.instance;
        secrets.assert_found(place, wanted, |visit| instance.machine().visit_frames(visit));
        for (name, table) in instance.tables().iter().chain(&instance.snapshot_tables()) {
            secrets.assert_untold(&format!("{place}: {name}"), wanted, table);
        }
    }

    /// A request that brings a secret, which the program keeps until its reset.
    fn give(&mut self, secrets: &mut Secrets) {
        let given = secrets.draw();
        let request = frame(&format!("keep {}", given.0), b"");
        let outcome = self.client.run(request, PATIENCE).unwrap();
        assert_eq!(text(&outcome), "kept");
        let kept = self.kept.clone();
        self.assert_holds("a machine before its reset", secrets, &[&kept, &given]);
        self.client.instance.reset().unwrap();
        self.client.instance.check().unwrap();
    }
}

/// A base, and programs that it loads.
pub struct Apart<'a> {
    pub base: &'a Arc<Program>,
    /// A program that keeps a secret from its start, and that of a request `keep SECRET`, which it answers with `kept`.
    pub load: &'a dyn Fn(&str) -> Arc<Program>,
    /// Requests and their answers, for what else a program may do.
    pub asks: &'a [(&'a str, &'a str)],
}

impl Apart<'_> {
    /// Asserts that two programs never see each other's secrets: while both answer, and when one was dropped and is loaded anew.
    pub fn prove(&self) {
        let mut secrets = Secrets::default();
        let mut tenants = vec![self.tenant(&mut secrets), self.tenant(&mut secrets)];
        self.meet(&mut tenants, &mut secrets);
        for _ in 0..rounds(2) {
            drop(tenants.remove(0));
            self.meet(&mut tenants, &mut secrets);
            tenants.push(self.tenant(&mut secrets));
            self.meet(&mut tenants, &mut secrets);
        }
    }

    fn tenant(&self, secrets: &mut Secrets) -> Tenant {
        let kept = secrets.draw();
        let program = (self.load)(&kept.0);
        Tenant {
            client: Client::new(&program),
            program,
            kept,
        }
    }

    /// Asks each of them, then searches everything.
    fn meet(&self, tenants: &mut [Tenant], secrets: &mut Secrets) {
        for tenant in &mut *tenants {
            tenant.give(secrets);
            for (what, want) in self.asks {
                assert_eq!(text(&tenant.client.ask(what)), *want, "{what}");
            }
        }
        for tenant in tenants {
            let kept = tenant.kept.clone();
            tenant.assert_holds("a machine after its reset", secrets, &[&kept]);
            secrets.assert_found("a delta", &[&kept], |visit| tenant.program.visit_own_pages(visit));
        }
        secrets.assert_found("the base", &[], |visit| self.base.visit_own_pages(visit));
        let mut fork = Client::new(self.base);
        secrets.assert_found("a machine of the base", &[], |visit| {
            fork.instance.machine().visit_frames(visit)
        });
    }
}
