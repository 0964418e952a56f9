//! Slabs and tracked values in a snapshot's file: their values; what was touched is none of it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Slab, Tracked};

/// Highest number in a file: a few bytes must not cost the host more memory than a guest may have.
const NUMBER_MAX: usize = 1 << 17;

impl<T: Serialize> Serialize for Tracked<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tracked<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = T::deserialize(from)?;
        Ok(Self {
            value,
            touched: false,
        })
    }
}

impl<T: Serialize> Serialize for Slab<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let filled = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(n, slot)| Some((n, slot.as_ref()?)));
        to.collect_seq(filled.collect::<Vec<_>>())
    }
}

impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for Slab<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Numbered(PhantomData))
    }
}

/// Numbers and values, lowest number first.
struct Numbered<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Clone> Visitor<'de> for Numbered<T> {
    type Value = Slab<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers and values, lowest number first")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Slab<T>, A::Error> {
        let mut slab = Slab::default();
        while let Some((number, value)) = from.next_element::<(usize, T)>()? {
            if number < slab.end() || number >= NUMBER_MAX {
                return Err(A::Error::custom("a slot out of turn"));
            }
            slab.put(number, value);
        }
        slab.mark_clean();
        Ok(slab)
    }
}
