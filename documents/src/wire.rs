//! How a model value and its written form belong together.
//!
//! Each model type that is ever written has a `...Doc` type, which alone knows serde; [`Wire`] goes
//! between the two. What can be wrong in a text (a list, a number that is too large) is checked when
//! the leaf types of this file are read, so going from a whole document to the model cannot fail.
//!
//! Most pairs have the same fields. The `wire!` macro writes those: it matches the model without a
//! wildcard, so that a field or variant added to the model is a compile error until somebody has
//! decided how it is written.

use numawise_model::{Id, IdSet, PageSize, Pcpu, Pnode, Utilisation, Vcpu, Vnode};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// A model type and the form in which it is written.
pub trait Wire: Sized {
    type Doc: Serialize + DeserializeOwned;
    fn to_doc(&self) -> Self::Doc;
    fn from_doc(doc: Self::Doc) -> Self;
}

/// Declares a written form with the model's own fields and both ways between them.
///
/// `wire! { struct NameDoc = Model { field: Type, .. } }` or
/// `wire! { enum NameDoc = Model { Variant { field: Type, .. }, Unit, .. } }`; attributes are passed on.
macro_rules! wire {
    (
        $(#[$meta:meta])*
        struct $doc:ident = $model:ident {
            $( $(#[$field_meta:meta])* $field:ident : $ty:ty ),* $(,)?
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        pub struct $doc {
            $( $(#[$field_meta])* pub $field: <$ty as $crate::wire::Wire>::Doc ),*
        }

        impl $crate::wire::Wire for $model {
            type Doc = $doc;
            fn to_doc(&self) -> $doc {
                let Self { $( $field ),* } = self;
                $doc { $( $field: $crate::wire::Wire::to_doc($field) ),* }
            }
            fn from_doc(doc: $doc) -> Self {
                Self { $( $field: $crate::wire::Wire::from_doc(doc.$field) ),* }
            }
        }
    };
    (
        $(#[$meta:meta])*
        enum $doc:ident = $model:ident {
            $( $variant:ident $({
                $( $(#[$field_meta:meta])* $field:ident : $ty:ty ),* $(,)?
            })? ),* $(,)?
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        $(#[$meta])*
        pub enum $doc {
            $( $variant $({
                $( $(#[$field_meta])* $field: <$ty as $crate::wire::Wire>::Doc ),*
            })? ),*
        }

        impl $crate::wire::Wire for $model {
            type Doc = $doc;
            fn to_doc(&self) -> $doc {
                match self {
                    $( Self::$variant $({ $( $field ),* })? => $doc::$variant $({
                        $( $field: $crate::wire::Wire::to_doc($field) ),*
                    })? ),*
                }
            }
            fn from_doc(doc: $doc) -> Self {
                match doc {
                    $( $doc::$variant $({ $( $field ),* })? => Self::$variant $({
                        $( $field: $crate::wire::Wire::from_doc($field) ),*
                    })? ),*
                }
            }
        }
    };
}
pub(crate) use wire;

/// Types that are written as they are.
macro_rules! as_is {
    ($($ty:ty),*) => { $(
        impl Wire for $ty {
            type Doc = $ty;
            fn to_doc(&self) -> $ty {
                self.clone()
            }
            fn from_doc(doc: $ty) -> Self {
                doc
            }
        }
    )* };
}
as_is!(bool, u8, u16, u32, u64, i64, usize, f64, String, [u64; 3]);

/// Tuple structs around a text.
macro_rules! as_text {
    ($($ty:ident),*) => { $(
        impl Wire for $ty {
            type Doc = String;
            fn to_doc(&self) -> String {
                self.0.clone()
            }
            fn from_doc(doc: String) -> Self {
                Self(doc)
            }
        }
    )* };
}
use numawise_model::{ClaimId, GuestUuid, HostId, PlanId};
as_text!(ClaimId, GuestUuid, HostId, PlanId);

impl<T: Wire> Wire for Option<T> {
    type Doc = Option<T::Doc>;
    fn to_doc(&self) -> Self::Doc {
        self.as_ref().map(T::to_doc)
    }
    fn from_doc(doc: Self::Doc) -> Self {
        doc.map(T::from_doc)
    }
}

impl<T: Wire> Wire for Vec<T> {
    type Doc = Vec<T::Doc>;
    fn to_doc(&self) -> Self::Doc {
        self.iter().map(T::to_doc).collect()
    }
    fn from_doc(doc: Self::Doc) -> Self {
        doc.into_iter().map(T::from_doc).collect()
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V>
where
    K::Doc: Ord,
{
    type Doc = BTreeMap<K::Doc, V::Doc>;
    fn to_doc(&self) -> Self::Doc {
        self.iter().map(|(k, v)| (k.to_doc(), v.to_doc())).collect()
    }
    fn from_doc(doc: Self::Doc) -> Self {
        doc.into_iter().map(|(k, v)| (K::from_doc(k), V::from_doc(v))).collect()
    }
}

/// A set that is no set of ids: its members in their order.
impl<T: Wire + Ord> Wire for BTreeSet<T> {
    type Doc = Vec<T::Doc>;
    fn to_doc(&self) -> Self::Doc {
        self.iter().map(T::to_doc).collect()
    }
    fn from_doc(doc: Self::Doc) -> Self {
        doc.into_iter().map(T::from_doc).collect()
    }
}

/// A set, written as a kernel list: `0-3,8`; the empty set is the empty text.
#[derive(Clone, Debug, PartialEq)]
pub struct ListDoc<I: Id>(pub IdSet<I>);

impl<I: Id> Serialize for ListDoc<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, I: Id> Deserialize<'de> for ListDoc<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        numawise_model::parse_list(&text).map(Self).map_err(|error| {
            D::Error::custom(format_args!("a list of {}s like 0-3,8 is wanted: {error}", I::KIND))
        })
    }
}

impl<I: Id> Wire for IdSet<I> {
    type Doc = ListDoc<I>;
    fn to_doc(&self) -> ListDoc<I> {
        ListDoc(self.clone())
    }
    fn from_doc(doc: ListDoc<I>) -> Self {
        doc.0
    }
}

/// One id, written as a number (in a map's key, as its digits; such maps are in numeric order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdDoc<I: Id>(pub I);

impl<I: Id> Serialize for IdDoc<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0.get())
    }
}

impl<'de, I: Id> Deserialize<'de> for IdDoc<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if number > numawise_model::MAX_ID {
            return Err(D::Error::custom(format_args!(
                "{} {number} is above the highest there can be, {}",
                I::KIND,
                numawise_model::MAX_ID
            )));
        }
        Ok(Self(I::new(number)))
    }
}

macro_rules! id {
    ($($ty:ident),*) => { $(
        impl Wire for $ty {
            type Doc = IdDoc<$ty>;
            fn to_doc(&self) -> IdDoc<$ty> {
                IdDoc(*self)
            }
            fn from_doc(doc: IdDoc<$ty>) -> Self {
                doc.0
            }
        }
    )* };
}
id!(Pcpu, Pnode, Vcpu, Vnode);

/// A page size in bytes; anything but a power of two is no page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PageSizeDoc(u64);

impl<'de> Deserialize<'de> for PageSizeDoc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = u64::deserialize(deserializer)?;
        if !bytes.is_power_of_two() {
            return Err(D::Error::custom(format_args!(
                "a page size in bytes (a power of two, like 2097152) is wanted, not {bytes}"
            )));
        }
        Ok(Self(bytes))
    }
}

impl Wire for PageSize {
    type Doc = PageSizeDoc;
    fn to_doc(&self) -> PageSizeDoc {
        PageSizeDoc(self.bytes())
    }
    fn from_doc(doc: PageSizeDoc) -> Self {
        Self(doc.0)
    }
}

impl Wire for Utilisation {
    type Doc = u16;
    fn to_doc(&self) -> u16 {
        self.0
    }
    fn from_doc(doc: u16) -> Self {
        Self(doc)
    }
}

/// Words that the model holds as `&'static str`: rule names and the like. Those read back from a
/// document are kept once for the life of the process, however often the document is read.
impl Wire for &'static str {
    type Doc = String;
    fn to_doc(&self) -> String {
        (*self).to_owned()
    }
    fn from_doc(doc: String) -> Self {
        static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        // Another thread that died here can only have left a complete set behind.
        let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = words.get(doc.as_str()) {
            return known;
        }
        let word: &'static str = doc.leak();
        words.insert(word);
        word
    }
}

/// Distances to every vNUMA node, in the order of their ids; `null` where none is known. No
/// distances at all is the empty array.
pub mod by_vnode {
    use numawise_model::Vnode;
    use std::collections::BTreeMap;

    pub type ByVnode = Vec<Option<u32>>;

    pub fn to_doc(distances: &BTreeMap<Vnode, u32>) -> ByVnode {
        let Some((last, _)) = distances.last_key_value() else { return Vec::new() };
        (0..=last.0).map(|id| distances.get(&Vnode(id)).copied()).collect()
    }

    pub fn from_doc(doc: ByVnode) -> BTreeMap<Vnode, u32> {
        (0..).zip(doc).filter_map(|(id, distance)| Some((Vnode(id), distance?))).collect()
    }
}
