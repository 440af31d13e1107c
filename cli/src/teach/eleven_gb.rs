//! Eleven GB: what is allocated decides, not what is used; and what memory alone overlooks.

use anyhow::Result;

use super::chart::{Axis, Chart, Fact, Lesson, Level, Mark, Series};
use super::cluster::{Cluster, size};

const MEMORY: &str = include_str!("../../../configs/scenarios/eleven-gb.xml");
const DOMINANT: &str = include_str!("../../../configs/scenarios/eleven-gb-dominant.xml");

const QUEUE: &str = "root.default";

/// GB and vcores of the only node.
const NODE: (i64, i64) = (11, 4);
/// What the first application's program really uses. Given: no scheduler measures it.
const REALLY_USED: i64 = 1;
/// Seconds that a container runs.
const RUNS: i64 = 10;

pub(super) fn lesson() -> Result<Lesson> {
    let (waits, waiting) = waiting()?;
    let large = jobs(&[10, 10, 9], "large", "Three jobs ask for 10, 10 and 9 GB")?;
    let small = jobs(&[5, 5, 5], "small", "The same three ask for 5 GB each")?;
    let memory = fill(&[MEMORY], (1, 1))?;
    let dominant = fill(&[MEMORY, DOMINANT], (1, 1))?;
    let wide = [fill(&[MEMORY], (1, 2))?, fill(&[MEMORY, DOMINANT], (1, 2))?];
    let mut facts = use_facts(&waits, &large, &small);
    let [default_wide, dominant_wide] = &wide;
    let two = [default_wide, dominant_wide];
    facts.extend(calculator_facts([&memory, &dominant], two));
    let calculators = calculators(memory, dominant);
    Ok(Lesson {
        name: "eleven-gb",
        title: "One node of 11 GB",
        about: "A asks for 10 GB and uses 1 GB of it. B asks for 10 GB and waits, although 10 GB \
                of memory lie idle.",
        charts: vec![waiting, large.chart, small.chart, calculators],
        facts,
        assumed: vec![
            "That A really uses 1 GB is given: a container holds what was allocated, whatever its \
             program does, and no scheduler knows.",
            "Each container runs for 10 s, the node beats every second and gets one container a \
             beat; applications are unmanaged. The node has 4 vcores.",
            "Under the default calculator memory alone counts: vcores are allocated but never \
             tested, and every container gets 1 vcore, whatever was asked.",
        ],
    })
}

/// What the scheduler says while A runs.
struct Waits {
    /// A's and B's allocation, and what B waits for, in GB.
    allocated: [i64; 2],
    pending: i64,
    /// The second in which B gets its container.
    served: i64,
}

fn axis(label: &'static str, end: i64, step: i64) -> Axis {
    Axis { label, end, step }
}

fn node_level() -> Level {
    Level::maximum("the node", NODE.0)
}

fn mark(at: i64, text: &str) -> Mark {
    let text = text.to_owned();
    Mark { at, text }
}

fn waiting() -> Result<(Waits, Chart)> {
    const ENDS: i64 = 12;
    let mut cluster = Cluster::new(&[MEMORY], 1, size(NODE.0, NODE.1))?;
    let labels = ["A: allocated", "B: allocated"];
    let mut areas = labels.map(Series::new);
    let mut pending = Series::new("B: asked and waiting");
    let mut used = Series::new("A: really used (given)");
    let mut waits = None;
    let mut served = 0;
    let a = cluster.submit("a", QUEUE)?;
    cluster.ask(a, size(10, 1), 1)?;
    let mut b = None;
    for second in 0..=20 {
        match second {
            3 => {
                let app = cluster.submit("b", QUEUE)?;
                cluster.ask(app, size(10, 1), 1)?;
                b = Some(app);
            }
            ENDS => cluster.finish(a)?,
            _ => {}
        }
        cluster.beat(1)?;
        let view = cluster.view();
        let of_a = view.app(a).0;
        let (of_b, waiting) = b.map_or((0, 0), |app| view.app(app));
        areas[0].values.push(of_a);
        areas[1].values.push(of_b);
        pending.values.push(waiting);
        used.values.push(of_a.min(REALLY_USED));
        if second == ENDS - 1 {
            waits = Some([of_a, of_b, waiting]);
        }
        if of_b > 0 && served == 0 {
            served = second;
        }
    }
    let [of_a, of_b, waiting] = waits.unwrap_or_default();
    let chart = Chart {
        name: "allocated",
        title: "What is allocated decides, not what is used".to_owned(),
        x: axis("seconds", 20, 2),
        y: axis("GB", 12, 2),
        rows: 12,
        areas: areas.into(),
        curves: vec![pending, used],
        levels: vec![node_level()],
        marks: vec![
            mark(0, "A asks for 10 GB and gets them"),
            mark(3, "B asks for 10 GB and waits"),
            mark(ENDS, "A ends; B gets its container"),
        ],
    };
    let waits = Waits {
        allocated: [of_a, of_b],
        pending: waiting,
        served,
    };
    Ok((waits, chart))
}

/// Three jobs of one container each.
struct Jobs {
    chart: Chart,
    /// Most of them at the same time.
    together: i64,
    /// The second in which the last one ends.
    done: i64,
}

fn jobs(sizes: &[i64; 3], name: &'static str, title: &str) -> Result<Jobs> {
    let mut cluster = Cluster::new(&[MEMORY], 1, size(NODE.0, NODE.1))?;
    let mut apps = Vec::new();
    let mut areas = Vec::new();
    for (number, gb) in (1..).zip(sizes) {
        let app = cluster.submit(&format!("user{number}"), QUEUE)?;
        cluster.ask(app, size(*gb, 1), 1)?;
        apps.push(app);
        areas.push(Series::new(format!("job {number}: {gb} GB")));
    }
    let mut ends = Vec::new();
    let (mut together, mut done) = (0, 0);
    for second in 0..=32 {
        let over: Vec<_> = ends.extract_if(.., |(end, _)| *end == second).collect();
        for (_, container) in over {
            cluster.finish_container(container);
            done = second;
        }
        cluster.beat(1)?;
        let placed = cluster.take_placed();
        ends.extend(placed.into_iter().map(|id| (second + RUNS, id)));
        let view = cluster.view();
        for (app, series) in apps.iter().zip(&mut areas) {
            series.values.push(view.app(*app).0);
        }
        together = together.max(view.first_node()[3]);
    }
    let chart = Chart {
        name,
        title: title.to_owned(),
        x: axis("seconds", 32, 4),
        y: axis("GB", 12, 2),
        rows: 12,
        areas,
        curves: Vec::new(),
        levels: vec![node_level()],
        marks: vec![mark(done, "the last job has ended")],
    };
    Ok(Jobs {
        chart,
        together,
        done,
    })
}

/// A node filled with equal containers.
struct Fill {
    /// Containers on the node after each beat.
    placed: Vec<i64>,
    containers: i64,
    /// Vcores of each container, as allocated.
    each: i64,
    /// Vcores the node has left; below 0 when more are allocated than there are.
    left: i64,
}

fn fill(files: &[&str], (gb, vcores): (i64, i64)) -> Result<Fill> {
    let mut cluster = Cluster::new(files, 1, size(NODE.0, NODE.1))?;
    let app = cluster.submit("a", QUEUE)?;
    cluster.ask(app, size(gb, vcores), 20)?;
    let mut placed = vec![0];
    for _ in 0..16 {
        cluster.beat(1)?;
        let [.., containers] = cluster.view().first_node();
        placed.push(containers);
    }
    let [_, allocated, left, containers] = cluster.view().first_node();
    Ok(Fill {
        placed,
        containers,
        each: allocated / containers.max(1),
        left,
    })
}

fn calculators(memory: Fill, dominant: Fill) -> Chart {
    let series = |label: &str, values: Vec<i64>| Series {
        label: label.to_owned(),
        values,
    };
    Chart {
        name: "calculators",
        title: "20 containers of 1 GB and 1 vcore are asked: which calculator?".to_owned(),
        x: axis("heartbeats of the node", 16, 2),
        y: axis("containers", 12, 2),
        rows: 12,
        areas: Vec::new(),
        curves: vec![
            series("default calculator: memory alone counts", memory.placed),
            series(
                "dominant-resource calculator: vcores count too",
                dominant.placed,
            ),
        ],
        levels: vec![
            Level::maximum("GB of the node", NODE.0),
            Level::maximum("vcores of the node", NODE.1),
        ],
        marks: Vec::new(),
    }
}

fn fact(key: &'static str, text: &'static str, value: i64, unit: &'static str) -> Fact {
    Fact {
        key,
        text,
        value,
        unit,
    }
}

fn use_facts(waits: &Waits, large: &Jobs, small: &Jobs) -> Vec<Fact> {
    let gb = Fact::gb;
    let free = NODE.0 - waits.allocated[0];
    let most = "jobs at once";
    vec![
        gb("a_allocated", "allocated to A", waits.allocated[0]),
        gb(
            "b_allocated",
            "allocated to B while A runs",
            waits.allocated[1],
        ),
        gb("b_waits", "B waits for", waits.pending),
        gb("free", "not allocated: too little for B", free),
        fact(
            "b_served",
            "B gets its container when A ends, at",
            waits.served,
            "s",
        ),
        fact(
            "large_together",
            "10 + 10 + 9 GB: at most",
            large.together,
            most,
        ),
        fact(
            "large_done",
            "10 + 10 + 9 GB: all done after",
            large.done,
            "s",
        ),
        fact(
            "small_together",
            "5 + 5 + 5 GB: at most",
            small.together,
            most,
        ),
        fact(
            "small_done",
            "5 + 5 + 5 GB: all done after",
            small.done,
            "s",
        ),
    ]
}

/// The default calculator first, then the dominant-resource calculator.
fn calculator_facts(one: [&Fill; 2], two: [&Fill; 2]) -> Vec<Fact> {
    let many = "containers";
    let [memory, dominant] = one;
    vec![
        fact(
            "default_containers",
            "default calculator: 1 GB, 1 vcore asked",
            memory.containers,
            many,
        ),
        fact(
            "default_vcores_left",
            "  the node then has left, of 4",
            memory.left,
            "vcores",
        ),
        fact(
            "dominant_containers",
            "dominant-resource calculator: the same",
            dominant.containers,
            many,
        ),
        fact(
            "dominant_vcores_left",
            "  the node then has left, of 4",
            dominant.left,
            "vcores",
        ),
        fact(
            "default_wide",
            "default calculator: 1 GB, 2 vcores asked",
            two[0].containers,
            many,
        ),
        fact(
            "default_wide_vcores",
            "  each container gets",
            two[0].each,
            "vcore",
        ),
        fact(
            "dominant_wide",
            "dominant-resource calculator: the same",
            two[1].containers,
            many,
        ),
        fact(
            "dominant_wide_vcores",
            "  each container gets",
            two[1].each,
            "vcores",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_waits_for_10_gb_while_a_holds_10_and_uses_1() {
        let (waits, chart) = waiting().unwrap();
        assert_eq!(waits.allocated, [10, 0]);
        assert_eq!((waits.pending, waits.served), (10, 12));
        assert_eq!(chart.curves[1].values[11], REALLY_USED);
    }

    #[test]
    fn large_asks_run_one_by_one_and_small_ones_two_at_a_time() {
        let large = jobs(&[10, 10, 9], "", "").unwrap();
        let small = jobs(&[5, 5, 5], "", "").unwrap();
        assert_eq!((large.together, large.done), (1, 30));
        assert_eq!((small.together, small.done), (2, 20));
    }

    #[test]
    fn memory_alone_decides_under_the_default_calculator() {
        let one = fill(&[MEMORY], (1, 1)).unwrap();
        assert_eq!((one.containers, one.left), (11, -7));
        let two = fill(&[MEMORY], (1, 2)).unwrap();
        assert_eq!((two.containers, two.each, two.left), (11, 1, -7));
    }

    #[test]
    fn vcores_decide_under_the_dominant_resource_calculator() {
        let files = [MEMORY, DOMINANT];
        let one = fill(&files, (1, 1)).unwrap();
        assert_eq!((one.containers, one.left), (4, 0));
        let two = fill(&files, (1, 2)).unwrap();
        assert_eq!((two.containers, two.each, two.left), (2, 2, 0));
    }
}
