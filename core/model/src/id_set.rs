//! Sets of typed numbers: which CPUs, which nodes. Printed and compared as normalised kernel lists.

use crate::ids::{Id, Pcpu, Pnode, Vcpu};
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

/// The highest number a set can hold. Kernels are built for at most 8,192 CPUs (`NR_CPUS`), so
/// anything above it is a slip of the pen, and is refused before a range is expanded.
pub const MAX_ID: u32 = 8191;

/// A set of pCPUs.
pub type CpuSet = IdSet<Pcpu>;
/// A set of vCPUs.
pub type VcpuSet = IdSet<Vcpu>;
/// A set of pNUMA nodes.
pub type NodeSet = IdSet<Pnode>;

/// A set of ids of one kind, from 0 to [`MAX_ID`]. Two sets with the same members are equal
/// whatever way they came about (no trailing empty words are kept).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdSet<I> {
    words: Vec<u64>,
    kind: PhantomData<I>,
}

impl<I: Id> IdSet<I> {
    pub const fn new() -> Self {
        Self { words: Vec::new(), kind: PhantomData }
    }

    pub fn single(id: I) -> Self {
        let mut set = Self::new();
        set.insert(id);
        set
    }

    /// The ids `first..=last`; empty when `first > last`.
    ///
    /// # Panics
    /// When `last` is above [`MAX_ID`]: texts are checked by the parsers before they get here.
    pub fn range(first: u32, last: u32) -> Self {
        (first..=last).map(I::new).collect()
    }

    /// Adds an id.
    ///
    /// # Panics
    /// When it is above [`MAX_ID`]; parsers check first.
    pub fn insert(&mut self, id: I) {
        let number = id.get();
        assert!(number <= MAX_ID, "{} {number} is above {MAX_ID}", I::KIND);
        let word = (number / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (number % 64);
    }

    pub fn remove(&mut self, id: I) {
        let word = (id.get() / 64) as usize;
        if word < self.words.len() {
            self.words[word] &= !(1 << (id.get() % 64));
            self.trim();
        }
    }

    pub fn contains(&self, id: I) -> bool {
        let word = (id.get() / 64) as usize;
        self.words.get(word).is_some_and(|w| w & (1 << (id.get() % 64)) != 0)
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn first(&self) -> Option<I> {
        self.iter().next()
    }

    pub fn last(&self) -> Option<I> {
        let top = self.words.last()?;
        Some(I::new((self.words.len() as u32 - 1) * 64 + 63 - top.leading_zeros()))
    }

    /// The ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some(I::new(index as u32 * 64 + bit))
            })
        })
    }

    /// The maximal runs of neighbouring ids, ascending, as (first, last).
    pub fn runs(&self) -> Vec<(I, I)> {
        let mut runs: Vec<(I, I)> = Vec::new();
        for id in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if last.get() + 1 == id.get() => *last = id,
                _ => runs.push((id, id)),
            }
        }
        runs
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// What is in `self` and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & b == 0)
    }

    /// Adds all of `other`, in place: sets are often gathered from thousands of small ones.
    pub fn extend(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, added) in self.words.iter_mut().zip(&other.words) {
            *word |= added;
        }
    }

    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let len = self.words.len().max(other.words.len());
        let word = |set: &Self, i: usize| set.words.get(i).copied().unwrap_or(0);
        let words = (0..len).map(|i| combine(word(self, i), word(other, i))).collect();
        let mut set = Self { words, kind: PhantomData };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl<I: Id> Default for IdSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id> FromIterator<I> for IdSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(ids: T) -> Self {
        let mut set = Self::new();
        for id in ids {
            set.insert(id);
        }
        set
    }
}

impl<I: Id> Ord for IdSet<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<I: Id> PartialOrd for IdSet<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A normalised kernel list: `0-3,8`. The empty set prints as nothing.
impl<I: Id> fmt::Display for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (first, last) in self.runs() {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&first.get().to_string());
            if last > first {
                text.push('-');
                text.push_str(&last.get().to_string());
            }
        }
        f.pad(&text)
    }
}

impl<I: Id> fmt::Debug for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{self}]", I::KIND)
    }
}
