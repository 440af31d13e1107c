//! The places of a key: hosts, racks, and `*`, in a tree that knows whether they are alike.

use super::shared_tree::SharedTree;
use super::tree_node::{TreeEntry, TreeSum};
use crate::id::{NameId, PartitionId};
use crate::resource::PackedVector;

/// Asks by place, ascending; that for `*` comes first.
pub type Places = SharedTree<PlaceAsk>;

/// An ask at one place under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceAsk {
    /// Host, rack, or [`NameId::ANY`].
    pub place: NameId,
    /// Size of one container.
    pub size: PackedVector,
    /// Containers outstanding.
    pub count: i32,
    /// Whether a less local place will do.
    pub relax: bool,
    /// Partition asked for; nothing when none was named.
    pub partition: Option<PartitionId>,
}

/// What is known of the asks at some places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceSum {
    /// Of each resource type the most that one container asks for.
    largest: PackedVector,
    /// Whether all have this size, and a less local place will do for each.
    alike: bool,
    /// The label that all have; nothing where they differ.
    label: Option<Option<PartitionId>>,
}

impl TreeSum for PlaceSum {
    fn add(&mut self, others: &Self) {
        if self.label != others.label {
            self.label = None;
        }
        self.alike &= others.alike && self.largest == others.largest;
        if self.largest != others.largest {
            let both = self.largest.get().component_max(&others.largest.get());
            self.largest = both.into();
        }
    }

    fn follow(&mut self, before: &Self, after: Option<&Self>) -> bool {
        // Where all are the same, those that are left are as well.
        after == Some(before) || after.is_none() && self.alike && self.label.is_some()
    }
}

impl TreeEntry for PlaceAsk {
    type Key = NameId;
    type Sum = PlaceSum;
    type Inline = [Self; 1];

    #[inline(always)]
    fn key(&self) -> NameId {
        self.place
    }

    fn sum(&self) -> PlaceSum {
        PlaceSum {
            largest: self.size.clone(),
            alike: self.relax,
            label: Some(self.partition),
        }
    }
}

impl Places {
    /// Whether something surely holds for the sizes of all asks. It holds for two sizes if it does for the larger one of each
    /// resource type.
    #[inline]
    pub fn all_sizes(&self, hold: impl Fn(&PackedVector) -> bool) -> bool {
        self.all(|ask| hold(&ask.size), |sum| hold(&sum.largest))
    }

    /// Whether all asks have a size, and a less local place will do for each.
    pub fn all_relaxed(&self, size: &PackedVector) -> bool {
        let of_ask = |ask: &PlaceAsk| ask.relax && ask.size == *size;
        self.all(of_ask, |sum| sum.alike && sum.largest == *size)
    }

    /// Gives places a label, as many as the budget has that have another one; whether all have it.
    ///
    /// Cost: that of those, and of their nodes.
    #[inline]
    pub fn relabel(&mut self, label: Option<PartitionId>, budget: &mut usize) -> bool {
        let has_all =
            |of: &Self| of.all(|ask| ask.partition == label, |sum| sum.label == Some(label));
        has_all(self) || {
            let differs = |sum: &PlaceSum| sum.label != Some(label);
            self.0
                .change_some(differs, |ask| ask.partition = label, budget);
            has_all(self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_asks::KeyAsks;
    use super::*;
    use crate::id::SchedulerKey;
    use crate::resource::ResourceVector;
    use proptest::prelude::*;

    fn size(of: i64) -> PackedVector {
        // Of two sizes neither is the larger one.
        ResourceVector::of(&[1024 * of, 9 - of]).into()
    }

    fn label(of: u8) -> Option<PartitionId> {
        of.checked_sub(1).map(|of| PartitionId(of.into()))
    }

    /// An ask, by the number of its place, its size, the number of its label, and whether a less local place will do.
    fn ask((place, of, with, relax): (u32, i64, u8, bool)) -> PlaceAsk {
        PlaceAsk {
            place: NameId(place),
            size: size(of),
            count: 2,
            relax,
            partition: label(with),
        }
    }

    /// What is written: an ask is put or two containers are taken, or as many as a budget has get a label.
    #[derive(Clone, Debug)]
    enum Write {
        Put((u32, i64, u8, bool)),
        Take(u32),
        Relabel(u8, usize),
    }

    fn any_write() -> impl Strategy<Value = Write> {
        // Mostly alike, so that sums say so.
        let put = (
            0..400_u32,
            prop_oneof![9 => Just(1_i64), 1 => 1..4_i64],
            0..2_u8,
        );
        let put = (put, prop::bool::weighted(0.95));
        prop_oneof![
            20 => put.prop_map(|((place, of, with), relax)| Write::Put((place, of, with, relax))),
            20 => (0..400_u32).prop_map(Write::Take),
            1 => (0..3_u8, prop_oneof![0..50_usize, Just(usize::MAX)])
                .prop_map(|(with, budget)| Write::Relabel(with, budget)),
        ]
    }

    fn write(asks: &mut KeyAsks, plain: &mut Vec<PlaceAsk>, one: Write) {
        match one {
            Write::Put(of) => {
                let new = ask(of);
                let found = plain.binary_search_by_key(&new.place, |ask| ask.place);
                let old = found.ok().map(|at| plain[at].clone());
                match found {
                    Ok(at) => plain[at] = new.clone(),
                    Err(at) => plain.insert(at, new.clone()),
                }
                assert_eq!(asks.put(new), old);
            }
            Write::Take(place) => {
                let place = NameId(place);
                let found = plain.iter().position(|ask| ask.place == place);
                for left in [1, 0] {
                    let left = found.map_or(0, |_| left);
                    assert_eq!(asks.take_one(place, |_| {}), left);
                }
                found.map(|at| plain.remove(at));
            }
            Write::Relabel(with, budget) => {
                let differ = |ask: &&mut PlaceAsk| ask.partition != label(with);
                let count = plain.iter_mut().filter(differ).count();
                let changed = plain.iter_mut().filter(differ).take(budget);
                changed.for_each(|ask| ask.partition = label(with));
                let mut left = budget;
                let is_done = asks.places.relabel(label(with), &mut left);
                assert_eq!(
                    (is_done, budget - left),
                    (count <= budget, count.min(budget))
                );
            }
        }
    }

    proptest! {
        /// Against a sorted list, also with what sums answer.
        #[test]
        fn they_are_a_sorted_list(writes in prop::collection::vec(any_write(), 0..1_500)) {
            let (mut asks, mut plain) = (KeyAsks::new(SchedulerKey::MASTER), Vec::new());
            for one in writes {
                write(&mut asks, &mut plain, one);
                let places = &asks.places;
                for of in 0..4 {
                    let fits = |one: &PackedVector| one.get().fits_in(&size(of).get());
                    prop_assert_eq!(places.all_sizes(fits), plain.iter().all(|ask| fits(&ask.size)));
                    let alike = plain.iter().all(|ask| ask.relax && ask.size == size(of));
                    prop_assert_eq!(places.all_relaxed(&size(of)), alike);
                }
            }
            asks.places.0.check(true);
            prop_assert!(asks.places.iter().eq(&plain));
            let only = (plain.len() == 1).then(|| &plain[0]);
            prop_assert_eq!(asks.places.only(), only);
        }
    }
}
