//! Resource vectors, the two calculators and Java's number and hash rules, written out plainly.

use std::cmp::Ordering;

/// Amounts in the order of the scenario's resource types: memory MiB, vcores, the others.
pub(crate) type Res = Vec<i64>;

/// `a + b`, type by type.
pub(crate) fn add(a: &Res, b: &Res) -> Res {
    a.iter().zip(b).map(|(x, y)| x.wrapping_add(*y)).collect()
}

/// `a - b`, type by type.
pub(crate) fn sub(a: &Res, b: &Res) -> Res {
    a.iter().zip(b).map(|(x, y)| x.wrapping_sub(*y)).collect()
}

/// `a + sign * b`.
pub(crate) fn change(a: &Res, b: &Res, sign: i64) -> Res {
    if sign > 0 { add(a, b) } else { sub(a, b) }
}

/// `subtractNonNegative`: only memory and vcores stop at 0.
pub(crate) fn sub_floor(a: &Res, b: &Res) -> Res {
    let mut r = sub(a, b);
    r[0] = r[0].max(0);
    r[1] = r[1].max(0);
    r
}

/// The smaller amount of each type.
pub(crate) fn each_min(a: &Res, b: &Res) -> Res {
    a.iter().zip(b).map(|(x, y)| *x.min(y)).collect()
}

/// The larger amount of each type.
pub(crate) fn each_max(a: &Res, b: &Res) -> Res {
    a.iter().zip(b).map(|(x, y)| *x.max(y)).collect()
}

/// `multiplyAndRoundDown`: product in f64, truncated.
pub(crate) fn times(a: &Res, by: f32) -> Res {
    let mut product: Res = a
        .iter()
        .map(|x| (*x as f64 * f64::from(by)) as i64)
        .collect();
    // The number of vcores is an `int`.
    product[1] = product[1].min(i64::from(i32::MAX));
    product
}

/// `a * n`.
pub(crate) fn times_int(a: &Res, n: i64) -> Res {
    a.iter().map(|x| x.wrapping_mul(n)).collect()
}

/// Every type of `small` at most that of `big`.
pub(crate) fn fits(small: &Res, big: &Res) -> bool {
    small.iter().zip(big).all(|(x, y)| x <= y)
}

fn ceil_div(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_add(b - 1) / b }
}

fn ceil_div_f(a: i64, b: f32) -> i64 {
    if b == 0.0 {
        0
    } else {
        (a as f32 / b).ceil() as i64
    }
}

fn up(a: i64, step: i64) -> i64 {
    ceil_div(a, step).wrapping_mul(step)
}

fn down(a: i64, step: i64) -> i64 {
    if step == 0 { 0 } else { a / step * step }
}

fn safe_div(a: i64, b: i64) -> f32 {
    if a == 0 && b == 0 {
        0.0
    } else {
        a as f32 / b as f32
    }
}

/// `DefaultResourceCalculator` or `DominantResourceCalculator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calculator {
    /// Only memory counts; results are rebuilt from memory with 1 vcore, or 0 for none.
    Memory,
    /// All types count; the largest share of the cluster decides.
    Dominant,
}

fn made(memory: i64, like: &Res) -> Res {
    let mut r = vec![0; like.len()];
    r[0] = memory;
    r[1] = i64::from(memory > 0);
    r
}

fn by_type(r: &Res, step: &Res, f: impl Fn(i64, i64) -> i64) -> Res {
    let rounded = |(x, s): (&i64, &i64)| if *s == 0 { *x } else { f(*x, *s) };
    r.iter().zip(step).map(rounded).collect()
}

fn shares(r: &Res, cluster: &Res) -> Vec<f64> {
    let share = |(x, c): (&i64, &i64)| {
        if *c == 0 {
            f64::INFINITY
        } else {
            *x as f64 / *c as f64
        }
    };
    let mut s: Vec<f64> = r.iter().zip(cluster).map(share).collect();
    s.sort_by(|x, y| y.total_cmp(x));
    s
}

fn largest_share(r: &Res, cluster: &Res) -> f64 {
    let known = r.iter().zip(cluster).filter(|(_, c)| **c != 0);
    let shares = known.map(|(x, c)| *x as f64 / *c as f64);
    shares
        .fold(None, |best: Option<f64>, x| {
            Some(best.map_or(x, |b| b.max(x)))
        })
        .unwrap_or(0.0)
}

fn compare_dominant(cluster: &Res, a: &Res, b: &Res) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if cluster.iter().all(|x| *x == 0) {
        let more = a.iter().zip(b).any(|(x, y)| x > y);
        let less = a.iter().zip(b).any(|(x, y)| x < y);
        return if more && less {
            Ordering::Equal
        } else {
            more.cmp(&less)
        };
    }
    for (x, y) in shares(a, cluster).into_iter().zip(shares(b, cluster)) {
        if x.is_finite() && y.is_finite() && x != y {
            return x.total_cmp(&y);
        }
    }
    Ordering::Equal
}

impl Calculator {
    pub(crate) fn compare(self, cluster: &Res, a: &Res, b: &Res) -> Ordering {
        match self {
            Self::Memory => a[0].cmp(&b[0]),
            Self::Dominant => compare_dominant(cluster, a, b),
        }
    }

    pub(crate) fn more(self, cluster: &Res, a: &Res, b: &Res) -> bool {
        self.compare(cluster, a, b) == Ordering::Greater
    }

    /// How many containers of `req` fit.
    pub(crate) fn containers(self, avail: &Res, req: &Res) -> i64 {
        let fit = |i: usize| avail[i] / req[i];
        match self {
            Self::Memory => {
                if req[0] == 0 {
                    0
                } else {
                    fit(0)
                }
            }
            Self::Dominant => (0..req.len())
                .filter(|i| req[*i] != 0)
                .map(fit)
                .fold(i64::from(i32::MAX), i64::min),
        }
    }

    pub(crate) fn divide(self, cluster: &Res, a: &Res, b: &Res) -> f32 {
        if self == Self::Memory {
            return safe_div(a[0], b[0]);
        }
        let (x, y) = (largest_share(a, cluster), largest_share(b, cluster));
        match (x == 0.0, y == 0.0) {
            (true, true) => f32::NAN,
            (false, true) => f32::INFINITY,
            _ => (x / y) as f32,
        }
    }

    pub(crate) fn ratio(self, a: &Res, b: &Res) -> f32 {
        match self {
            Self::Memory => safe_div(a[0], b[0]),
            Self::Dominant => {
                let mut most = 0.0f32;
                for (x, y) in a.iter().zip(b) {
                    let r = safe_div(*x, *y);
                    if r > most {
                        most = r;
                    }
                }
                most
            }
        }
    }

    pub(crate) fn fits_in(self, small: &Res, big: &Res) -> bool {
        match self {
            Self::Memory => small[0] <= big[0],
            Self::Dominant => fits(small, big),
        }
    }

    /// Raised to the minimum, rounded up to the step, cut at the maximum.
    pub(crate) fn normalize(self, r: &Res, low: &Res, high: &Res, step: &Res) -> Res {
        match self {
            Self::Memory => {
                let step = if step[0] == 0 { low[0] } else { step[0] };
                made(up(r[0].max(low[0]), step).min(high[0]), r)
            }
            Self::Dominant => each_min(&by_type(&each_max(r, low), step, up), high),
        }
    }

    pub(crate) fn round_up(self, r: &Res, step: &Res) -> Res {
        match self {
            Self::Memory => made(up(r[0], step[0]), r),
            Self::Dominant => by_type(r, step, up),
        }
    }

    pub(crate) fn round_down(self, r: &Res, step: &Res) -> Res {
        match self {
            Self::Memory => made(down(r[0], step[0]), r),
            Self::Dominant => by_type(r, step, down),
        }
    }

    /// `multiplyAndNormalizeUp`.
    pub(crate) fn times_up(self, r: &Res, by: f32, step: &Res) -> Res {
        match self {
            Self::Memory => made(up((r[0] as f64 * f64::from(by) + 0.5) as i64, step[0]), r),
            Self::Dominant => {
                let product = |x: &i64| ((*x as f64 * f64::from(by)) as f32).ceil() as i64;
                by_type(&r.iter().map(product).collect(), step, up)
            }
        }
    }

    /// `multiplyAndNormalizeDown`.
    pub(crate) fn times_down(self, r: &Res, by: f32, step: &Res) -> Res {
        self.round_down(&times(r, by), step)
    }

    pub(crate) fn div_ceil_f(self, r: &Res, by: f32) -> Res {
        match self {
            Self::Memory => made(ceil_div_f(r[0], by), r),
            Self::Dominant => r.iter().map(|x| ceil_div_f(*x, by)).collect(),
        }
    }

    pub(crate) fn div_ceil(self, r: &Res, by: i64) -> Res {
        match self {
            Self::Memory => made(ceil_div(r[0], by), r),
            Self::Dominant => r.iter().map(|x| ceil_div(*x, by)).collect(),
        }
    }

    pub(crate) fn any_above_zero(self, r: &Res) -> bool {
        match self {
            Self::Memory => r[0] > 0,
            Self::Dominant => r.iter().any(|x| *x > 0),
        }
    }

    /// The larger of two, the first one when equal.
    pub(crate) fn max(self, cluster: &Res, a: &Res, b: &Res) -> Res {
        if self.compare(cluster, a, b) == Ordering::Less {
            b.clone()
        } else {
            a.clone()
        }
    }

    /// The smaller of two, the first one when equal.
    pub(crate) fn min(self, cluster: &Res, a: &Res, b: &Res) -> Res {
        if self.more(cluster, a, b) {
            b.clone()
        } else {
            a.clone()
        }
    }
}

/// `String.hashCode`.
pub(crate) fn string_hash(s: &str) -> u32 {
    s.encode_utf16()
        .fold(0u32, |h, c| h.wrapping_mul(31).wrapping_add(u32::from(c)))
}

/// `NodeId.hashCode` of "host:port".
pub(crate) fn node_hash(name: &str) -> u32 {
    let (host, port) = name.rsplit_once(':').unwrap();
    let h = 493_217u32
        .wrapping_mul(8501)
        .wrapping_add(string_hash(host));
    493_217u32
        .wrapping_mul(h)
        .wrapping_add(port.parse().unwrap())
}

/// `SchedulerRequestKey.hashCode`.
pub(crate) fn key_hash(key: (i64, i64)) -> u32 {
    let h = 517_861u32.wrapping_mul(9511).wrapping_add(key.0 as u32);
    let id = (key.1 ^ ((key.1 as u64) >> 32) as i64) as u32;
    h.wrapping_mul(31).wrapping_add(id).wrapping_mul(31)
}

/// Iteration order of a Java hash map into which the keys were put in this order. `most` is the
/// largest size that the map ever had, if larger than now.
pub(crate) fn hash_order<T: Clone>(keys: &[T], hash: impl Fn(&T) -> u32, most: usize) -> Vec<T> {
    let size = most.max(keys.len());
    let mut table = 16usize;
    while size * 4 > table * 3 {
        table *= 2;
    }
    let bucket = |k: &T| {
        let h = hash(k);
        (h ^ (h >> 16)) as usize & (table - 1)
    };
    let mut out = keys.to_vec();
    out.sort_by_key(bucket);
    out
}
