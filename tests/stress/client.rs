//! Clients of an engine, and what they know by the answers that they had.

use std::collections::BTreeSet;

use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, ContainerId, NodeError, NodeName,
    NodeReport, ResourceVector, SubmitError, Threaded,
};
use capsched::sync::{Arc, AtomicBool, AtomicU64, Ordering};

use crate::books::{Apps, Seen};
use crate::scene::{LEAVES, NODES, USERS, node, spec};

/// Steps of each client, unless `CAPSCHED_STRESS_STEPS` says otherwise.
const STEPS: u32 = 400;

/// Steps of each client.
pub(crate) fn steps() -> u32 {
    let wished = std::env::var("CAPSCHED_STRESS_STEPS");
    wished.map_or(STEPS, |steps| steps.parse().unwrap())
}

/// A xorshift generator: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 40).unwrap() % n
    }
}

/// What clients know by their answers when they are done.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Nodes that are registered.
    pub(crate) nodes: BTreeSet<NodeName>,
    /// Applications that were accepted and have not ended.
    pub(crate) apps: Vec<ApplicationId>,
    /// All that were accepted.
    pub(crate) accepted: Apps,
}

impl Known {
    /// What two clients know, who have nothing in common.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.nodes.extend(other.nodes);
        self.apps.extend(other.apps);
        self.accepted.extend(other.accepted);
        self
    }

    /// Nodes and applications of a state are these.
    pub(crate) fn agree(&self, seen: &Seen) {
        assert!(seen.nodes().eq(&self.nodes), "{seen:?}, {self:?}");
        let apps: BTreeSet<_> = self.apps.iter().copied().collect();
        assert_eq!(seen.apps, apps, "applications");
    }
}

/// Whether a run is about to end. Set before the end is asked for, so that a call that is refused as
/// closed sees it.
#[derive(Debug, Default)]
pub(crate) struct Ending(AtomicBool);

impl Ending {
    pub(crate) fn announce(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A client, and what it knows by its answers. Its nodes and applications are nobody else's.
pub(crate) struct Client<'a> {
    engine: &'a Threaded,
    number: u32,
    sizes: &'static [[i64; 2]],
    random: Random,
    known: Known,
    live: Vec<ContainerId>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Answered,
    /// Refused, because the engine has ended.
    Closed,
}

impl<'a> Client<'a> {
    /// A client whose calls are drawn from its number and a seed.
    pub(crate) fn new(
        engine: &'a Threaded,
        number: u32,
        sizes: &'static [[i64; 2]],
        seed: u64,
    ) -> Self {
        let own = seed * 10 + u64::from(number);
        Self {
            engine,
            number,
            sizes,
            random: Random(own.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            known: Known::default(),
            live: Vec::new(),
        }
    }

    /// Calls so often, or until it is refused. Nobody is refused before the end, and after a refusal
    /// nobody is served.
    pub(crate) fn run(mut self, steps: u32, ending: &Ending) -> Known {
        for step in 0..steps {
            if self.call(step) == Call::Answered {
                continue;
            }
            assert!(ending.is_announced(), "a call before the end has no answer");
            let name = node(self.number, 0);
            let after = self.engine.heartbeat(name, NodeReport::AsExpected);
            assert_eq!(after, Err(NodeError::Closed));
            break;
        }
        self.known
    }

    fn call(&mut self, step: u32) -> Call {
        match self.random.below(12) {
            0 => self.add_node(),
            1 => self.remove_node(),
            2 => self.submit(step),
            3 if self.known.apps.len() > 3 => self.finish_app(),
            4..=7 if !self.known.apps.is_empty() => self.ask(),
            8 | 9 if !self.live.is_empty() => self.finish_container(),
            _ => self.report(),
        }
    }

    fn some_node(&mut self) -> NodeName {
        node(self.number, self.random.below(NODES))
    }

    /// Checks the answer of a call on a node against what this client knows of it.
    fn judge<T>(&self, name: &NodeName, answer: Result<T, NodeError>) -> Call {
        let known = self.known.nodes.contains(name);
        match answer {
            Ok(_) => assert!(known, "{name}"),
            Err(NodeError::Closed) => return Call::Closed,
            Err(error) => assert_eq!((error, known), (NodeError::Unknown(name.clone()), false)),
        }
        Call::Answered
    }

    fn add_node(&mut self) -> Call {
        let name = self.some_node();
        match self.engine.add_node(spec(name.clone())) {
            Ok(()) => assert!(self.known.nodes.insert(name.clone()), "{name} twice"),
            Err(NodeError::Closed) => return Call::Closed,
            Err(error) => {
                assert_eq!(error, NodeError::Duplicate(name.clone()));
                assert!(self.known.nodes.contains(&name), "{name}");
            }
        }
        Call::Answered
    }

    fn remove_node(&mut self) -> Call {
        let name = self.some_node();
        let call = self.judge(&name, self.engine.remove_node(name.clone()));
        if call == Call::Answered {
            self.known.nodes.remove(&name);
        }
        call
    }

    fn report(&mut self) -> Call {
        let name = self.some_node();
        let answer = self.engine.heartbeat(name.clone(), NodeReport::AsExpected);
        self.judge(&name, answer)
    }

    fn submit(&mut self, step: u32) -> Call {
        let app = ApplicationId::new(self.number * 100_000 + step + 1);
        let leaf = LEAVES[self.random.below(3) as usize];
        let user = USERS[self.random.below(2) as usize];
        match self.engine.submit(AppSpec::new(app, leaf, user)) {
            Ok(_) => {
                self.known.apps.push(app);
                self.known.accepted.insert(app, (leaf, user));
            }
            Err(error) => {
                assert_eq!(error, SubmitError::Closed);
                return Call::Closed;
            }
        }
        Call::Answered
    }

    fn finish_app(&mut self) -> Call {
        let at = self.random.below(3) as usize;
        let app = self.known.apps[at];
        match self.engine.finish_app(app) {
            Err(AppError::Closed) => return Call::Closed,
            Ok(()) => {}
            Err(error) => panic!("{app}: {error}"),
        }
        self.known.apps.swap_remove(at);
        Call::Answered
    }

    fn ask(&mut self) -> Call {
        let count = u32::try_from(self.known.apps.len()).unwrap();
        let app = self.known.apps[self.random.below(count) as usize];
        let count = u32::try_from(self.sizes.len()).unwrap();
        let size = self.sizes[self.random.below(count) as usize];
        let count = i32::try_from(self.random.below(6)).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&size), count);
        match self.engine.ask(app, AskCall::asking(vec![ask])) {
            Ok(reply) => {
                let granted = reply.allocated.iter().map(|granted| granted.container);
                self.live.extend(granted);
            }
            Err(AskError::Closed) => return Call::Closed,
            Err(error) => panic!("{app}: {error}"),
        }
        Call::Answered
    }

    /// What is not live any more cannot be separated from what is refused.
    fn finish_container(&mut self) -> Call {
        let at = self.random.below(u32::try_from(self.live.len()).unwrap());
        let id = self.live.swap_remove(at as usize);
        let _gone = self.engine.container_finished(id);
        assert!(!self.engine.container_finished(id), "{id} ended twice");
        Call::Answered
    }
}

/// A look at the ledger that shows whether it was accepted and then dropped: a refused one is dropped
/// by its caller.
struct Look {
    caller: std::thread::ThreadId,
    carried_out: bool,
    lost: Arc<AtomicU64>,
}

impl Look {
    fn carry_out(&mut self) {
        self.carried_out = true;
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        if !self.carried_out && std::thread::current().id() != self.caller {
            self.lost.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Looks at the ledger until the engine has ended or nobody else calls; how many had an answer.
pub(crate) fn look_on(
    engine: &Threaded,
    over: &Ending,
    ending: &Ending,
    lost: &Arc<AtomicU64>,
) -> u64 {
    let mut answered = 0;
    while !over.is_announced() {
        let mut look = Look {
            caller: std::thread::current().id(),
            carried_out: false,
            lost: Arc::clone(lost),
        };
        let answer = engine.inspect(move |_| look.carry_out());
        if answer.is_err() {
            assert!(ending.is_announced(), "a look before the end has no answer");
            break;
        }
        answered += 1;
        std::thread::yield_now();
    }
    answered
}
