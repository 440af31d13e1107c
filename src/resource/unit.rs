//! Units of amounts, and how an amount changes its unit.

/// A unit that a resource type may have: a power of ten, a power of two, or one.
///
/// Names are case-sensitive: `m` is a thousandth, `M` a million, `Mi` 2^20.
// As UnitsConversionUtil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUnit {
    /// Base units that one of this unit has.
    numerator: i64,
    /// Parts that one base unit has of this unit.
    denominator: i64,
    name: &'static str,
}

impl Default for ResourceUnit {
    fn default() -> Self {
        Self::ONE
    }
}

const fn unit(name: &'static str, numerator: i64, denominator: i64) -> ResourceUnit {
    ResourceUnit {
        numerator,
        denominator,
        name,
    }
}

/// All units, smallest first.
const UNITS: [ResourceUnit; 15] = [
    unit("p", 1, 1_000_000_000_000),
    unit("n", 1, 1_000_000_000),
    unit("u", 1, 1_000_000),
    unit("m", 1, 1_000),
    ResourceUnit::ONE,
    unit("k", 1_000, 1),
    unit("M", 1_000_000, 1),
    unit("G", 1_000_000_000, 1),
    unit("T", 1_000_000_000_000, 1),
    unit("P", 1_000_000_000_000_000, 1),
    unit("Ki", 1 << 10, 1),
    ResourceUnit::MEBI,
    unit("Gi", 1 << 30, 1),
    unit("Ti", 1 << 40, 1),
    unit("Pi", 1 << 50, 1),
];

impl ResourceUnit {
    /// No unit: amounts are counted one by one.
    pub const ONE: Self = unit("", 1, 1);
    /// 2^20, the unit of memory.
    pub const MEBI: Self = unit("Mi", 1 << 20, 1);

    /// The unit of a name; nothing for other names. The empty name is [`ResourceUnit::ONE`].
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        UNITS.into_iter().find(|unit| unit.name == name)
    }

    /// The names of all units, smallest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        UNITS.into_iter().map(|unit| unit.name)
    }

    /// The name, as it is written behind an amount.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// An amount of this unit in the unit `to`, cut towards zero; nothing when it leaves the range.
    ///
    /// The reference's shortcut for large amounts is part of the result: it multiplies with the
    /// whole part of the ratio alone. Products of negative amounts wrap.
    // As UnitsConversionUtil.convert.
    #[must_use]
    pub const fn convert(self, amount: i64, to: Self) -> Option<i64> {
        if self.numerator == to.numerator && self.denominator == to.denominator {
            return Some(amount);
        }
        let numerator = self.numerator.wrapping_mul(to.denominator);
        let denominator = self.denominator.wrapping_mul(to.numerator);
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let most = i64::MAX / numerator;
        if numerator < denominator {
            if most < amount {
                return None;
            }
            return Some(amount.wrapping_mul(numerator) / denominator);
        }
        if most > amount {
            return Some(numerator.wrapping_mul(amount) / denominator);
        }
        let ratio = numerator / denominator;
        if ratio == 0 || i64::MAX / ratio < amount {
            return None;
        }
        Some(amount * ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(from: &str, to: &str, amount: i64) -> Option<i64> {
        let [from, to] = [from, to].map(|name| ResourceUnit::parse(name).unwrap());
        from.convert(amount, to)
    }

    #[test]
    fn amounts_are_cut_towards_zero() {
        assert_eq!(convert("Gi", "Mi", 10), Some(10_240));
        assert_eq!(convert("G", "Mi", 10), Some(9_536));
        assert_eq!(convert("", "G", 10), Some(0));
        assert_eq!(convert("", "m", 11), Some(11_000));
        assert_eq!(convert("k", "Mi", 1), Some(0));
        assert_eq!(convert("Mi", "Mi", i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn large_amounts_use_the_whole_part_of_the_ratio() {
        assert_eq!(convert("P", "Mi", 9_222), Some(8_794_784_545_898));
        assert_eq!(convert("P", "Mi", 10_000), Some(9_536_743_160_000));
        assert_eq!(convert("", "p", 10_000_000), None);
        assert_eq!(convert("Pi", "Mi", 8_589_934_592), None);
    }

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(ResourceUnit::parse(""), Some(ResourceUnit::ONE));
        assert_eq!(ResourceUnit::parse("Mi"), Some(ResourceUnit::MEBI));
        for none in ["GB", "gi", "g", "K", "mi", " ", "MiB"] {
            assert_eq!(ResourceUnit::parse(none), None, "{none}");
        }
        assert!(
            ResourceUnit::names()
                .all(|name| { ResourceUnit::parse(name).is_some_and(|unit| unit.name() == name) })
        );
    }
}
