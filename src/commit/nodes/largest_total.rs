//! The largest total of the nodes, with how many nodes have each of its amounts.
//!
//! An ask is checked against it. A node that leaves makes it smaller only where no other node has as much.

use std::cell::Cell;

use crate::resource::{MAX_TYPES, ResourceVector};

/// The component-wise largest total of the nodes.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct LargestTotal {
    /// Nothing until it is asked for, and once the last node that had an amount is gone.
    counted: Cell<Option<Counted>>,
}

/// A largest total.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counted {
    largest: ResourceVector,
    /// Nodes that have so much, by type.
    nodes: [u32; MAX_TYPES],
}

impl Counted {
    /// That of no node.
    const NONE: Self = Self {
        largest: ResourceVector::NONE,
        nodes: [0; MAX_TYPES],
    };

    fn with(mut self, total: &ResourceVector) -> Self {
        for i in 0..MAX_TYPES {
            if total[i] > self.largest[i] {
                self.nodes[i] = 0;
            }
            self.nodes[i] += u32::from(total[i] >= self.largest[i]);
        }
        self.largest = self.largest.component_max(total);
        self
    }

    /// The same without a node; nothing where no other one has an amount of its total.
    fn without(mut self, total: &ResourceVector) -> Option<Self> {
        for i in 0..MAX_TYPES {
            if total[i] == self.largest[i] {
                self.nodes[i] = self.nodes[i].checked_sub(1).filter(|&left| left > 0)?;
            }
        }
        Some(self)
    }
}

impl LargestTotal {
    /// A node came with a total.
    pub(in crate::commit) fn enter(&mut self, total: &ResourceVector) {
        let counted = self.counted.get_mut();
        *counted = counted.map(|counted| counted.with(total));
    }

    /// A node with a total left.
    pub(in crate::commit) fn leave(&mut self, total: &ResourceVector) {
        let counted = self.counted.get_mut();
        *counted = counted.and_then(|counted| counted.without(total));
    }

    /// The largest total.
    ///
    /// Cost: a look at the total of each node where it is not counted.
    pub(in crate::commit) fn get(
        &self,
        totals: impl Iterator<Item = ResourceVector>,
    ) -> ResourceVector {
        let count = || totals.fold(Counted::NONE, |counted, total| counted.with(&total));
        let counted = self.counted.get().unwrap_or_else(count);
        self.counted.set(Some(counted));
        counted.largest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A node comes with a total, leaves by its position, or the largest total is asked for.
    #[derive(Clone, Debug)]
    enum Step {
        Enter([i64; 2]),
        Leave(usize),
        Get,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            [0..4_i64, 0..4_i64].prop_map(Step::Enter),
            any::<usize>().prop_map(Step::Leave),
            Just(Step::Get),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        #[test]
        fn it_is_that_of_the_nodes_that_there_are(steps in steps()) {
            let (mut largest, mut nodes) = (LargestTotal::default(), Vec::new());
            for step in steps {
                match step {
                    Step::Enter(amounts) => {
                        let total = ResourceVector::of(&amounts);
                        largest.enter(&total);
                        nodes.push(total);
                    }
                    Step::Leave(at) if !nodes.is_empty() => {
                        let at = at % nodes.len();
                        largest.leave(&nodes.swap_remove(at));
                    }
                    _ => {
                        let none = ResourceVector::NONE;
                        let expected = nodes.iter().fold(none, |a, b| a.component_max(b));
                        prop_assert_eq!(largest.get(nodes.iter().copied()), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn nodes_are_looked_at_again_only_once_the_last_one_of_a_size_left() {
        let (small, large) = (ResourceVector::of(&[1, 8]), ResourceVector::of(&[2, 4]));
        let mut largest = LargestTotal::default();
        let of_all = ResourceVector::of(&[2, 8]);
        assert_eq!(largest.get([small, large, large].into_iter()), of_all);
        let unread =
            || std::iter::from_fn(|| -> Option<ResourceVector> { panic!("it is counted") });
        largest.leave(&large);
        assert_eq!(largest.get(unread()), of_all);
        largest.leave(&large);
        assert_eq!(largest.get([small].into_iter()), small);
        largest.enter(&large);
        assert_eq!(largest.get(unread()), of_all);
    }
}
