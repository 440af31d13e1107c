//! Sorting by relations that need not be transitive.

use std::cmp::Ordering;

/// Sorts as the reference's library does with short lists: a first run, then binary insertion.
/// Never fails, whatever `compare` says.
// As java.util.TimSort for fewer than 32 elements.
pub(super) fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    for i in first_run(items, &compare)..items.len() {
        let at = items[..i].partition_point(|item| compare(&items[i], item).is_ge());
        items[at..=i].rotate_right(1);
    }
}

/// Length of the ascending run at the start; a strictly descending one is turned around.
fn first_run<T>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    if items.len() < 2 {
        return items.len();
    }
    let descending = compare(&items[1], &items[0]).is_lt();
    let run = |pair: &[T]| compare(&pair[1], &pair[0]).is_lt() == descending;
    let end = 1 + items.windows(2).take_while(|pair| run(pair)).count();
    if descending {
        items[..end].reverse();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_keep_their_order() {
        let mut items = [(3, 'a'), (1, 'b'), (3, 'c'), (1, 'd'), (2, 'e')];
        sort_by(&mut items, |x, y| x.0.cmp(&y.0));
        assert_eq!(items, [(1, 'b'), (1, 'd'), (2, 'e'), (3, 'a'), (3, 'c')]);
    }

    #[test]
    fn a_relation_in_a_circle_does_not_fail() {
        let mut items: Vec<u32> = (0..50).collect();
        sort_by(&mut items, |x, y| ((x + 3 - y) % 3).cmp(&1));
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
