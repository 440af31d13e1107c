//! Headroom: where a user's limit stands, when it moves, and what is reported to an application.

use anyhow::Result;
use capsched::api::ApplicationId;

use super::chart::{Axis, Chart, Fact, Lesson, Level, Mark, Series};
use super::cluster::{Cluster, size};

const QUEUES: &str = include_str!("../../../configs/scenarios/headroom.xml");
const WHOLE: &str = include_str!("../../../configs/scenarios/headroom-whole.xml");

const FIRST: &str = "root.first";
const SECOND: &str = "root.second";

/// GB of the only node; each queue is guaranteed one half.
const TOTAL: i64 = 120;
/// More than the cluster holds, so that the users never stop asking.
const PLENTY: i64 = 200;

pub(super) fn lesson() -> Result<Lesson> {
    let alone = alone(
        &[QUEUES],
        "alone",
        "One user, one queue; at least 30 % for a user",
    )?;
    let whole = {
        let files = [QUEUES, WHOLE];
        self::alone(
            &files,
            "alone-whole",
            "The same with minimum-user-limit-percent 100",
        )?
    };
    let fits = second_queue(
        50,
        "second-fits",
        "Second queue; one container more has room",
    )?;
    let full = second_queue(
        60,
        "second-full",
        "Second queue; one container more has no room",
    )?;
    let several = several()?;
    let facts = facts(&alone, &fits, &full, &several);
    Ok(Lesson {
        name: "headroom",
        title: "How far a user may go: user limit and headroom",
        about: "120 GB, two queues of 50 %, so each is guaranteed 60 GB and may use all. \
                minimum-user-limit-percent 30, user-limit-factor 100.",
        charts: [alone, whole, fits, full, several.run]
            .map(Run::into_chart)
            .into(),
        facts,
        assumed: vec![
            "One node of 120 GB, steps of 1 GB (\"required\" is the minimum allocation), \
             unmanaged applications that never stop asking; one container a beat.",
            "The limit is the one of the textbooks: current capacity by users, but at least 30 % of \
             it. YARN 3.4.2 computes it for all users and preempts by it.",
            "What gates allocations in 3.4.2 (\"enforced\") divides what the asking users have, \
             plus 1 GB, instead of the current capacity. It is never above the limit here, and one \
             with it when minimum-user-limit-percent is 100 and one user asks.",
            "Headroom is what replies to the application say: enforced limit less use, and no more than \
             the queue and the cluster have left. It is 0 until a pass has reached the queue.",
        ],
    })
}

/// Curves of one run, one value a beat.
struct Run {
    cluster: Cluster,
    name: &'static str,
    title: String,
    leaf: &'static str,
    user: &'static str,
    limit: Series,
    enforced: Series,
    headroom: Series,
    used: Series,
    levels: Vec<Level>,
    marks: Vec<Mark>,
}

impl Run {
    fn new(files: &[&str], name: &'static str, title: &str, leaf: &'static str) -> Result<Self> {
        let cluster = Cluster::new(files, 1, size(TOTAL, 120))?;
        let view = cluster.view();
        Ok(Self {
            levels: vec![
                Level::guarantee("guarantee of the queue", view.guarantee(leaf)),
                Level::maximum("maximum of the queue", view.maximum(leaf)),
            ],
            cluster,
            name,
            title: title.to_owned(),
            leaf,
            user: "ann",
            limit: Series::new("user limit: of the current capacity"),
            enforced: Series::new("user limit as enforced by 3.4.2"),
            headroom: Series::new("headroom in replies to ann's application"),
            used: Series::new("used in the queue"),
            marks: Vec::new(),
        })
    }

    fn submit(&mut self, user: &str, queue: &str, gb: i64, count: i64) -> Result<ApplicationId> {
        let app = self.cluster.submit(user, queue)?;
        self.cluster.ask(app, size(gb, 1), count)?;
        Ok(app)
    }

    fn sample(&mut self, app: ApplicationId) -> Result<()> {
        let headroom = self.cluster.headroom(app)?;
        let (enforced, limit) = self.cluster.limits(self.leaf, self.user)?;
        self.headroom.values.push(headroom);
        self.enforced.values.push(enforced);
        self.limit.values.push(limit);
        let used = self.cluster.view().used(self.leaf);
        self.used.values.push(used);
        Ok(())
    }

    fn forget_last(&mut self) {
        let curves = [&mut self.limit, &mut self.enforced, &mut self.headroom];
        for series in curves.into_iter().chain([&mut self.used]) {
            series.values.pop();
        }
    }

    /// Samples as things are, then after each of some beats.
    fn beats(&mut self, app: ApplicationId, beats: usize) -> Result<()> {
        self.sample(app)?;
        for _ in 0..beats {
            self.cluster.beat(1)?;
            self.sample(app)?;
        }
        Ok(())
    }

    /// Marks the first beat at which this much is used.
    fn mark_use(&mut self, used: i64, text: &str) {
        if let Some(at) = (0..).zip(&self.used.values).find(|(_, v)| **v == used) {
            self.marks.push(Mark {
                at: at.0,
                text: text.to_owned(),
            });
        }
    }

    /// The limit when this much was used, first.
    fn limit_at(&self, used: i64) -> i64 {
        let values = self.used.values.iter().zip(&self.limit.values);
        let mut found = values.filter(|(value, _)| **value == used);
        found.next().map_or(0, |(_, limit)| *limit)
    }

    fn into_chart(self) -> Chart {
        let end = i64::try_from(self.used.values.len()).unwrap_or(0) - 1;
        Chart {
            name: self.name,
            title: self.title,
            x: Axis {
                label: "heartbeats of the node",
                end,
                step: if end > 40 { 10 } else { 2 },
            },
            y: Axis {
                label: "GB",
                end: TOTAL,
                step: 20,
            },
            rows: 24,
            areas: vec![self.used],
            curves: vec![self.limit, self.enforced, self.headroom],
            levels: self.levels,
            marks: self.marks,
        }
    }
}

/// One user fills a queue beyond its guarantee with containers of 1 GB.
fn alone(files: &[&str], name: &'static str, title: &str) -> Result<Run> {
    let mut run = Run::new(files, name, title, FIRST)?;
    let app = run.submit("ann", FIRST, 1, PLENTY)?;
    run.beats(app, 90)?;
    run.mark_use(
        60,
        "the guarantee is used: the limit is used + 1 GB from here",
    );
    Ok(run)
}

/// A user who has `elsewhere` GB in the first queue asks in the second for containers of 7 GB:
/// eight are 56 GB, and the ninth would take the queue beyond its 60 GB.
fn second_queue(elsewhere: i64, name: &'static str, title: &str) -> Result<Run> {
    let title = format!("{title} (ann has {elsewhere} GB in the first)");
    let mut run = Run::new(&[QUEUES], name, &title, SECOND)?;
    run.submit("ann", FIRST, elsewhere, 1)?;
    run.cluster.beat(1)?;
    let app = run.submit("ann", SECOND, 7, PLENTY)?;
    run.beats(app, 14)?;
    run.mark_use(56, "eight containers: the next one is beyond the guarantee");
    run.mark_use(63, "it is placed: the limit is used + 1 GB");
    Ok(run)
}

/// What came of several users.
struct Several {
    run: Run,
    /// The limit when the n-th user has just asked.
    limits: Vec<i64>,
}

/// Users come one after the other, each after ten beats.
fn several() -> Result<Several> {
    let title = "One to five users, one queue; at least 30 % for a user";
    let mut run = Run::new(&[QUEUES], "several", title, FIRST)?;
    let mut limits = Vec::new();
    let mut first = None;
    let users = ["ann", "bob", "cem", "dee", "eve"];
    for (user, beats) in users.into_iter().zip([10, 10, 10, 10, 50]) {
        let app = run.submit(user, FIRST, 1, PLENTY)?;
        // The last sample is taken again: the user asks right after that beat.
        run.forget_last();
        let at = run.used.values.len();
        run.marks.push(Mark {
            at: i64::try_from(at)?,
            text: format!("{user} asks"),
        });
        run.beats(*first.get_or_insert(app), beats)?;
        limits.push(run.limit.values[at]);
    }
    Ok(Several { run, limits })
}

fn facts(alone: &Run, fits: &Run, full: &Run, several: &Several) -> Vec<Fact> {
    let gb = Fact::gb;
    let last = |run: &Run| run.limit.values.last().copied().unwrap_or(0);
    let users = &several.limits;
    vec![
        gb(
            "alone_at_0",
            "alone: limit when nothing is used",
            alone.limit_at(0),
        ),
        gb(
            "alone_at_59",
            "alone: limit when 59 GB are used",
            alone.limit_at(59),
        ),
        gb(
            "alone_at_60",
            "alone: limit when 60 GB are used",
            alone.limit_at(60),
        ),
        gb(
            "alone_at_90",
            "alone: limit when 90 GB are used",
            alone.limit_at(90),
        ),
        gb(
            "second_before",
            "second queue: limit before the ninth container",
            fits.limit_at(56),
        ),
        gb(
            "second_fits",
            "second queue: limit after it, when it has room",
            fits.limit_at(63),
        ),
        gb(
            "second_full",
            "second queue: limit at the end, when it has none",
            last(full),
        ),
        gb("one_user", "limit of one user", users[0]),
        gb("two_users", "limit of each of two users", users[1]),
        gb("three_users", "limit of each of three users", users[2]),
        gb("four_users", "limit of each of four users: 30 %", users[3]),
        gb("five_users", "limit of each of five users: 30 %", users[4]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_one_user_stands_at_the_guarantee_and_then_goes_ahead_of_use() {
        let run = alone(&[QUEUES], "", "").unwrap();
        assert_eq!(run.used.values, (0..=90).collect::<Vec<i64>>());
        for (used, limit) in run.used.values.iter().zip(&run.limit.values) {
            assert_eq!(*limit, if *used < 60 { 60 } else { used + 1 }, "at {used}");
        }
    }

    #[test]
    fn the_enforced_limit_is_30_percent_or_one_ahead_of_use() {
        let run = alone(&[QUEUES], "", "").unwrap();
        for (used, enforced) in run.used.values.iter().zip(&run.enforced.values) {
            assert_eq!(*enforced, (used + 1).max(18), "at {used}");
        }
        let shown = run.headroom.values.iter().zip(&run.used.values).skip(1);
        for (headroom, used) in shown {
            assert_eq!(*headroom, (used + 1).max(18) - used, "at {used}");
        }
    }

    #[test]
    fn with_100_percent_what_is_enforced_is_the_limit() {
        let run = alone(&[QUEUES, WHOLE], "", "").unwrap();
        assert_eq!(run.enforced.values, run.limit.values);
        for (headroom, used) in run.headroom.values.iter().zip(&run.used.values).skip(1) {
            assert_eq!(*headroom, (60 - used).max(1), "at {used}");
        }
    }

    #[test]
    fn in_a_second_queue_the_limit_jumps_when_one_container_more_is_placed() {
        let run = second_queue(50, "", "").unwrap();
        assert_eq!(run.used.values[7..10], [49, 56, 63]);
        assert_eq!(run.limit.values[7..10], [60, 60, 64]);
    }

    #[test]
    fn in_a_second_queue_the_limit_stays_when_one_container_more_has_no_room() {
        let run = second_queue(60, "", "").unwrap();
        assert_eq!(run.used.values.last(), Some(&56));
        assert!(run.limit.values.iter().all(|limit| *limit == 60));
    }

    #[test]
    fn several_users_have_an_equal_share_or_30_percent() {
        let several = several().unwrap();
        assert_eq!(several.limits, [60, 30, 20, 18, 18]);
        assert_eq!(several.run.used.values, (0..=90).collect::<Vec<i64>>());
        let asks: Vec<i64> = several.run.marks.iter().map(|mark| mark.at).collect();
        let values = several
            .run
            .used
            .values
            .iter()
            .zip(&several.run.limit.values);
        for (at, (used, limit)) in (0..).zip(values) {
            let users = i64::try_from(asks.iter().filter(|ask| **ask <= at).count()).unwrap();
            let current = if *used < 60 { 60 } else { used + 1 };
            let share = (current + users - 1) / users;
            assert_eq!(*limit, share.max((current * 3 + 9) / 10), "at beat {at}");
        }
    }

    #[test]
    fn what_is_enforced_is_never_above_the_limit() {
        let alone = alone(&[QUEUES], "", "").unwrap();
        let (fits, full) = (second_queue(50, "", ""), second_queue(60, "", ""));
        for run in [alone, fits.unwrap(), full.unwrap(), several().unwrap().run] {
            let mut values = run.enforced.values.iter().zip(&run.limit.values);
            assert!(values.all(|(enforced, limit)| enforced <= limit));
        }
    }
}
