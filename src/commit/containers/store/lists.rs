//! Lists of containers that a node or an application keeps.

use crate::commit::containers::slot::ContainerSlot;

/// Containers of a list that are compared at once. A longer list is a long one.
pub(super) const COMPARED: usize = 32;

/// Room that a list keeps from one use to the next.
const KEPT: usize = 64;

/// The place of a container in a list of a node.
pub(super) fn place_in(list: &[ContainerSlot], slot: ContainerSlot) -> Option<usize> {
    // Without a way out of the inner loop, several are compared at once: a node may have thousands.
    let has_it =
        |some: &[ContainerSlot]| some.iter().fold(false, |has, &other| has | (other == slot));
    let before = if list.len() <= COMPARED {
        0
    } else {
        list.chunks(COMPARED).position(has_it)? * COMPARED
    };
    let at = list[before..].iter().position(|&other| other == slot)?;
    Some(before + at)
}

/// Puts a container on a list, or takes it off.
pub(super) fn list(due: &mut Vec<ContainerSlot>, slot: ContainerSlot, was: bool, is: bool) {
    match (was, is) {
        (false, true) => due.push(slot),
        (true, false) => {
            if let Some(at) = place_in(due, slot) {
                due.swap_remove(at);
            }
        }
        _ => {}
    }
}

/// A list to be used again; a large one is given back.
pub(super) fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list.shrink_to(KEPT);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_long_list_is_found() {
        for length in [0_u32, 1, 31, 32, 33, 100] {
            let list: Vec<_> = (0..length)
                .map(|number| ContainerSlot(7 * number))
                .collect();
            for (at, &slot) in list.iter().enumerate() {
                assert_eq!(place_in(&list, slot), Some(at));
            }
            assert_eq!(place_in(&list, ContainerSlot(1)), None);
        }
    }
}
