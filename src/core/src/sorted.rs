//! Sorting and sorted collections with one body for all types.
//!
//! `sort_by` and `collect` of the standard library are made anew for each type and each closure: five kilobytes of the script
//! every time. What is sorted here is short.

use std::cmp::Ordering;

/// Iterators into maps and sets.
pub trait Gather: Iterator + Sized {
    /// As `collect`, item by item: sorted collections sort their input first when they are collected.
    #[inline]
    fn gather<C: Default + Extend<Self::Item>>(self) -> C {
        let mut gathered = C::default();
        gathered.extend(self);
        gathered
    }
}

impl<I: Iterator> Gather for I {}

/// A stable sort.
#[inline]
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let places = order(list.len(), &|a, b| match (list.get(a), list.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    settle(places, &mut |a, b| list.swap(a, b));
}

/// A stable sort by a key.
#[inline]
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts.
#[inline]
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, T::cmp);
}

/// Which item belongs at each place.
#[inline(never)]
fn order(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    if length < 2 {
        return Vec::new();
    }
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// Moves each item to its place.
#[inline(never)]
fn settle(mut places: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..places.len() {
        let mut at = start;
        // Around the cycle: each swap leaves the right item behind.
        while let Some(place) = places.get_mut(at) {
            let from = std::mem::replace(place, at);
            if from == start || from == at {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn sorting_is_stable_and_moves_each_item_to_its_place() {
        // All lists of up to six of three keys, each item with where it stood.
        for length in 0..=6_u32 {
            for code in 0..3_u32.pow(length) {
                let list: Vec<(u32, u32)> = (0..length).map(|at| (code / 3_u32.pow(at) % 3, at)).collect();
                let (mut ours, mut theirs) = (list.clone(), list);
                sort_by_key(&mut ours, |(key, _)| *key);
                theirs.sort_by_key(|(key, _)| *key);
                assert_eq!(ours, theirs);
            }
        }
        let mut long: Vec<u64> = (0..1000).map(|n| n * 7919 % 1009).collect();
        let mut sorted = long.clone();
        sort(&mut long);
        sorted.sort_unstable();
        assert_eq!(long, sorted);
    }

    #[test]
    fn of_equal_keys_the_last_is_gathered() {
        let pairs = [(2, 'a'), (1, 'b'), (2, 'c')];
        let map: BTreeMap<u8, char> = pairs.into_iter().gather();
        assert_eq!(map, BTreeMap::from(pairs));
    }
}
