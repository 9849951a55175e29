//! Sorting and sorted collections with one body for all types, or a short one.
//!
//! `sort_by`, and `collect` into a `BTreeMap`, are made anew for each type and each closure: five kilobytes of the script
//! every time, and three more for each type of map. What is sorted here is short.

use std::borrow::Borrow;
use std::cmp::Ordering;

use serde::{Serialize, Serializer};

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

/// A map as a list that is sorted by its keys: small, and quick where it is small or filled in order. Filled item by item in
/// disorder it takes time by the square: what callers have the size of is gathered at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty one.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out all that it has.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Its keys and values.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Its keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// Its values, in the order of its keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Its values, in the order of its keys.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Its values, in the order of its keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(own, _)| own.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    /// The value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        self.0.get_mut(place).map(|(_, value)| value)
    }

    /// Whether it has a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Sets the value of a key, and gives the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => {
                let own = self.0.get_mut(place)?;
                Some(std::mem::replace(&mut own.1, value))
            }
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Takes a key out, and gives the value that it had.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.0.remove(place).1)
    }

    /// The value of a key, which is made where there is none.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, make()));
                place
            }
        };
        // INVARIANT: found there, or put there.
        #[expect(clippy::indexing_slicing, reason = "found there, or put there")]
        &mut self.0[place].1
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, items: I) {
        let mut ordered = true;
        for item in items {
            ordered = ordered && self.0.last().is_none_or(|last| last.0 < item.0);
            self.0.push(item);
        }
        if !ordered {
            sort_by(&mut self.0, |a, b| a.0.cmp(&b.0));
            // Of equal keys the last one stays.
            self.0.dedup_by(|later, earlier| {
                let equal = later.0 == earlier.0;
                if equal {
                    std::mem::swap(&mut later.1, &mut earlier.1);
                }
                equal
            });
        }
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = &'a (K, V);
    type IntoIter = std::slice::Iter<'a, (K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// A set as a sorted list, as [`SortedMap`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedSet<T>(Vec<T>);

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SortedSet<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What it holds, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Ord> SortedSet<T> {
    fn place<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.0.binary_search_by(|own| own.borrow().cmp(item))
    }

    /// Whether it holds that.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(item).is_ok()
    }

    /// Adds that, and whether it did not hold it.
    pub fn insert(&mut self, item: T) -> bool {
        match self.place(&item) {
            Ok(_) => false,
            Err(place) => {
                self.0.insert(place, item);
                true
            }
        }
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let mut ordered = true;
        for item in items {
            ordered = ordered && self.0.last().is_none_or(|last| *last < item);
            self.0.push(item);
        }
        if !ordered {
            sort(&mut self.0);
            self.0.dedup();
        }
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

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
        let map: SortedMap<u8, char> = pairs.into_iter().gather();
        assert!(map.into_iter().eq(BTreeMap::from(pairs)));
    }

    #[test]
    fn a_sorted_map_and_set_are_as_those_of_the_standard_library() {
        let (mut ours, mut theirs) = (SortedMap::new(), BTreeMap::new());
        let (mut set, mut tree) = (SortedSet::new(), BTreeSet::new());
        for n in 0..2_000_u32 {
            let key = n * 7919 % 101;
            match n % 5 {
                0 => assert_eq!(ours.remove(&key), theirs.remove(&key)),
                1 => {
                    ours.extend([(key, n), (key / 2, n), (key, n + 1)]);
                    theirs.extend([(key, n), (key / 2, n), (key, n + 1)]);
                }
                2 => {
                    *ours.or_insert_with(key, || 0) += n;
                    *theirs.entry(key).or_insert(0) += n;
                }
                _ => assert_eq!(ours.insert(key, n), theirs.insert(key, n)),
            }
            assert_eq!(set.insert(key / 3), tree.insert(key / 3));
            assert_eq!(ours.get(&(n % 101)), theirs.get(&(n % 101)));
            assert_eq!(set.contains(&(n % 40)), tree.contains(&(n % 40)));
            assert!(ours.iter().eq(theirs.iter()));
        }
        assert!(set.into_iter().eq(tree));
    }
}
