//! Where the specification says how a value that differs comes about.

/// Parts of places with the chapters behind them; the first that occurs counts.
///
/// Numbers are chapters of the specification's first page (`core`), letters parts of its second
/// one (`policies`).
const RULES: [(&str, &str); 48] = [
    (".scheduler.", "D.1-D.4, 15"),
    (".settings.", "D.2-D.5, 15.2"),
    (".decision", "8.2-8.10, 13; commit 11; reservations 12"),
    (".child_order", "4.1, 16.3"),
    (".after", "D.6"),
    (".headroom", "6.5"),
    (".last_limit", "6.1, 6.3"),
    (".num_active_users", "1.4"),
    (".user_am_limit", "7.4"),
    (".am_limit", "7.4"),
    (".am_used", "7.4, 7.5"),
    (".users", "1.4, 6.2"),
    (".max_apps", "7.2"),
    (".max_alloc", "14.3, D.4"),
    (".non_runnable_apps", "7.3"),
    (".active_apps", "7.5"),
    (".pending_apps", "7.5"),
    (".activated", "7.5"),
    (".made_runnable", "7.3"),
    (".norm_weight", "3.2"),
    (".weight", "3.1, 3.2"),
    (".abs_used_cap", "3.5"),
    (".used_cap", "3.5"),
    (".abs_max_cap", "3.2-3.4"),
    (".abs_cap", "3.2-3.4"),
    (".max_cap", "3.2-3.4"),
    (".cap", "3.2-3.4"),
    (".eff_m", "3.3, 3.4"),
    (".reserved", "12, 7.6"),
    (".pending", "1.6"),
    (".used", "3.6"),
    (".nodes", "1.7, B.1"),
    (".partitions", "1.2, B.1"),
    (".apps", "1.5, 7.5"),
    (".am_started", "8.1"),
    (".am_lost", "8.1"),
    (".am", "14.2"),
    (".allocated", "8.1"),
    (".finished", "1.7"),
    (".launched", "1.7"),
    (".exited", "1.7"),
    (".preempt", "A.2, A.9"),
    (".mark", "A.2-A.8"),
    (".kill", "A.2-A.9"),
    (".priority", "D.11"),
    (".moved", "7.6"),
    (".error", "7.1, 14.4, D.6, D.8"),
    (".accepted", "7.1, D.2, D.6"),
];

/// The chapters about a place; the whole specification where none is known.
pub(super) fn of(place: &str) -> &'static str {
    let mut rules = RULES.iter();
    let found = rules.find(|(part, _)| place.contains(part));
    found.map_or("core, policies", |(_, chapters)| chapters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_leads_to_its_chapters() {
        assert_eq!(of(".headroom"), "6.5");
        assert_eq!(of(".queues[root.a].labels..abs_used_cap"), "3.5");
        assert_eq!(of(".queues[root.a].users.u1.last_limit"), "6.1, 6.3");
        assert_eq!(of(".nothing"), "core, policies");
    }
}
