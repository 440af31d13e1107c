//! Items of a long call that are carried out in one part.
//!
//! Tests: `tests/inputs/requests.rs`.

/// Takes so many items of a step as the budget has; the range that they are.
pub(super) fn take(done: &mut usize, all: usize, budget: &mut usize) -> std::ops::Range<usize> {
    let from = *done;
    let count = (all - from).min(*budget);
    *budget -= count;
    *done += count;
    from..from + count
}
