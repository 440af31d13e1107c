//! What holds for a whole partition of YuniKorn.

use std::collections::BTreeMap;

use serde_yaml_ng::Value;

use super::Converted;

const POLICY: &str = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy";

/// Sets the properties of the whole scheduler; `others` is what stands beside the queues of a partition.
pub(super) fn properties(name: &str, others: &BTreeMap<String, Value>, out: &mut Converted) {
    for key in others.keys().filter(|key| *key != "preemption") {
        let place = format!("partition {name}");
        out.lose(place, key.clone(), "there is no counterpart");
    }
    // It is on unless it is switched off.
    let preemption = others.get("preemption").and_then(|of| of.get("enabled"));
    if preemption.and_then(Value::as_bool) != Some(false) {
        out.site("yarn.resourcemanager.scheduler.monitor.enable", "true");
        out.site("yarn.resourcemanager.scheduler.monitor.policies", POLICY);
    }
    // Amounts stand beside weights only outside legacy mode.
    out.set("legacy-queue-mode.enabled", "false");
    out.set("maximum-am-resource-percent", "1");
    out.set(
        "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> Converted {
        let others = serde_yaml_ng::from_str(text).expect("a mapping");
        let mut out = Converted::default();
        properties("default", &others, &mut out);
        out
    }

    #[test]
    fn preemption_is_on_unless_it_is_switched_off() {
        for (text, on) in [
            ("{}", true),
            ("{preemption: {enabled: true}}", true),
            ("{preemption: {enabled: false}}", false),
        ] {
            let out = converted(text);
            let monitor = "yarn.resourcemanager.scheduler.monitor.enable";
            assert_eq!(out.site.contains_key(monitor), on, "{text}");
            assert!(out.lost.is_empty(), "{text}");
        }
        assert_eq!(
            converted("{nodesortpolicy: {type: binpacking}}").lost.len(),
            1
        );
    }
}
