//! The threads that make connections: one that waits for orders, and one that runs a task for each connection.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use mayfly_pool::Link;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};

use crate::outgoing::carry::{Target, carry};
use crate::outgoing::{Bounds, Counts, Place};

/// Most threads that ask the host for addresses of names.
const RESOLVERS: usize = 8;

/// What is wanted of the threads that make connections.
#[derive(Debug)]
pub(super) enum Order {
    Dial(Target, Arc<Link>, Place),
    /// There is something new of a program on the link of this number.
    Look(u64),
    /// The task of the link of this number has ended.
    Over(u64),
    End,
}

/// Starts the threads. They end with [`Order::End`].
pub(super) fn start(bounds: Bounds, counts: &Arc<Counts>) -> io::Result<Sender<Order>> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVERS)
        .build()?;
    let (orders, told) = channel();
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    std::thread::Builder::new()
        .name("mayfly-outgoing".into())
        .spawn(move || {
            // Whether it was told or its teller is gone, it is the end.
            let _ = runtime.block_on(ended);
            // A name that is being asked for need not be waited for.
            runtime.shutdown_background();
        })?;
    let dialer = Dialer {
        handle,
        bounds,
        counts: counts.clone(),
        orders: orders.clone(),
        tasks: HashMap::new(),
    };
    std::thread::Builder::new()
        .name("mayfly-dialer".into())
        .spawn(move || {
            dialer.work(&told);
            drop(end);
        })?;
    Ok(orders)
}

/// The thread that waits for orders.
struct Dialer {
    handle: Handle,
    bounds: Bounds,
    counts: Arc<Counts>,
    orders: Sender<Order>,
    /// The tasks by their links' numbers.
    tasks: HashMap<u64, Arc<Notify>>,
}

impl Dialer {
    fn work(mut self, told: &Receiver<Order>) {
        while let Ok(order) = told.recv() {
            match order {
                Order::Dial(target, link, place) => self.dial(target, link, place),
                Order::Look(number) => {
                    if let Some(task) = self.tasks.get(&number) {
                        task.notify_one();
                    }
                }
                Order::Over(number) => drop(self.tasks.remove(&number)),
                Order::End => return,
            }
        }
    }

    fn dial(&mut self, target: Target, link: Arc<Link>, place: Place) {
        let news = Arc::new(Notify::new());
        let number = link.number();
        self.tasks.insert(number, news.clone());
        let (bounds, counts, orders) = (self.bounds, self.counts.clone(), self.orders.clone());
        self.handle.spawn(async move {
            carry(target, &link, &news, bounds, &counts).await;
            drop((link, place));
            // Nobody hears it at the end.
            drop(orders.send(Order::Over(number)));
        });
    }
}
