//! Capacities, maximum allocations and their units, as the reference reads them from text.

use std::sync::Arc;

use crate::queue::{ReferenceRules, VectorEntry};
use crate::resource::{MEMORY, ResourceUnit, ResourceVector, VCORES, share};

use super::number;

/// A text that the reference's number parser throws at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoNumber;

/// One entry of a capacity vector, by the name of its type.
pub(super) type NamedEntry = (String, VectorEntry);

/// Whether legacy mode takes the value for an absolute one.
// As CapacitySchedulerConfiguration.RESOURCE_PATTERN.
pub(super) fn is_absolute(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_.,-= /".contains(c);
    bracketed(text).is_some_and(|inner| !inner.is_empty() && inner.chars().all(inside))
}

/// Whether the value has the form of a capacity vector, once spaces are taken out.
// As QueueCapacityConfigParser.isCapacityVectorFormat.
pub(super) fn is_vector(text: &str) -> bool {
    let text = text.replace(' ', "");
    let Some(inner) = bracketed(&text) else {
        return false;
    };
    let inside = |c: char| c.is_ascii_alphanumeric() || "_.,-%/".contains(c);
    let parts: Vec<&str> = inner.split('=').collect();
    let last = parts.len() - 1;
    last > 0
        && parts.iter().enumerate().all(|(i, part)| {
            let least = if i == 0 || i == last { 1 } else { 2 };
            part.len() >= least && part.chars().all(inside)
        })
}

/// What stands between the brackets; a pattern's end also matches before a last line end.
fn bracketed(text: &str) -> Option<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    text.strip_prefix('[')?.strip_suffix(']')
}

/// Both sides of the first `=` of a pair, up to a second one. Empty ends do not count.
// As String.split of Java.
fn name_and_value(pair: &str) -> Option<(&str, &str)> {
    let mut parts = pair.trim_end_matches('=').split('=');
    Some((parts.next()?, parts.next()?))
}

/// The weight of a value that ends in `w`; nothing for other values.
pub(super) fn weight(text: &str) -> Option<Result<f32, NoNumber>> {
    if !text.ends_with('w') {
        return None;
    }
    let number = text.split('w').next().unwrap_or_default();
    Some(number::float(number).ok_or(NoNumber))
}

/// The amounts of an absolute value; nothing when memory is missing or zero, or the value has
/// another form.
// As CapacitySchedulerConfiguration.internalGetLabeledResourceRequirementForQueue.
pub(super) fn absolute(text: &str, types: &[Arc<str>]) -> Result<Option<ResourceVector>, NoNumber> {
    if !is_absolute(text) {
        return Ok(None);
    }
    let mut amounts = ResourceVector::NONE;
    for pair in bracketed(text).unwrap_or_default().trim().split(',') {
        let Some((name, value)) = name_and_value(pair) else {
            continue;
        };
        let Some(index) = type_index(name.trim(), types) else {
            continue;
        };
        let letters = unit_of(value);
        let Some(unit) = ResourceUnit::parse(letters) else {
            continue;
        };
        let digits = &value[..value.len() - letters.len()];
        let number: i64 = number::decimal(digits).ok_or(NoNumber)?;
        let amount = if letters.is_empty() {
            number
        } else {
            unit.convert(number, ResourceUnit::MEBI).ok_or(NoNumber)?
        };
        // The number of vcores is an `int`, which Java cuts out of the longer one.
        let cut = if index == VCORES { i32::BITS } else { 0 };
        amounts.set(index, amount << cut >> cut);
    }
    Ok((amounts.memory() != 0).then_some(amounts))
}

/// The entries of a capacity vector by type name, types of the cluster first; empty when the
/// value is none, or lacks memory where that counts.
// As QueueCapacityConfigParser.parse.
pub(super) fn named_vector(
    text: &str,
    types: &[Arc<str>],
    rules: &ReferenceRules,
) -> Result<Vec<NamedEntry>, NoNumber> {
    let text = text.replace(' ', "");
    if is_vector(&text) {
        let mut all = heterogeneous(&text, types)?;
        if !(rules.vectors_without_memory || has_memory(&all)) {
            all.clear();
        }
        return Ok(all);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, suffix) = text.split_at(digits.unwrap_or(text.len()));
    // The pattern's rest stops at a line end, which therefore hides what follows.
    let suffix = suffix.split(['\n', '\r']).next().unwrap_or_default();
    if digits.is_empty() || !matches!(suffix, "" | "w") {
        return Ok(Vec::new());
    }
    let value = f64::from(number::float(digits).ok_or(NoNumber)?);
    let entry = match suffix {
        "w" => VectorEntry::Weight(value),
        _ => VectorEntry::Percent(value),
    };
    Ok(types.iter().map(|name| (name.to_string(), entry)).collect())
}

fn heterogeneous(text: &str, types: &[Arc<str>]) -> Result<Vec<NamedEntry>, NoNumber> {
    // What is left out is an amount of 0, which has a maximum of its own.
    let mut all: Vec<NamedEntry> = types
        .iter()
        .map(|name| (name.to_string(), VectorEntry::Absolute(0.0)))
        .collect();
    for pair in bracketed(text).unwrap_or_default().split(',') {
        let Some((name, value)) = name_and_value(pair) else {
            continue;
        };
        let unit: String = value
            .chars()
            .filter(|c| !c.is_ascii_digit() && *c != '.')
            .collect();
        let Some(digits) = value.strip_suffix(unit.as_str()) else {
            continue;
        };
        let number = number::float(digits).ok_or(NoNumber)?;
        let entry = match (unit.as_str(), ResourceUnit::parse(&unit)) {
            ("%", _) => VectorEntry::Percent(number.into()),
            ("w", _) => VectorEntry::Weight(number.into()),
            (letters, Some(unit)) if !letters.is_empty() => {
                let whole = share::to_i64(number.into());
                let whole = unit.convert(whole, ResourceUnit::MEBI).ok_or(NoNumber)?;
                VectorEntry::Absolute(share::to_f32(whole).into())
            }
            _ => VectorEntry::Absolute(number.into()),
        };
        let name = if name == "memory" { "memory-mb" } else { name };
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, slot)) => *slot = entry,
            None => all.push((name.to_owned(), entry)),
        }
    }
    Ok(all)
}

fn has_memory(all: &[NamedEntry]) -> bool {
    match all.first() {
        Some((_, VectorEntry::Absolute(v) | VectorEntry::Percent(v) | VectorEntry::Weight(v))) => {
            share::to_i64(*v) != 0 || *v > 0.0
        }
        _ => false,
    }
}

/// The entries of the cluster's types alone.
pub(super) fn vector(named: &[NamedEntry], types: usize) -> Vec<VectorEntry> {
    let entry = |i: usize| named.get(i).map_or(VectorEntry::Unset, |(_, entry)| *entry);
    (0..types).map(entry).collect()
}

/// Position of a type; `memory` is another name of the first one.
fn type_index(name: &str, types: &[Arc<str>]) -> Option<usize> {
    match name {
        "memory" => Some(MEMORY),
        "vcores" => Some(VCORES),
        _ => types.iter().position(|known| &**known == name),
    }
}

/// The letters at the end of a value.
fn unit_of(value: &str) -> &str {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    &value[digits.len()..]
}

/// Why a `maximum-allocation` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadAllocation {
    /// Not of the form `type=amount`.
    Form(String),
    /// A unit other than `M` and `G`.
    Unit(String),
    /// A type that the cluster does not have.
    Type(String),
    /// A number that is too large.
    Number(String),
}

/// `maximum-allocation`: comma-separated pairs; types that are left out are zero.
// As ResourceUtils.createResourceFromString.
pub(super) fn allocation(text: &str, types: &[Arc<str>]) -> Result<ResourceVector, BadAllocation> {
    let mut amounts = ResourceVector::NONE;
    for pair in number::trim(text).split(',') {
        let pair = number::trim(pair);
        let form = || BadAllocation::Form(pair.to_owned());
        let (name, value) = pair.split_once('=').ok_or_else(form)?;
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = value.split_at(digits);
        let word = rest
            .strip_prefix([' ', '\t', '\n', '\r', '\u{c}', '\u{b}'])
            .unwrap_or(rest);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || digits.is_empty() || !word.chars().all(plain) {
            return Err(form());
        }
        let number = || BadAllocation::Number(pair.to_owned());
        let amount: i64 = number::decimal(digits).ok_or_else(number)?;
        let factor = match word {
            "" => 1,
            "M" | "m" => 1,
            "G" | "g" => 1024,
            _ => return Err(BadAllocation::Unit(pair.to_owned())),
        };
        let (name, factor, divisor) = match name {
            "memory-mb" => ("memory-mb", factor, 1),
            // Without a unit the older name counts bytes.
            "memory" if word.is_empty() => ("memory-mb", 1, 1 << 20),
            "memory" => ("memory-mb", factor, 1),
            "gpu" => ("yarn.io/gpu", 1, 1),
            "fpga" => ("yarn.io/fpga", 1, 1),
            other => (other, 1, 1),
        };
        let known = types.iter().position(|known| &**known == name);
        let index = known.ok_or_else(|| BadAllocation::Type(name.to_owned()))?;
        let amount = amount.checked_mul(factor).ok_or_else(number)? / divisor;
        amounts.set(index, amount);
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Reference;

    fn types() -> Vec<Arc<str>> {
        ["memory-mb", "vcores", "gpu"].map(Arc::from).to_vec()
    }

    fn amounts(text: &str) -> Option<Vec<i64>> {
        let found = absolute(text, &types()).unwrap();
        found.map(|v| v.values(3).to_vec())
    }

    #[test]
    fn a_vector_without_memory_counts_since_3_5() {
        let text = "[memory=0,vcores=10]";
        let read = |reference: Reference| named_vector(text, &types(), &reference.rules());
        assert_eq!(read(Reference::Hadoop34), Ok(Vec::new()));
        let entries = vector(&read(Reference::Hadoop35).unwrap(), 2);
        let amounts = [0.0, 10.0].map(VectorEntry::Absolute);
        assert_eq!(entries, amounts);
    }

    #[test]
    fn absolute_values_have_case_sensitive_units() {
        assert_eq!(amounts("[memory=10Gi,vcores=2]"), Some(vec![10_240, 2, 0]));
        assert_eq!(amounts("[memory=10G,vcores=2]"), Some(vec![9_536, 2, 0]));
        let spaced = absolute("[ memory = 1,gpu=3]", &types());
        assert_eq!(spaced, Err(NoNumber), "a space before the number");
        assert_eq!(amounts("[memory-mb=1T]"), Some(vec![953_674, 0, 0]));
        assert_eq!(amounts("[memory=5,vcores=2w]"), Some(vec![5, 0, 0]));
        assert_eq!(amounts("[memory=5,vcores=4294967297]"), Some(vec![5, 1, 0]));
        assert_eq!(amounts("[memory=5,vcores=]"), Some(vec![5, 0, 0]));
        for unset in [
            "[memory=10gb]",
            "[memory=10GB]",
            "[memory=10k]",
            "[vcores=1]",
            "[foo=1]",
            "[memory=]",
            "[memory==,vcores=1]",
        ] {
            assert_eq!(amounts(unset), None, "{unset}");
        }
        for bad in [
            "[memory=10 Gi]",
            "[memory=10.5]",
            "[memory=99999999999P]",
            "[memory==5]",
        ] {
            let read = absolute(bad, &types());
            assert!(matches!(read, Err(NoNumber) | Ok(None)), "{bad}");
        }
        assert_eq!(absolute("[memory=10 Gi]", &types()), Err(NoNumber));
        assert_eq!(absolute(" [memory=10]", &types()), Ok(None));
    }

    #[test]
    fn vectors_mix_percent_weight_and_amounts() {
        // By 3.4, for which a vector without memory is none.
        let rules = Reference::Hadoop34.rules();
        let read = |text: &str| vector(&named_vector(text, &types(), &rules).unwrap(), 3);
        use VectorEntry::{Absolute, Percent, Unset, Weight};
        assert_eq!(
            read(" [memory=50%, vcores=2w] "),
            [Percent(50.0), Weight(2.0), Absolute(0.0)]
        );
        assert_eq!(
            read("[memory=1Gi,gpu=2]"),
            [Absolute(1024.0), Absolute(0.0), Absolute(2.0)]
        );
        assert_eq!(read("50"), [Percent(50.0); 3]);
        assert_eq!(read("1 w"), [Weight(1.0); 3]);
        for none in [
            "",
            "+50",
            "50f",
            "\n50\n",
            "[vcores=1]",
            "[memory=0,vcores=1]",
            "3e1",
            "50%",
        ] {
            assert_eq!(read(none), [Unset; 3], "{none:?}");
        }
        assert_eq!(named_vector(".", &types(), &rules), Err(NoNumber));
        let unknown = named_vector("[memory=1,fpga=2]", &types(), &rules).unwrap();
        assert_eq!(unknown[3], ("fpga".to_owned(), Absolute(2.0)));
    }

    #[test]
    fn vector_form_needs_a_name_and_a_value() {
        assert!(is_vector("[memory=1]"));
        assert!(is_vector(" [memory=50%,vcores=1] "));
        for not in [
            "[]",
            "[memory]",
            "[=1]",
            "[memory=]",
            "memory=1",
            "[a=b=c]",
            "[memory=1;x=2]",
        ] {
            assert!(!is_vector(not), "{not}");
        }
        assert!(is_absolute("[memory]"));
        assert!(!is_absolute("[memory=50%]"));
    }

    #[test]
    fn maximum_allocations_are_pairs() {
        let read = |text: &str| allocation(text, &types());
        let of = |values: &[i64]| Ok(ResourceVector::of(values));
        assert_eq!(read(" memory-mb=4G, vcores=2 "), of(&[4096, 2]));
        assert_eq!(read("memory-mb=512"), of(&[512]));
        assert_eq!(read("memory=4096M,vcores=2"), of(&[4096, 2]));
        assert_eq!(read("memory=4096"), of(&[0]));
        assert!(matches!(read("memory-mb=4Gi"), Err(BadAllocation::Unit(_))));
        assert!(matches!(read("memory-mb=-1"), Err(BadAllocation::Form(_))));
        assert!(matches!(read("memory-mb"), Err(BadAllocation::Form(_))));
        assert!(matches!(read("foo=1"), Err(BadAllocation::Type(_))));
        assert!(matches!(
            read("vcores=99999999999999999999"),
            Err(BadAllocation::Number(_))
        ));
    }
}
