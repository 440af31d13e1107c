//! Several processes over one store: the leader is killed, members of the store are killed, and connections are cut.

use std::io::Write;

use super::store_server::{Kind, Link, StoreServer};
use super::*;

/// What is done to the processes and to what is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The leader is killed.
    Leader,
    /// A member of the store is killed, and started again a little later.
    Member,
    /// The leader's connection is closed and refused, or passes nothing, for a while.
    Connection,
}

/// A process with its own way to the store.
struct Contender {
    spawned: Spawned,
    link: Link,
    /// A line that was read and not looked at.
    unread: Option<String>,
}

impl Contender {
    fn line(&mut self) -> Option<String> {
        self.unread.take().or_else(|| self.spawned.line())
    }

    /// Waits until the process follows the leader, or leads.
    fn await_following(mut self) -> Self {
        self.unread = self.spawned.line();
        self
    }
}

/// When a process began to lead and was ready, by the clock's ms.
#[derive(Clone, Copy, Debug, Default)]
struct Takeover {
    leads_ms: u64,
    ready_ms: u64,
}

/// A fault under way.
struct Harm {
    began_ms: u64,
    lasts: Duration,
}

/// How a leader came through a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    GoesOn,
    Ended,
}

struct Trial {
    server: StoreServer,
    dir: tempfile::TempDir,
    clock: SystemClock,
    moments: Moments,
    lives: Lives,
    /// From a fault to a next leader that is ready, in ms.
    failovers: Vec<u64>,
    /// From a fault to that leader's lead, in ms.
    leads: Vec<u64>,
    /// From its lead until it is ready, in ms.
    starts: Vec<u64>,
    /// The longest time between two answers of a leader that goes on, in ms.
    pauses: Vec<u64>,
    /// Leaders that lost the lead without a fault of ours.
    by_themselves: u32,
    /// What ends the last fault.
    heals: Option<thread::JoinHandle<()>>,
}

impl Trial {
    fn over(server: StoreServer) -> Self {
        Self {
            server,
            dir: tempfile::tempdir().unwrap(),
            clock: SystemClock::new(),
            moments: Moments::seeded(),
            lives: Lives::default(),
            failovers: Vec::new(),
            leads: Vec::new(),
            starts: Vec::new(),
            pauses: Vec::new(),
            by_themselves: 0,
            heals: None,
        }
    }

    fn contender(&self) -> Contender {
        let link = self.server.link();
        let address = link.address("kills");
        Contender {
            spawned: spawn(self.dir.path(), Some(&address)),
            link,
            unread: None,
        }
    }

    /// Waits until a process leads and is ready. Nothing where it did not come so far.
    fn await_ready(&mut self, of: &mut Contender, run: &mut Run) -> Option<Takeover> {
        let mut takeover = Takeover::default();
        while let Some(line) = of.line() {
            if line == "leads" {
                takeover.leads_ms = self.clock.now_ms();
                let mut input = of.spawned.process.stdin.take().unwrap();
                // A process that has ended reads nothing.
                let _ = writeln!(input, "go");
            }
            self.lives.known.take(run, &line);
            if run.ready {
                takeover.ready_ms = self.clock.now_ms();
                return Some(takeover);
            }
        }
        None
    }

    /// Counts a failover that began at a time.
    fn count(&mut self, began_ms: u64, of: Takeover) {
        self.failovers.push(of.ready_ms.saturating_sub(began_ms));
        self.leads.push(of.leads_ms.saturating_sub(began_ms));
        self.starts.push(of.ready_ms.saturating_sub(of.leads_ms));
    }

    /// Does harm to a leader that is ready.
    fn harm(&mut self, leader: &mut Contender, fault: Fault) -> Harm {
        if let Some(heals) = self.heals.take() {
            heals.join().unwrap();
        }
        let began_ms = self.clock.now_ms();
        let lasts = Duration::from_millis(20 + self.moments.next(2_000));
        self.heals = match fault {
            Fault::Leader => {
                // One that has just ended by itself cannot be killed.
                let _ = leader.spawned.process.kill();
                None
            }
            Fault::Member => {
                let member = usize::try_from(self.moments.next(64)).unwrap();
                Some(self.server.restart(member, lasts))
            }
            Fault::Connection => Some(leader.link.harm(self.moments.next(2) == 0, lasts)),
        };
        Harm { began_ms, lasts }
    }

    /// Follows a leader from a fault on, until it answers after the end of the fault or has ended.
    fn follow(&mut self, leader: &Contender, run: &mut Run, harm: &Harm) -> Outcome {
        let over_ms = harm.began_ms + u64::try_from(harm.lasts.as_millis()).unwrap();
        let (mut last_ms, mut pause) = (harm.began_ms, 0);
        while let Some(line) = leader.spawned.line() {
            let now_ms = self.clock.now_ms();
            if line.starts_with("submitted ") {
                pause = pause.max(now_ms.saturating_sub(last_ms));
                last_ms = now_ms;
            }
            self.lives.known.take(run, &line);
            if last_ms > over_ms {
                self.pauses.push(pause);
                return Outcome::GoesOn;
            }
        }
        Outcome::Ended
    }

    /// Takes the last lines of a leader that is gone, for those that follow.
    fn bury(&mut self, leader: Contender, mut run: Run) {
        leader.spawned.end(&mut self.lives.known, &mut run);
        self.lives.take(&run);
        self.lives.known.write(self.dir.path());
    }

    /// Does harm so many times, with a standby beside each leader.
    fn run(&mut self, faults: u32, fault: Fault) {
        let (mut leader, mut standby) = (self.contender(), None);
        let (mut run, mut began_ms, mut done) = (Run::default(), None, 0);
        while done < faults {
            let takeover = match run.ready {
                true => None,
                false => self.await_ready(&mut leader, &mut run),
            };
            if let (Some(began), Some(takeover)) = (began_ms, takeover) {
                self.count(began, takeover);
                began_ms = None;
            }
            let mut outcome = Outcome::Ended;
            if run.ready {
                // One that follows at the time of the fault.
                let follows = standby.take();
                standby = follows.or_else(|| Some(self.contender().await_following()));
                thread::sleep(Duration::from_millis(100 + self.moments.next(500)));
                let harm = self.harm(&mut leader, fault);
                done += 1;
                if fault != Fault::Leader {
                    outcome = self.follow(&leader, &mut run, &harm);
                }
                began_ms = (outcome == Outcome::Ended).then_some(harm.began_ms);
            } else {
                self.by_themselves += 1;
            }
            if outcome == Outcome::Ended {
                let next = standby.take().unwrap_or_else(|| self.contender());
                let ended = std::mem::replace(&mut leader, next);
                self.bury(ended, std::mem::take(&mut run));
            }
        }
        self.bury(leader, run);
        if let Some(standby) = standby {
            standby
                .spawned
                .end(&mut self.lives.known, &mut Run::default());
        }
    }

    fn show(&mut self, kind: Kind, faults: u32, fault: Fault) {
        self.failovers.sort_unstable();
        self.pauses.sort_unstable();
        self.leads.sort_unstable();
        self.starts.sort_unstable();
        self.lives.show(faults);
        let of = |values: &[u64]| {
            let [p50, p99, most] = [500, 990, 1000].map(|at| quantile(values, at));
            format!(
                "{} (p50 {p50} ms, p99 {p99} ms, at most {most} ms)",
                values.len()
            )
        };
        let mut out = std::io::stderr().lock();
        let _ = writeln!(
            out,
            "{kind:?}, {fault:?}: failovers {}, of these until the lead {}, from there until ready {}; leaders that went on \
             {}; lost without a fault {}",
            of(&self.failovers),
            of(&self.leads),
            of(&self.starts),
            of(&self.pauses),
            self.by_themselves
        );
    }
}

/// Does harm over each store that is installed, with so many members; `KILLS` says how often.
fn check(fault: Fault, members: usize) {
    StoreServer::over_each(members, |kind, server| {
        let faults = u32::try_from(number("KILLS", 6)).unwrap();
        let mut trial = Trial::over(server);
        trial.run(faults, fault);
        trial.show(kind, faults, fault);
        let came = trial.failovers.len() + trial.pauses.len();
        assert!(came > 0, "no fault was survived over {kind:?}");
    });
}

#[test]
fn nothing_is_lost_or_doubled_when_the_leader_is_killed() {
    check(Fault::Leader, 1);
}

#[test]
fn nothing_is_lost_or_doubled_when_the_store_is_killed() {
    check(Fault::Member, 1);
}

#[test]
fn nothing_is_lost_or_doubled_when_a_member_of_the_store_is_killed() {
    check(Fault::Member, 3);
}

#[test]
fn nothing_is_lost_or_doubled_when_a_connection_is_cut() {
    check(Fault::Connection, 1);
}
