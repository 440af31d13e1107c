//! Capacities outside legacy mode: per type, in f64, absolute numbers before percents before weights.

use super::config::{Unit, Vector};
use super::resources::Res;
use super::state::{QueueIdx, Scheduler};
use std::collections::BTreeMap;

/// What one type of one parent has to give.
struct Type {
    i: usize,
    ratio: f64,
    /// Who wants more than is left gets nothing.
    all_or_nothing: bool,
    weights: f64,
    up_min: f64,
    up_max: f64,
    cluster: f64,
}

fn part(a: f64, b: f64) -> f64 {
    if b == 0.0 { f64::NAN } else { a / b }
}

fn rounded(x: f64, unit: Unit) -> f64 {
    let whole = x.floor();
    // The sum with one half is 1 for the number just below one half.
    if unit == Unit::Weight && x - whole >= 0.5 {
        whole + 1.0
    } else {
        whole
    }
}

impl Type {
    fn low(&self, unit: Unit, v: f64, batch: f64) -> f64 {
        let share = part(batch, self.up_min);
        let mine = part(self.up_min, self.cluster);
        let x = match unit {
            Unit::Absolute => self.ratio * share * v,
            Unit::Percent => self.cluster * (mine * share * v / 100.0),
            _ => {
                let w = part(v, self.weights);
                if w == 1.0 {
                    batch
                } else {
                    self.cluster * (mine * share * w)
                }
            }
        };
        rounded(x, unit)
    }

    fn high(&self, unit: Unit, v: f64) -> f64 {
        let y = match unit {
            Unit::Absolute | Unit::None => v,
            _ => self.cluster * (part(self.up_max, self.cluster) * v / 100.0),
        };
        let y = rounded(y, unit);
        if y == 0.0 || y > self.up_max {
            self.up_max
        } else {
            y
        }
    }
}

impl Scheduler {
    fn everywhere(&self, unit: Unit, v: f64) -> Vector {
        (0..self.types).map(|i| (i, (unit, v))).collect()
    }

    pub(crate) fn entries(&self, text: Option<&str>, default: f64) -> Vector {
        let Some(text) = text.map(str::trim) else {
            return self.everywhere(Unit::Percent, default);
        };
        if text.starts_with('[') {
            let mut vector = self.everywhere(Unit::Absolute, 0.0);
            vector.extend(self.conf.vector(text).unwrap());
            // A vector without memory is none.
            return if vector[&0].1 > 0.0 {
                vector
            } else {
                Vector::new()
            };
        }
        if let Some(w) = text.strip_suffix('w') {
            return self.everywhere(Unit::Weight, w.parse().unwrap());
        }
        let v: f64 = text.trim_end_matches('%').parse().unwrap();
        self.everywhere(Unit::Percent, if v == -1.0 { default } else { v })
    }

    fn capacity_vector(&self, q: QueueIdx, p: &str) -> Vector {
        let queue = self.q(q);
        if let Some((low, _)) = queue.vectors.get(p) {
            return low.clone();
        }
        let text = self.conf.capacity_text(&queue.path, p, "capacity");
        // Without a value there is neither a minimum nor a maximum.
        let given = text.map_or_else(Vector::new, |text| self.entries(Some(text), 0.0));
        if self.is_flexible(q) && given.is_empty() {
            return self.entries(Some("1w"), 0.0);
        }
        given
    }

    fn maximum_vector(&self, q: QueueIdx, p: &str) -> Vector {
        if let Some((_, high)) = self.queues[q].vectors.get(p) {
            return high.clone();
        }
        let text = self.conf.capacity_text(&self.q(q).path, p, "capacity");
        if self.is_flexible(q) && text.is_none_or(|text| self.entries(Some(text), 0.0).is_empty()) {
            return self.entries(None, 100.0);
        }
        match self
            .conf
            .capacity_text(&self.q(q).path, p, "maximum-capacity")
        {
            // The parent's maximum.
            None => self.everywhere(Unit::None, 0.0),
            text => self.entries(text, 100.0),
        }
    }

    /// Effective minimum and maximum of all children of one parent.
    pub(crate) fn distribute(&mut self, parent: QueueIdx) {
        for p in self.queues[parent].labels.clone() {
            let mut kids = self.queues[parent].children.clone();
            kids.retain(|c| self.queues[*c].labels.contains(&p));
            let low: Vec<Vector> = kids.iter().map(|c| self.capacity_vector(*c, &p)).collect();
            let high: Vec<Vector> = kids.iter().map(|c| self.maximum_vector(*c, &p)).collect();
            let (mut mins, mut maxs) = (Vec::new(), Vec::new());
            for (c, v) in kids.iter().zip(&low) {
                // Where a vector has no type none is visited: what there was stays.
                let (mut min, mut max) = (self.eff_min(*c, &p), self.eff_max(*c, &p));
                if !v.is_empty() {
                    (min, max) = (self.zero.clone(), self.zero.clone());
                }
                mins.push(min);
                maxs.push(max);
            }
            for i in 0..self.types {
                let t = self.type_of(parent, &p, i, &low);
                share_out(&t, &low, &high, &mut mins, &mut maxs);
            }
            for ((c, min), max) in kids.into_iter().zip(mins).zip(maxs) {
                self.queues[c].eff_min.insert(p.clone(), min);
                self.queues[c].eff_max.insert(p.clone(), max);
            }
        }
    }

    fn type_of(&self, parent: QueueIdx, p: &str, i: usize, low: &[Vector]) -> Type {
        let up_min = self.eff_min(parent, p)[i];
        let with = |unit: Unit| {
            low.iter()
                .filter_map(move |v| v.get(&i))
                .filter(move |x| x.0 == unit)
                .map(|x| x.1)
        };
        let wanted: i64 = with(Unit::Absolute).map(|v| v as i64).sum();
        let managed = self.queues[parent].managed;
        let ratio = if wanted == 0 || managed {
            1.0
        } else {
            wanted.min(up_min) as f32 / wanted as f32
        };
        Type {
            i,
            ratio: f64::from(ratio),
            all_or_nothing: managed,
            weights: with(Unit::Weight).sum(),
            up_min: up_min as f64,
            up_max: self.eff_max(parent, p)[i] as f64,
            cluster: self.total(p)[i] as f64,
        }
    }

    /// The root has the whole cluster in every partition.
    pub(crate) fn whole_cluster_for_root(&mut self) {
        let root = self.root;
        let mut labels = self.queues[root].labels.clone();
        labels.insert(String::new());
        for p in labels {
            let t = self.total(&p);
            let queue = &mut self.queues[root];
            queue.eff_min.insert(p.clone(), t.clone());
            queue.eff_max.insert(p.clone(), t);
            let c = queue.caps.entry(p).or_default();
            c.abs = 1.0;
        }
    }
}

fn share_out(t: &Type, low: &[Vector], high: &[Vector], mins: &mut [Res], maxs: &mut [Res]) {
    let none = (Unit::None, 0.0);
    let (mut overall, mut batch) = (t.up_min, t.up_min);
    for unit in [Unit::Absolute, Unit::Percent, Unit::Weight] {
        let mut spent = 0.0;
        let of_unit: BTreeMap<usize, f64> = low
            .iter()
            .enumerate()
            .filter_map(|(c, v)| v.get(&t.i).filter(|x| x.0 == unit).map(|x| (c, x.1)))
            .collect();
        for (c, v) in of_unit {
            let mut x = t.low(unit, v, batch);
            let (how, m) = high[c].get(&t.i).copied().unwrap_or(none);
            let y = t.high(how, m);
            if t.i > 0 && mins[c][0] == 0 {
                x = 0.0;
            }
            if y < x {
                x = y;
            }
            if x > overall {
                x = if t.all_or_nothing { 0.0 } else { overall };
            }
            mins[c][t.i] = x as i64;
            maxs[c][t.i] = y as i64;
            if !x.is_nan() {
                overall -= x;
                spent += x;
            }
        }
        batch -= spent;
    }
}
