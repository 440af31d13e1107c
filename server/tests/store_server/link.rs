//! Connections to a store that can be cut or held up.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use capsched::sync::{AtomicBool, Mutex, Ordering};

use super::Kind;

/// What is done before a request passes.
struct Before {
    /// Bytes by which the request is known.
    holds: Vec<u8>,
    work: Box<dyn FnOnce() + Send>,
}

/// What a link does with bytes and connections.
#[derive(Default)]
struct State {
    /// New connections are closed at once.
    refuses: AtomicBool,
    /// Bytes wait.
    stalls: AtomicBool,
    ended: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
    before: Mutex<Option<Before>>,
}

/// One way to each of the members of a store. It ends when it is dropped.
pub(crate) struct Link {
    state: Arc<State>,
    kind: Kind,
    ports: Vec<u16>,
}

impl State {
    fn close_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.drain(..) {
            // One that is closed already stays so.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Does what is to be done before these bytes of a request pass.
    fn prepare(&self, bytes: &[u8]) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let meant = |before: &mut Before| {
            let length = before.holds.len();
            bytes.windows(length).any(|part| part == before.holds)
        };
        if let Some(before) = before.take_if(meant) {
            (before.work)();
        }
    }

    fn keep(&self, stream: &TcpStream) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.extend(stream.try_clone());
    }
}

fn run(name: &str, work: impl FnOnce() + Send + 'static) {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).unwrap();
}

/// Copies bytes until one side is closed. `sees` has them first.
fn copy(state: &State, mut from: TcpStream, mut to: TcpStream, sees: impl Fn(&[u8])) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        sees(&bytes[..count]);
        while state.stalls.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(2));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // One that is closed already stays so.
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

fn serve(state: &Arc<State>, listener: &TcpListener, port: u16) {
    for stream in listener.incoming() {
        if state.ended.load(Ordering::Relaxed) {
            return;
        }
        let Ok(near) = stream else { continue };
        let far = match state.refuses.load(Ordering::Relaxed) {
            true => None,
            false => TcpStream::connect(("127.0.0.1", port)).ok(),
        };
        // Without the other side the connection is closed.
        let Some(far) = far else { continue };
        // Else short messages wait for 40 ms until the ones before are acknowledged.
        if near.set_nodelay(true).and(far.set_nodelay(true)).is_err() {
            continue;
        }
        let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else {
            continue;
        };
        state.keep(&near);
        state.keep(&far);
        let (out, back) = (Arc::clone(state), Arc::clone(state));
        run("out", move || {
            copy(&out, near, far, |bytes| out.prepare(bytes));
        });
        run("back", move || copy(&back, far_too, near_too, |_| {}));
    }
}

impl Link {
    /// Ways to members that listen at these ports.
    pub(super) fn to(kind: Kind, ports: &[u16]) -> Self {
        let state = Arc::new(State::default());
        let ways = ports.iter().map(|&port| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let own = listener.local_addr().unwrap().port();
            let state = Arc::clone(&state);
            run("accept", move || serve(&state, &listener, port));
            own
        });
        Self {
            ports: ways.collect(),
            kind,
            state,
        }
    }

    /// The address of a store with this prefix.
    pub(crate) fn address(&self, prefix: &str) -> String {
        self.kind.address(&self.ports, prefix)
    }

    /// Does something once, before a request that holds these bytes passes.
    pub(crate) fn before(&self, holds: &[u8], work: impl FnOnce() + Send + 'static) {
        let mut before = self
            .state
            .before
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *before = Some(Before {
            holds: holds.to_vec(),
            work: Box::new(work),
        });
    }

    /// Closes all connections and refuses others, or lets bytes wait, until a while is over.
    pub(crate) fn harm(&self, cuts: bool, lasts: Duration) -> thread::JoinHandle<()> {
        let state = Arc::clone(&self.state);
        if cuts {
            state.refuses.store(true, Ordering::Relaxed);
            state.close_all();
        } else {
            state.stalls.store(true, Ordering::Relaxed);
        }
        let later = thread::Builder::new().spawn(move || {
            thread::sleep(lasts);
            state.refuses.store(false, Ordering::Relaxed);
            state.stalls.store(false, Ordering::Relaxed);
        });
        later.unwrap()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        self.state.stalls.store(false, Ordering::Relaxed);
        self.state.close_all();
        for port in &self.ports {
            // It wakes the thread that accepts; one that is gone needs no wake.
            let _ = TcpStream::connect(("127.0.0.1", *port));
        }
    }
}
