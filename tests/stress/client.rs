//! Clients of an engine, and what they know by the answers that they had.

use std::collections::BTreeSet;

use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, ContainerId, NodeError, NodeName,
    NodeReport, NodeSpec, ResourceVector, SubmitError, Threaded,
};
use capsched::sync::{Arc, AtomicBool, AtomicU64, Ordering};

/// Steps of each client, unless `CAPSCHED_STRESS_STEPS` says otherwise.
const STEPS: u32 = 400;

fn steps() -> u32 {
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

fn node(i: u32) -> NodeName {
    format!("n{i}:1").parse().unwrap()
}

const TOTAL: [i64; 2] = [8192, 8];

/// What a client knows by its answers when it is done.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) nodes: BTreeSet<NodeName>,
    /// Applications that were accepted and not ended by this client.
    pub(crate) apps: Vec<ApplicationId>,
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
    nodes: BTreeSet<NodeName>,
    apps: Vec<ApplicationId>,
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
    pub(crate) fn new(engine: &'a Threaded, number: u32, sizes: &'static [[i64; 2]]) -> Self {
        Self {
            engine,
            number,
            sizes,
            random: Random(0x9E37_79B9_7F4A_7C15 ^ u64::from(number)),
            nodes: BTreeSet::new(),
            apps: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Calls until it is done or refused. Nobody is refused before the end, and after a refusal
    /// nobody is served.
    pub(crate) fn run(mut self, ending: &Ending) -> Known {
        for step in 0..steps() {
            if self.call(step) == Call::Answered {
                continue;
            }
            assert!(ending.is_announced(), "a call before the end has no answer");
            let name = node(self.number * 10);
            let after = self.engine.heartbeat(name, NodeReport::AsExpected);
            assert_eq!(after, Err(NodeError::Closed));
            break;
        }
        Known {
            nodes: self.nodes,
            apps: self.apps,
        }
    }

    fn call(&mut self, step: u32) -> Call {
        match self.random.below(12) {
            0 => self.add_node(),
            1 => self.remove_node(),
            2 => self.submit(step),
            3 if self.apps.len() > 3 => self.finish_app(),
            4..=7 if !self.apps.is_empty() => self.ask(),
            8 | 9 if !self.live.is_empty() => self.finish_container(),
            _ => self.report(),
        }
    }

    fn some_node(&mut self) -> NodeName {
        node(self.number * 10 + self.random.below(4))
    }

    /// Checks the answer of a call on a node against what this client knows of it.
    fn judge<T>(&self, name: &NodeName, answer: Result<T, NodeError>) -> Call {
        let known = self.nodes.contains(name);
        match answer {
            Ok(_) => assert!(known, "{name}"),
            Err(NodeError::Closed) => return Call::Closed,
            Err(error) => assert_eq!((error, known), (NodeError::Unknown(name.clone()), false)),
        }
        Call::Answered
    }

    fn add_node(&mut self) -> Call {
        let name = self.some_node();
        let total = ResourceVector::of(&TOTAL);
        match self.engine.add_node(NodeSpec::new(name.clone(), total)) {
            Ok(()) => assert!(self.nodes.insert(name.clone()), "{name} twice"),
            Err(NodeError::Closed) => return Call::Closed,
            Err(error) => {
                assert_eq!(error, NodeError::Duplicate(name.clone()));
                assert!(self.nodes.contains(&name), "{name}");
            }
        }
        Call::Answered
    }

    fn remove_node(&mut self) -> Call {
        let name = self.some_node();
        let call = self.judge(&name, self.engine.remove_node(name.clone()));
        if call == Call::Answered {
            self.nodes.remove(&name);
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
        let leaf = ["root.a", "root.b"][self.random.below(2) as usize];
        match self.engine.submit(AppSpec::new(app, leaf, "u")) {
            Ok(_) => self.apps.push(app),
            Err(error) => {
                assert_eq!(error, SubmitError::Closed);
                return Call::Closed;
            }
        }
        Call::Answered
    }

    fn finish_app(&mut self) -> Call {
        let at = self.random.below(3) as usize;
        let app = self.apps[at];
        match self.engine.finish_app(app) {
            Err(AppError::Closed) => return Call::Closed,
            // It ended with its master.
            Ok(()) | Err(AppError::Unknown(_)) => {}
            Err(error) => panic!("{app}: {error}"),
        }
        self.apps.swap_remove(at);
        Call::Answered
    }

    fn ask(&mut self) -> Call {
        let count = u32::try_from(self.apps.len()).unwrap();
        let app = self.apps[self.random.below(count) as usize];
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
            Err(AskError::UnknownApplication(_) | AskError::MasterNotRunning(_)) => {}
            Err(error) => panic!("{app}: {error}"),
        }
        Call::Answered
    }

    /// What is not live any more cannot be told from what is refused.
    fn finish_container(&mut self) -> Call {
        let at = self.random.below(u32::try_from(self.live.len()).unwrap());
        let id = self.live.swap_remove(at as usize);
        let _gone = self.engine.container_finished(id);
        assert!(!self.engine.container_finished(id), "{id} ended twice");
        Call::Answered
    }
}

/// A look at the ledger that tells whether it was accepted and then dropped: a refused one is dropped
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
        if answer.is_none() {
            assert!(ending.is_announced(), "a look before the end has no answer");
            break;
        }
        answered += 1;
        std::thread::yield_now();
    }
    answered
}
