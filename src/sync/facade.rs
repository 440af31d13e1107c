//! The names of std's, loom's and shuttle's primitives behind one set of aliases.
//!
//! Aliases and not re-exports: the lint against std's types looks through a re-export and would
//! fire on every honest user of the facade.
//!
//! # Two flavours under loom
//!
//! loom keeps one last access per thread and atomic, so it never reorders a load against another
//! thread's access when the first thread stores to the same atomic later. A model therefore runs
//! twice: *plain* maps a load to a load and covers memory orderings, *rmw* maps a load to a
//! read-modify-write that changes nothing and covers the interleavings. There a store becomes a
//! swap: loom would let a load that writes its value back come after a store it did not see.

#[cfg(not(any(capsched_loom, capsched_shuttle)))]
mod primitives {
    #![expect(
        clippy::disallowed_types,
        reason = "the aliases that the lint points to"
    )]

    /// Shared ownership; a loom object in models.
    pub type Arc<T> = std::sync::Arc<T>;
    /// A flag.
    pub type AtomicBool = std::sync::atomic::AtomicBool;
    /// A 32-bit word.
    pub type AtomicU32 = std::sync::atomic::AtomicU32;
    /// A 64-bit word.
    pub type AtomicU64 = std::sync::atomic::AtomicU64;
    /// A word of pointer size.
    pub type AtomicUsize = std::sync::atomic::AtomicUsize;
    /// The order of an atomic operation against its neighbours.
    pub type Ordering = std::sync::atomic::Ordering;
    /// A lock for slow paths; never around live state.
    pub type Mutex<T> = std::sync::Mutex<T>;
    /// The held lock of a [`Mutex`].
    pub type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;
    /// The bell that goes with a [`Mutex`].
    pub type Condvar = std::sync::Condvar;

    pub use std::hint::spin_loop;
    pub use std::sync::atomic::fence;
    pub use std::thread::yield_now;
}

#[cfg(capsched_shuttle)]
mod primitives {
    /// Shared ownership; shuttle takes std's.
    pub type Arc<T> = std::sync::Arc<T>;
    /// A flag.
    pub type AtomicBool = shuttle::sync::atomic::AtomicBool;
    /// A 32-bit word.
    pub type AtomicU32 = shuttle::sync::atomic::AtomicU32;
    /// A 64-bit word.
    pub type AtomicU64 = shuttle::sync::atomic::AtomicU64;
    /// A word of pointer size.
    pub type AtomicUsize = shuttle::sync::atomic::AtomicUsize;
    /// The order of an atomic operation; shuttle takes each for sequentially consistent.
    pub type Ordering = std::sync::atomic::Ordering;
    /// A lock for slow paths; never around live state.
    pub type Mutex<T> = shuttle::sync::Mutex<T>;
    /// The held lock of a [`Mutex`].
    pub type MutexGuard<'a, T> = shuttle::sync::MutexGuard<'a, T>;
    /// The bell that goes with a [`Mutex`].
    pub type Condvar = shuttle::sync::Condvar;

    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic::fence;
    pub use shuttle::thread::yield_now;
}

#[cfg(capsched_loom)]
mod primitives {
    use std::cell::Cell;

    /// Shared ownership; a loom object in models.
    pub type Arc<T> = loom::sync::Arc<T>;
    /// The order of an atomic operation against its neighbours.
    pub type Ordering = std::sync::atomic::Ordering;
    /// A lock for slow paths; never around live state.
    pub type Mutex<T> = loom::sync::Mutex<T>;
    /// The held lock of a [`Mutex`].
    pub type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;
    /// The bell that goes with a [`Mutex`].
    pub type Condvar = loom::sync::Condvar;

    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::fence;
    pub use loom::thread::yield_now;

    /// What a load of the facade's atomics becomes in a model.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Flavour {
        /// A load; explores what a weak ordering permits.
        Plain,
        /// A read-modify-write that changes nothing; explores interleavings that loom would skip.
        Rmw,
    }

    thread_local! {
        // All threads of a model are coroutines of one system thread and see one value.
        static FLAVOUR: Cell<Flavour> = const { Cell::new(Flavour::Plain) };
    }

    /// Runs a whole model in one flavour.
    pub fn with_flavour<R>(flavour: Flavour, body: impl FnOnce() -> R) -> R {
        let before = FLAVOUR.replace(flavour);
        let result = body();
        FLAVOUR.set(before);
        result
    }

    macro_rules! word {
        ($(#[$doc:meta])* $name:ident, $int:ty) => {
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name(loom::sync::atomic::$name);

            impl $name {
                /// As std's.
                #[must_use]
                pub fn new(value: $int) -> Self {
                    Self(loom::sync::atomic::$name::new(value))
                }

                /// As std's, or a read-modify-write in that flavour.
                pub fn load(&self, order: Ordering) -> $int {
                    match FLAVOUR.get() {
                        Flavour::Plain => self.0.load(order),
                        Flavour::Rmw => self.0.fetch_or(<$int>::default(), Ordering::AcqRel),
                    }
                }

                /// As std's, or a read-modify-write in that flavour.
                pub fn store(&self, value: $int, order: Ordering) {
                    match FLAVOUR.get() {
                        Flavour::Plain => self.0.store(value, order),
                        Flavour::Rmw => drop(self.0.swap(value, Ordering::AcqRel)),
                    }
                }

                /// As std's.
                pub fn swap(&self, value: $int, order: Ordering) -> $int {
                    self.0.swap(value, order)
                }

                /// As std's.
                ///
                /// # Errors
                ///
                /// The value found when it is not the expected one.
                pub fn compare_exchange(
                    &self,
                    expected: $int,
                    desired: $int,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$int, $int> {
                    self.0.compare_exchange(expected, desired, success, failure)
                }

                /// As std's.
                pub fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_or(value, order)
                }

                /// As std's.
                pub fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_and(value, order)
                }
            }
        };
    }

    macro_rules! counting_word {
        ($(#[$doc:meta])* $name:ident, $int:ty) => {
            word!($(#[$doc])* $name, $int);

            impl $name {
                /// As std's.
                pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_add(value, order)
                }

                /// As std's.
                pub fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_sub(value, order)
                }

                /// As std's.
                pub fn fetch_max(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_max(value, order)
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    Self::new(0)
                }
            }
        };
    }

    word! {
        /// A flag.
        AtomicBool, bool
    }
    counting_word! {
        /// A 32-bit word.
        AtomicU32, u32
    }
    counting_word! {
        /// A 64-bit word.
        AtomicU64, u64
    }
    counting_word! {
        /// A word of pointer size.
        AtomicUsize, usize
    }
}

pub use primitives::*;
