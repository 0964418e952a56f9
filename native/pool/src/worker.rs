//! One thread of a pool: it takes a job, runs it in its machine of the program, resets the machine.

mod complete;
pub(crate) mod job;
mod restart_budget;
pub(crate) mod shared;
pub(crate) mod stats;
mod stock;
pub(crate) mod supervisor;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mayfly_linux::kernel::Kernel;
use mayfly_vmm::{Alarm, HostResources, monotonic_ns};

use crate::channel::Channel;
use crate::confined::{Listed, confine_vm_thread};
use crate::outcome::{Bound, Outcome};
use crate::program::Program;
use crate::program::instance::away::AwayRequest;
use crate::program::instance::{Asks, Course, Instance, Ran, Reached};
use crate::queue::Work;
use crate::sched::scheduler;
use crate::wait::event::Pause;
use crate::worker::complete::complete;
use crate::worker::job::Completion;
use crate::worker::shared::{Order, Shared, Timed, WorkerSlot};
use crate::worker::stock::{Machine, Stock};

/// What is known of a request on its way, beside its machine.
struct Task {
    id: u64,
    program: Arc<Program>,
    /// The number of its flow; 0: none.
    flow: u32,
    keep: bool,
    check: bool,
    queue_ns: u64,
    /// Of one that may be parked.
    channel: Option<Arc<Channel>>,
}

/// A request under way, in its machine.
struct Begun<'a> {
    machine: Box<Machine<'a>>,
    task: Task,
    course: Course,
}

/// A request that waits for the host, or gave way.
enum Parked<'a> {
    Here(Begun<'a>),
    /// Another has its machine.
    Away(Box<AwayRequest>, Task, Course),
}

/// A worker's machines, by program. Its thread may be stopped by a crash anywhere: no destructor runs then.
struct Worker<'a> {
    shared: &'a Shared,
    slot: &'a WorkerSlot,
    index: usize,
    /// A program is here from its first machine until it is retired.
    machines: BTreeMap<u64, Stock<'a>>,
    /// By the numbers of their jobs.
    parked: BTreeMap<u64, Parked<'a>>,
    _listed: Listed<'a>,
    alarm: Alarm,
}

/// Opens the channel of a job that said something first, or gives the bound over which one more is.
fn open_late(shared: &Shared, slot: &WorkerSlot, task: &Task) -> Result<(), Bound> {
    shared.queue.open(task.id, (task.program.id(), task.flow))?;
    if let Some(channel) = &task.channel {
        slot.channels().insert(task.id, channel.clone());
    }
    Ok(())
}

/// The body of a worker's thread, from its start to the end of the queue.
pub(crate) fn work(shared: &Shared, index: usize) {
    let Some(slot) = shared.slots.get(index) else {
        return;
    };
    scheduler().begin_thread();
    // The timer is made before the filter, which lets it be set only.
    let alarm = Alarm::new().and_then(|alarm| confine_vm_thread(false).map(|()| alarm));
    let mut worker = match alarm {
        Ok(alarm) => Worker {
            shared,
            slot,
            index,
            machines: BTreeMap::new(),
            parked: BTreeMap::new(),
            _listed: slot.resources.list(HostResources::of_alarm(&alarm)),
            alarm,
        },
        Err(e) => return refuse_all(shared, index, &e.to_string()),
    };
    while let Some(next) = shared.queue.take(index) {
        match next {
            Work::Job(timed) => {
                worker.run(timed);
                slot.did();
            }
            Work::Parked(job) => worker.go_on(job),
            Work::Order(Order::Retire(program)) => {
                drop(worker.machines.remove(&program));
                slot.programs().remove(&program);
            }
            Work::Order(Order::Prepare(program)) => {
                let _ = worker.prepare(&program);
                shared.queue.order_to(index + 1, Order::Prepare(program));
            }
            Work::Order(Order::DropIdle(least)) => {
                worker
                    .machines
                    .values_mut()
                    .for_each(|stock| stock.drop_idle(least));
            }
            // A failure shows again, with its reason, when a request needs the machine.
            Work::Order(Order::Refill(program)) => drop(worker.prepare(&program)),
        }
    }
}

/// Answers every job with a failure: the worker could not start.
fn refuse_all(shared: &Shared, worker: usize, why: &str) {
    while let Some(next) = shared.queue.take(worker) {
        if let Work::Job(timed) = next {
            if let Some(channel) = &timed.job.channel {
                channel.end();
            }
            shared.complete(Completion::failed(timed.job.id, worker, why.into()));
        }
    }
}

impl<'a> Worker<'a> {
    /// A machine of a program that waits, one that a parked request leaves, or another one.
    fn machine(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<Box<Machine<'a>>> {
        while let Some(stock) = self.machines.get_mut(&program.id()) {
            if let Some(machine) = stock.take() {
                return Ok(machine);
            }
            let Some(job) = stock.next_to_leave() else {
                break;
            };
            if let Some(machine) = self.empty(job) {
                return Ok(machine);
            }
        }
        self.fork(program)
    }

    /// Takes a parked request out of its machine. `None`: it has to stay, or the machine is lost.
    fn empty(&mut self, job: u64) -> Option<Box<Machine<'a>>> {
        let begun = match self.parked.remove(&job)? {
            Parked::Here(begun) => begun,
            away @ Parked::Away(..) => {
                self.parked.insert(job, away);
                return None;
            }
        };
        let Begun {
            mut machine,
            task,
            course,
        } = begun;
        let stock = self.machines.get_mut(&task.program.id());
        let spare: Option<Kernel> = stock.and_then(Stock::take_kernel);
        let Ok(Some(away)) = machine.instance.take_out(&course, spare) else {
            let here = Begun {
                machine,
                task,
                course,
            };
            self.parked.insert(job, Parked::Here(here));
            return None;
        };
        let (check, program) = (task.check, task.program.id());
        self.parked
            .insert(job, Parked::Away(Box::new(away), task, course));
        if let Err(e) = machine.instance.clean_emptied(check) {
            eprintln!(
                "mayfly: a machine of worker {} is lost, its reset failed: {e}",
                self.index
            );
            self.shared.stats().lost += 1;
            return None;
        }
        self.shared.stats().emptied += 1;
        if let Some(stock) = self.machines.get_mut(&program) {
            stock.was_emptied();
        }
        Some(machine)
    }

    /// Finds a machine for a request that left its own.
    fn put_in(
        &mut self,
        away: AwayRequest,
        task: &Task,
        course: &mut Course,
    ) -> mayfly_vmm::Result<Box<Machine<'a>>> {
        let id = task.program.id();
        let is_retired = !self.machines.contains_key(&id);
        let mut machine = self.machine(&task.program)?;
        let kernel = machine.instance.put_in(away, course)?;
        if is_retired {
            // It is the last one, and nobody's afterwards.
            self.machines.remove(&id);
            self.slot.programs().remove(&id);
        } else if let Some(stock) = self.machines.get_mut(&id) {
            stock.keep_kernel(kernel);
        }
        Ok(machine)
    }

    fn fork(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<Box<Machine<'a>>> {
        let mut instance = Instance::new(program)?;
        if let Some(links) = instance.open_outside(self.shared.requests()) {
            self.slot.add_links(&links);
        }
        let mut machine = Machine::new(instance, |held| self.slot.resources.list(held));
        scheduler().pause();
        machine.instance.rehearse(&mut self.alarm)?;
        self.shared.stats().forks += 1;
        self.slot.programs().insert(program.id(), Arc::downgrade(program));
        self.machines.entry(program.id()).or_default().was_made();
        // Or a flow with many parked requests would count as slow, and leave the other workers to its neighbours.
        self.shared.queue.begin_anew(self.index);
        Ok(machine)
    }

    /// Forks a program ahead of its next request.
    fn prepare(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<()> {
        let machine = self.machine(program)?;
        self.put_back(program.id(), machine);
        Ok(())
    }

    /// Keeps a clean machine for the next request, unless its program was retired or has enough of them.
    fn put_back(&mut self, program: u64, machine: Box<Machine<'a>>) {
        if let Some(stock) = self.machines.get_mut(&program) {
            stock.put_back(machine);
        }
    }

    /// Runs a job until it is over, is parked or gives way.
    fn run(&mut self, timed: Timed) {
        let Timed { job, submitted } = timed;
        let queue_ns = monotonic_ns().saturating_sub(submitted);
        let mut machine = match self.machine(&job.program) {
            Ok(machine) => machine,
            Err(e) => {
                if let Some(channel) = &job.channel {
                    channel.end();
                }
                let mut completion = Completion::failed(job.id, self.index, e.to_string());
                completion.stats.queue_ns = queue_ns;
                return self.shared.complete(completion);
            }
        };
        #[cfg(test)]
        crate::injected::act_on(&job.frame);
        let task = Task {
            id: job.id,
            program: job.program,
            flow: job.flow,
            keep: job.keep,
            check: job.check,
            queue_ns,
            channel: job.channel,
        };
        if task.program.service.is_some() && task.channel.is_none() {
            let ran = machine.instance.run(job.frame, &mut self.alarm, job.timeout_ns);
            return self.end(machine, task, ran);
        }
        if let Some(channel) = task.channel.as_ref().filter(|channel| !channel.is_late()) {
            self.slot.channels().insert(job.id, channel.clone());
        }
        if let Some(bell) = machine.instance.bell() {
            bell.serve(job.id);
        }
        let (course, reached) = machine.instance.begin(
            job.frame,
            &mut self.alarm,
            task.channel.as_ref(),
            job.timeout_ns,
            &Asks {
                tell: &|| self.shared.queue.tell_said(task.id),
                open: &|| open_late(self.shared, self.slot, &task),
                is_wanted: &|at| is_wanted(self.shared, self.index, &task, at),
            },
        );
        let begun = Begun {
            machine,
            task,
            course,
        };
        self.take_in(begun, reached);
    }

    /// Goes on with a job that was parked or gave way.
    fn go_on(&mut self, job: u64) {
        let mut begun = match self.parked.remove(&job) {
            None => return,
            Some(Parked::Here(begun)) => {
                if let Some(stock) = self.machines.get_mut(&begun.task.program.id()) {
                    stock.goes_on(job);
                }
                begun
            }
            Some(Parked::Away(away, task, mut course)) => match self.put_in(*away, &task, &mut course) {
                Ok(machine) => Begun {
                    machine,
                    task,
                    course,
                },
                Err(e) => return self.fail(&task, &course, &e),
            },
        };
        let Begun {
            machine,
            task,
            course,
        } = &mut begun;
        let (shared, slot, index) = (self.shared, self.slot, self.index);
        let asks = Asks {
            tell: &|| shared.queue.tell_said(job),
            open: &|| open_late(shared, slot, task),
            is_wanted: &|at| is_wanted(shared, index, task, at),
        };
        let reached = machine.instance.go_on(&mut self.alarm, course, &asks);
        self.take_in(begun, reached);
    }

    /// Ends a job, parks it or lets it give way.
    fn take_in(&mut self, mut begun: Begun<'a>, reached: Reached) {
        let instance = &mut begun.machine.instance;
        let id = begun.task.id;
        match reached {
            Reached::Waits { wake, deaf } => {
                let (bell, channel) = (instance.bell().cloned(), begun.task.channel.clone());
                let held = match instance.held() {
                    Ok(held) => held,
                    Err(e) => return self.conclude(begun, Err(e)),
                };
                if let Err(bound) = self.shared.queue.park(self.index, id, wake, held) {
                    return self.conclude(begun, Ok(Outcome::Refused(bound)));
                }
                // Its thread's time slice is as usual again.
                instance.rest();
                if self.shared.ends.load(Ordering::Acquire)
                    && let Some(channel) = &channel
                {
                    channel.call_off();
                }
                if !begun.task.keep
                    && let Some(stock) = self.machines.get_mut(&begun.task.program.id())
                {
                    stock.rests(id);
                }
                self.parked.insert(id, Parked::Here(begun));
                // Behind it: whoever says something from now on finds it parked.
                let is_told = channel.is_some_and(|channel| channel.park(deaf));
                if is_told || bell.is_some_and(|bell| bell.calls()) {
                    self.shared.queue.go_on(id);
                }
            }
            Reached::GivesWay => {
                instance.rest();
                instance.leave_thread();
                self.parked.insert(id, Parked::Here(begun));
                self.shared.queue.give_way(self.index, id);
            }
            Reached::End(outcome) => self.conclude(begun, outcome),
        }
    }

    /// Ends a job whose machine was not to be had again.
    fn fail(&mut self, task: &Task, course: &Course, why: &mayfly_vmm::Error) {
        self.end_channel(task, course);
        let mut completion = Completion::failed(task.id, self.index, why.to_string());
        completion.stats.queue_ns = task.queue_ns + course.gave_way_ns;
        self.shared.complete(completion);
    }

    fn end_channel(&self, task: &Task, course: &Course) {
        if let Some(channel) = &task.channel {
            channel.end();
            if !channel.is_late() || course.said > 0 {
                self.slot.channels().remove(&task.id);
            }
        }
    }

    /// Ends a job that was begun.
    fn conclude(&mut self, begun: Begun<'a>, outcome: mayfly_vmm::Result<Outcome>) {
        let Begun {
            mut machine,
            mut task,
            course,
        } = begun;
        self.end_channel(&task, &course);
        if let Some(bell) = machine.instance.bell() {
            bell.serve(0);
        }
        task.queue_ns += course.gave_way_ns;
        let ran = machine.instance.ran(outcome, &course);
        self.end(machine, task, ran);
    }

    /// Completes a job, and readies its machine for the next one. One that is lost is forked anew.
    fn end(&mut self, mut machine: Box<Machine<'a>>, task: Task, ran: Ran) {
        let usable = complete(
            self.shared,
            self.index,
            &task,
            ran,
            &mut machine.instance,
            &mut self.alarm,
        );
        machine.instance.rest();
        machine.kept = task.keep;
        if usable {
            return self.put_back(task.program.id(), machine);
        }
        drop(machine);
        if self.machines.contains_key(&task.program.id()) {
            // Another takes milliseconds, which a neighbour need not wait for.
            scheduler().pause();
            // A failure shows again, with its reason, when a request needs the machine.
            let _ = self.prepare(&task.program);
        }
    }
}

/// Whether a job is to give way. One that keeps its program's state does not: the next one needs its machine.
fn is_wanted(shared: &Shared, index: usize, task: &Task, at: Pause) -> bool {
    !task.keep && shared.queue.is_wanted(index, at)
}
