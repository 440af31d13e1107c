//! What loom itself explores, pinned: the reason for the two flavours of the facade.
//!
//! Threads: one that loads a word and then stores 1 to it, and main, which loads the word.
//! Property: main sees both 0 and 1 over all executions.
//! Fails when: a loom release explores the plain flavour completely, which would make the second
//! flavour superfluous, or when the second flavour does not do its work.

use capsched::sync::{Arc, AtomicU32, Flavour, Ordering};
use loom::thread;
use loom_tests::{Witness, explore_in};

#[test]
fn loads_hide_a_later_store_only_in_the_plain_flavour() {
    static PLAIN: Seen = Seen::nothing();
    static RMW: Seen = Seen::nothing();
    static CONTROL: Seen = Seen::nothing();
    explore_in(Flavour::Plain, || PLAIN.note(load_then_store(true)));
    explore_in(Flavour::Rmw, || RMW.note(load_then_store(true)));
    explore_in(Flavour::Plain, || CONTROL.note(load_then_store(false)));
    assert_eq!(PLAIN.both(), (true, false), "loom closed its hole");
    assert_eq!(RMW.both(), (true, true));
    assert_eq!(CONTROL.both(), (true, true));
}

struct Seen {
    zero: Witness,
    one: Witness,
}

impl Seen {
    const fn nothing() -> Self {
        Self {
            zero: Witness::of("main saw 0"),
            one: Witness::of("main saw 1"),
        }
    }

    fn note(&self, value: u32) {
        self.zero.met_if(value == 0);
        self.one.met_if(value == 1);
    }

    fn both(&self) -> (bool, bool) {
        (self.zero.was_met(), self.one.was_met())
    }
}

fn load_then_store(with_load: bool) -> u32 {
    let word = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&word);
    let writer = thread::spawn(move || {
        if with_load {
            other.load(Ordering::Relaxed);
        }
        other.store(1, Ordering::Relaxed);
    });
    let seen = word.load(Ordering::Relaxed);
    writer.join().expect("the writer does not panic");
    seen
}
