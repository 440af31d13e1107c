//! The limit probe: a bare pipeline, against which every headline figure is quoted.
//!
//! One proposer goes round the nodes and hands records over one by one, through a bounded queue of
//! crossbeam; one committer checks node, application, user and a chain of four queues, charges all
//! of them and logs 32 bytes. Nothing is ordered, no limit is computed and nothing is delivered, so the
//! figure is a ceiling for the design on this machine and not a forecast.

use anyhow::{Result, bail, ensure};
use capsched::sync::{AtomicBool, Ordering, spin_loop, yield_now};
use capsched::time::{Clock, SystemClock};
use crossbeam_queue::ArrayQueue;
use serde::Serialize;

use crate::ModeName;
use crate::handoff;
use crate::limits;
use crate::machine;
use crate::output::say;
use crate::record::Origin;
use crate::results;
use crate::rounds::{self, How};
use crate::shape::{Run, Shape};
use crate::stats::{Spread, grouped};

/// Proposals that may wait.
const QUEUE: usize = 1024;

/// What identifies the records of this measurement.
pub(crate) const DESIGN: &str = "limit probe: one by one, four queues, no policy";

/// Looks for a record before the core is offered to others.
const LOOKS: u32 = 1000;

/// Commits of a measurement at least; small clusters are filled several times.
const ENOUGH: u64 = 1_000_000;

/// Arguments of `perf probe`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shapes whose nodes and containers are taken, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "S1,S3")]
    shapes: Vec<String>,
    /// Measured rounds of each shape: the probe, the engine in global mode with one proposer, and
    /// the mere hand-over in batches take turns.
    #[arg(long, default_value_t = 5, value_parser = limits::rounds())]
    rounds: usize,
    /// Prints one JSON object for each shape and design.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    shape: String,
    design: &'static str,
    #[serde(flatten)]
    per_second: Spread,
    /// What the engine reached in the same rounds, as a share of this, in percent.
    ours_percent: f64,
}

/// Amounts of memory and vcores.
type Amounts = [i64; 2];

/// One container on one node.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    app: u32,
    node: u32,
    size: Amounts,
}

/// What an application, a user or a queue uses, and may.
#[derive(Clone, Copy, Debug)]
struct Account {
    used: Amounts,
    most: Amounts,
}

/// An application: what it still asks, whose it is and where it stands.
#[derive(Clone, Copy, Debug)]
struct App {
    pending: u64,
    user: usize,
    leaf: usize,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shapes = Shape::all(&args.shapes)?;
    for shape in &shapes {
        ensure!(
            matches!(shape.run, Run::Fill { .. }),
            "{}: the probe fills a cluster, which this workload does not",
            shape.name
        );
        let how = How::of(ModeName::Global, 1);
        let mut rates: [Vec<u64>; 3] = Default::default();
        for round in 0..=args.rounds {
            let engine = rounds::whole(shape, how)?;
            let engine = rounds::rate(engine.counted, engine.elapsed_ns);
            let found = [measure(shape)?, engine, handoff::measure(shape)?];
            for (rates, found) in rates.iter_mut().zip(found) {
                if round > 0 {
                    rates.push(found);
                }
            }
        }
        let [probe, ours, batched] = rates.map(|rates| Spread::of(&rates).unwrap_or_default());
        for (design, found) in [(DESIGN, &probe), (handoff::DESIGN, &batched)] {
            print_ceiling(args, shape, design, found, &ours)?;
        }
    }
    Ok(())
}

fn print_ceiling(
    args: &Args,
    shape: &Shape,
    design: &'static str,
    found: &Spread,
    ours: &Spread,
) -> Result<()> {
    #[expect(
        clippy::float_arithmetic,
        clippy::cast_precision_loss,
        reason = "a share to be read"
    )]
    let ours_percent = (ours.median as f64 * 1000.0 / found.median.max(1) as f64).round() / 10.0;
    let line = Line {
        origin: Origin::now(),
        kind: "probe",
        shape: shape.name.clone(),
        design,
        per_second: *found,
        ours_percent,
    };
    if args.record {
        results::append(&results::of_this_machine(), &line)?;
    }
    if args.json {
        say!("{}", serde_json::to_string(&line)?);
        return Ok(());
    }
    say!(
        "{}: {} {}/s ({} to {}); ours {}/s ({} to {}), {ours_percent} %",
        line.shape,
        design,
        grouped(found.median),
        grouped(found.min),
        grouped(found.max),
        grouped(ours.median),
        grouped(ours.min),
        grouped(ours.max),
    );
    Ok(())
}

/// Fills the nodes of a shape until there were enough commits; commits per second.
pub(crate) fn measure(shape: &Shape) -> Result<u64> {
    let (mut committed, mut elapsed_ns) = (0, 0);
    while committed < ENOUGH {
        let (filled, took_ns) = fill(shape)?;
        (committed, elapsed_ns) = (committed + filled, elapsed_ns + took_ns);
    }
    Ok(rounds::rate(committed, elapsed_ns))
}

/// Fills the nodes once; commits, and how long they took from the first one on, which is where the
/// clock of a measured engine starts, too.
fn fill(shape: &Shape) -> Result<(u64, u64)> {
    let [node, size] = [&shape.cluster.node, &shape.load.containers[0]].map(|v| [v[0], v[1]]);
    let nodes = vec![node; shape.cluster.nodes as usize];
    let slots = u64::try_from((node[0] / size[0]).min(node[1] / size[1]))?;
    let wanted = slots * nodes.len() as u64;
    let (queue, ended) = (ArrayQueue::new(QUEUE), AtomicBool::new(false));
    let mut committer = Committer::of(shape, nodes.clone(), wanted)?;
    let apps = u32::try_from(committer.apps.len())?;
    let elapsed_ns = std::thread::scope(|scope| {
        scope.spawn(|| {
            machine::stand_on(1);
            propose(nodes, size, apps, &queue, &ended);
        });
        let commits = scope.spawn(|| {
            machine::stand_on(0);
            committer.run(&queue)
        });
        let elapsed_ns = commits.join();
        // Relaxed: the queue itself hands everything over.
        ended.store(true, Ordering::Relaxed);
        elapsed_ns
    });
    let Ok(elapsed_ns) = elapsed_ns else {
        bail!("the probe's committer panicked");
    };
    committer.check(slots)?;
    Ok((wanted, elapsed_ns))
}

/// Goes round the nodes and the applications until the end is requested.
fn propose(
    mut nodes: Vec<Amounts>,
    size: Amounts,
    apps: u32,
    queue: &ArrayQueue<Proposal>,
    ended: &AtomicBool,
) {
    let mut app = 0;
    while !ended.load(Ordering::Relaxed) {
        for (node, free) in (0..).zip(&mut nodes) {
            if !fits(&size, free) {
                continue;
            }
            take(free, &size);
            app = (app + 1) % apps;
            let mut proposal = Proposal { app, node, size };
            while let Err(back) = queue.push(proposal) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                proposal = back;
                spin_loop();
            }
        }
    }
}

fn fits(size: &Amounts, room: &Amounts) -> bool {
    size[0] <= room[0] && size[1] <= room[1]
}

fn take(from: &mut Amounts, size: &Amounts) {
    from[0] -= size[0];
    from[1] -= size[1];
}

impl Account {
    /// Nothing used of so many containers.
    fn of(size: &Amounts, containers: i64) -> Self {
        Self {
            used: [0; 2],
            most: size.map(|amount| amount * containers),
        }
    }

    fn has_room(&self, size: &Amounts) -> bool {
        fits(
            &[self.used[0] + size[0], self.used[1] + size[1]],
            &self.most,
        )
    }

    fn charge(&mut self, size: &Amounts) {
        self.used[0] += size[0];
        self.used[1] += size[1];
    }
}

struct Committer {
    nodes: Vec<Amounts>,
    apps: Vec<App>,
    users: Vec<Account>,
    /// Each with the one above; root is its own.
    queues: Vec<(Account, usize)>,
    /// As long as the fill from the start, so that no page of it is touched anew by the clock.
    log: Vec<Record>,
    committed: usize,
}

/// What is logged of a commit: 32 bytes.
#[derive(Clone, Copy, Debug)]
struct Record {
    proposal: Proposal,
    stamp: u64,
}

impl Record {
    /// What nothing is logged as.
    const NONE: Self = Self {
        proposal: Proposal {
            app: u32::MAX,
            node: u32::MAX,
            size: [0; 2],
        },
        stamp: u64::MAX,
    };
}

impl Committer {
    fn of(shape: &Shape, nodes: Vec<Amounts>, wanted: u64) -> Result<Self> {
        let size = &shape.load.containers[0];
        let account = Account::of(&[size[0], size[1]], i64::try_from(wanted)?);
        let leaves = shape.queues.levels.iter().product::<u32>() as usize;
        // Root, two levels between, and the leaves, five to a parent at most.
        let middle = [leaves.div_ceil(25), leaves.div_ceil(5)];
        let mut queues = vec![(account, 0)];
        queues.extend((0..middle[0]).map(|_| (account, 0)));
        queues.extend((0..middle[1]).map(|at| (account, 1 + at / 5)));
        let first_leaf = queues.len();
        queues.extend((0..leaves).map(|at| (account, 1 + middle[0] + at / 5)));
        let apps = shape.load.apps as usize;
        let users = (shape.load.users as usize).min(apps);
        let app = |at: usize| App {
            pending: wanted.div_ceil(apps as u64),
            user: at % users,
            leaf: first_leaf + at % leaves,
        };
        Ok(Self {
            nodes,
            apps: (0..apps).map(app).collect(),
            users: vec![account; users],
            queues,
            log: vec![Record::NONE; usize::try_from(wanted)?],
            committed: 0,
        })
    }

    /// Commits until the log is full; how long that took from the first commit on, in ns.
    fn run(&mut self, queue: &ArrayQueue<Proposal>) -> u64 {
        let clock = SystemClock::new();
        let mut began_ns = 0;
        let mut looks = 0;
        while self.committed < self.log.len() {
            let Some(proposal) = queue.pop() else {
                looks += 1;
                if looks % LOOKS == 0 {
                    yield_now();
                } else {
                    spin_loop();
                }
                continue;
            };
            if self.holds(&proposal) {
                if self.committed == 0 {
                    began_ns = clock.now_ns();
                }
                self.apply(&proposal);
            }
        }
        clock.now_ns() - began_ns
    }

    /// Whether the log is in order and gave every node its number of containers.
    fn check(&self, slots: u64) -> Result<()> {
        let mut on_node = vec![0; self.nodes.len()];
        for (stamp, record) in (0..).zip(&self.log) {
            ensure!(record.stamp == stamp, "record {stamp} has {}", record.stamp);
            on_node[record.proposal.node as usize] += 1;
        }
        let uneven = on_node.iter().position(|&containers| containers != slots);
        ensure!(
            uneven.is_none(),
            "node {uneven:?} has not {slots} containers"
        );
        Ok(())
    }

    /// Node, application, user, and every queue of the chain.
    fn holds(&self, proposal: &Proposal) -> bool {
        let app = &self.apps[proposal.app as usize];
        let size = &proposal.size;
        let mut holds = fits(size, &self.nodes[proposal.node as usize])
            && app.pending > 0
            && self.users[app.user].has_room(size);
        let mut queue = app.leaf;
        while holds {
            let (account, above) = &self.queues[queue];
            holds = account.has_room(size);
            if *above == queue {
                break;
            }
            queue = *above;
        }
        holds
    }

    fn apply(&mut self, proposal: &Proposal) {
        let app = &mut self.apps[proposal.app as usize];
        take(&mut self.nodes[proposal.node as usize], &proposal.size);
        app.pending -= 1;
        self.users[app.user].charge(&proposal.size);
        let mut queue = app.leaf;
        loop {
            let (account, above) = &mut self.queues[queue];
            account.charge(&proposal.size);
            if *above == queue {
                break;
            }
            queue = *above;
        }
        self.log[self.committed] = Record {
            proposal: *proposal,
            stamp: self.committed as u64,
        };
        self.committed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_cluster_is_filled_and_every_queue_of_four_levels_charged() {
        let mut shape = Shape::named("S3").unwrap();
        shape.cluster.nodes = 3;
        let (committed, _) = fill(&shape).unwrap();
        let size = [shape.load.containers[0][0], shape.load.containers[0][1]];
        let nodes = vec![[shape.cluster.node[0], shape.cluster.node[1]]; 3];
        let mut committer = Committer::of(&shape, nodes, committed).unwrap();
        let mut levels = 1;
        let mut queue = committer.apps[0].leaf;
        while committer.queues[queue].1 != queue {
            queue = committer.queues[queue].1;
            levels += 1;
        }
        let proposal = Proposal {
            app: 0,
            node: 2,
            size,
        };
        assert!(committer.holds(&proposal));
        committer.apply(&proposal);
        assert_eq!((levels, committer.queues[0].0.used), (4, size));
        assert_eq!((size_of::<Record>(), committer.log[0].stamp), (32, 0));
        assert_eq!(committer.log[0].proposal.node, 2);
        committer.apps[0].pending = 0;
        assert!(!committer.holds(&proposal));
    }
}
