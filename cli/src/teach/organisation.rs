//! The organisation: development grows into what qa leaves, and gives it back as its work ends.

use anyhow::Result;
use capsched::api::ApplicationId;

use super::chart::{Axis, Chart, Fact, Lesson, Level, Mark, Series};
use super::cluster::{Cluster, size};

const QUEUES: &str = include_str!("../../../configs/scenarios/organisation.xml");
const PREEMPTION: &str = include_str!("../../../configs/scenarios/organisation-preemption.xml");
const CAPPED: &str = include_str!("../../../configs/scenarios/organisation-capped.xml");

const DEVELOPMENT: &str = "root.engineering.development";
const QA: &str = "root.engineering.qa";
const SUPPORT: &str = "root.support";
const MARKETING: &str = "root.marketing";

/// Nodes of 10 GB.
const NODES: u16 = 100;
/// Nodes that beat in one second; each beats every five.
const BEATS: usize = 20;
/// Seconds in which nothing more happens before the next event.
const CALM: usize = 6;

pub(super) fn lesson() -> Result<Lesson> {
    let (open, free) = play(
        &[QUEUES],
        Work::Ends,
        "open",
        "development may use all of engineering",
    )?;
    let (capped, limited) = play(
        &[QUEUES, CAPPED],
        Work::Ends,
        "capped",
        "maximum-capacity of development is 40 %",
    )?;
    let (taken, preempted) = play(
        &[QUEUES, PREEMPTION],
        Work::Stays,
        "preempted",
        "qa takes its guarantee back by preemption",
    )?;
    let (_, waiting) = play(
        &[QUEUES],
        Work::Stays,
        "waiting",
        "nobody gives qa its share",
    )?;
    let compared = compared(&preempted, &waiting);
    Ok(Lesson {
        name: "organisation",
        title: "An organisation shares 1,000 GB",
        about: "100 nodes of 10 GB. Engineering 60 % (development 20 %, qa 80 % of it), support \
                10 %, marketing 30 %; support and marketing use all of theirs.",
        charts: vec![free, limited, preempted, compared],
        facts: facts(&open, &capped, &taken),
        assumed: vec![
            "All containers are of 1 GB; applications are unmanaged: no container is a master's.",
            "minimum-user-limit-percent is 100, user-limit-factor 1, maximum-am-resource-percent 1.",
            "An application asks for its user limit, as the engine gives it, and no more. The \
             scheduler tests what a user has before a container is placed, so one that keeps \
             asking ends one container above its limit (121 GB).",
            "The maximum-capacity of engineering is its 60 %: a maximum is a share of the parent's \
             maximum, so 40 % of it are 240 GB. Under a parent that may use the whole cluster, \
             40 % would be 400 GB.",
            "Each node beats every 5 s and may get one container a beat. Nothing is preempted but where \
             a chart says so; there a round runs every 3 s, containers asked back are killed after \
             15 s, and 10 % above a guarantee are left alone. No application ends there, nor in the \
             run without preemption of the last chart.",
        ],
    })
}

/// GB of development and qa when things have come to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) development: i64,
    pub(super) qa: i64,
}

/// What came out of one run.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Of each of the two first users.
    pub(super) each: [i64; 2],
    /// After two users, after five, when qa has asked, and as development's applications end.
    pub(super) rests: Vec<Rest>,
}

/// What becomes of the applications in development once qa has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// One after the other ends, and its user submits the next.
    Ends,
    /// None ends.
    Stays,
}

struct Run {
    cluster: Cluster,
    series: [Series; 4],
    marks: Vec<Mark>,
    work: Work,
}

impl Run {
    fn sample(&mut self) {
        let view = self.cluster.view();
        let paths = [DEVELOPMENT, QA, SUPPORT, MARKETING];
        for (series, path) in self.series.iter_mut().zip(paths) {
            series.values.push(view.used(path));
        }
    }

    fn mark(&mut self, text: impl Into<String>) -> Result<()> {
        let at = i64::try_from(self.series[0].values.len())?;
        let text = text.into();
        self.marks.push(Mark { at, text });
        Ok(())
    }

    /// Submits an application that asks for as much as its user may have.
    fn submit(&mut self, user: &str, queue: &str) -> Result<ApplicationId> {
        let app = self.cluster.submit(user, queue)?;
        let (limit, _) = self.cluster.limits(queue, user)?;
        self.cluster.ask(app, size(1, 1), limit)?;
        Ok(app)
    }

    /// Lets time pass until nothing is placed any more.
    fn rest(&mut self) -> Result<Rest> {
        let mut calm = 0;
        while calm < CALM {
            self.cluster.beat(BEATS)?;
            let idle = self.cluster.take_placed().is_empty();
            let idle = !self.cluster.pass(1000) && idle;
            calm = if idle { calm + 1 } else { 0 };
            self.sample();
        }
        let view = self.cluster.view();
        Ok(Rest {
            development: view.used(DEVELOPMENT),
            qa: view.used(QA),
        })
    }
}

fn play(files: &[&str], work: Work, name: &'static str, title: &str) -> Result<(Outcome, Chart)> {
    let labels = ["development", "qa", "support", "marketing"];
    let mut run = Run {
        cluster: Cluster::new(files, NODES, size(10, 10))?,
        series: labels.map(Series::new),
        marks: Vec::new(),
        work,
    };
    run.submit("sue", SUPPORT)?;
    run.submit("max", MARKETING)?;
    run.rest()?;
    for series in &mut run.series {
        series.values.drain(..series.values.len() - 3);
    }
    let outcome = story(&mut run)?;
    Ok((outcome, chart(run, name, title)?))
}

fn story(run: &mut Run) -> Result<Outcome> {
    let mut rests = Vec::new();
    let mut apps = Vec::new();
    run.mark("two users submit to development")?;
    for user in ["dev1", "dev2"] {
        apps.push((user, run.submit(user, DEVELOPMENT)?));
    }
    rests.push(run.rest()?);
    let view = run.cluster.view();
    let each = ["dev1", "dev2"].map(|user| view.used_by(DEVELOPMENT, user));
    run.mark("three more users submit to development")?;
    for user in ["dev3", "dev4", "dev5"] {
        apps.push((user, run.submit(user, DEVELOPMENT)?));
    }
    rests.push(run.rest()?);
    run.mark("a user submits to qa")?;
    run.submit("qa1", QA)?;
    rests.push(run.rest()?);
    if run.work == Work::Stays {
        return Ok(Outcome { each, rests });
    }
    for (user, app) in apps {
        run.mark(format!(
            "{user}'s application ends; {user} submits the next"
        ))?;
        run.cluster.finish(app)?;
        run.submit(user, DEVELOPMENT)?;
        rests.push(run.rest()?);
    }
    Ok(Outcome { each, rests })
}

fn chart(run: Run, name: &'static str, title: &str) -> Result<Chart> {
    let view = run.cluster.view();
    let engineering = "root.engineering";
    let end = i64::try_from(run.series[0].values.len())? - 1;
    Ok(Chart {
        name,
        title: format!("Use by queue: {title}"),
        x: Axis {
            label: "seconds",
            end,
            step: 20,
        },
        y: Axis {
            label: "GB",
            end: 1000,
            step: 200,
        },
        rows: 25,
        levels: vec![
            Level::guarantee("guarantee of development", view.guarantee(DEVELOPMENT)),
            Level::guarantee("guarantee of engineering", view.guarantee(engineering)),
            Level::maximum("maximum of development", view.maximum(DEVELOPMENT)),
        ],
        areas: run.series.into(),
        curves: Vec::new(),
        marks: run.marks,
    })
}

/// The same story twice, with preemption and without. The shorter run came to rest earlier: its
/// last values hold on.
fn compared(with: &Chart, without: &Chart) -> Chart {
    let length = with.areas[0].values.len();
    let curve = |chart: &Chart, at: usize, label: &str| {
        let mut values = chart.areas[at].values.clone();
        let last = values.last().copied().unwrap_or(0);
        values.resize(length, last);
        Series {
            label: label.to_owned(),
            values,
        }
    };
    let marks = with.marks.iter().map(|mark| Mark {
        at: mark.at,
        text: mark.text.clone(),
    });
    Chart {
        name: "compared",
        title: "Shares of qa and development, with and without preemption".to_owned(),
        x: Axis { ..with.x },
        y: Axis {
            label: "GB",
            end: 600,
            step: 120,
        },
        rows: 20,
        levels: vec![
            Level::guarantee("guarantee of qa", 480),
            Level::guarantee("guarantee of development", 120),
        ],
        areas: Vec::new(),
        curves: vec![
            curve(with, 1, "qa, with preemption"),
            curve(with, 0, "development, with preemption"),
            curve(without, 0, "development, without"),
            curve(without, 1, "qa, without"),
        ],
        marks: marks.collect(),
    }
}

fn facts(open: &Outcome, capped: &Outcome, taken: &Outcome) -> Vec<Fact> {
    let gb = Fact::gb;
    let last = open.rests.len() - 1;
    let [two, five, wait] = [open.rests[0], open.rests[1], open.rests[2]];
    // After four of five have ended, and after all have.
    let (four, all) = (open.rests[last - 1], open.rests[last]);
    vec![
        gb(
            "first_user",
            "the first of two users in development",
            open.each[0],
        ),
        gb("second_user", "the second", open.each[1]),
        gb("two_users", "development with two users", two.development),
        gb(
            "five_users",
            "development with five: all of engineering",
            five.development,
        ),
        gb("qa_waits", "qa has when it has just asked", wait.qa),
        gb(
            "development_after",
            "development when four have ended",
            four.development,
        ),
        gb("qa_after", "qa then: 4 times as much", four.qa),
        gb(
            "development_settled",
            "development when all five went on to the next",
            all.development,
        ),
        gb("qa_settled", "qa then, unchanged", all.qa),
        gb(
            "capped_two",
            "with the maximum of 40 %: two users",
            capped.rests[0].development,
        ),
        gb(
            "capped_five",
            "with it: five users",
            capped.rests[1].development,
        ),
        gb(
            "capped_qa",
            "with it: qa has, as soon as it asks",
            capped.rests[2].qa,
        ),
        gb(
            "preempted_development",
            "with preemption: development after qa asked",
            taken.rests[2].development,
        ),
        gb("preempted_qa", "with it: qa then", taken.rests[2].qa),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(development: i64, qa: i64) -> Rest {
        Rest { development, qa }
    }

    #[test]
    fn two_users_get_120_each_and_five_get_all_of_engineering() {
        let (open, _) = play(&[QUEUES], Work::Ends, "open", "").unwrap();
        assert_eq!(open.each, [120, 120]);
        assert_eq!(open.rests[..3], [rest(240, 0), rest(600, 0), rest(600, 0)]);
    }

    #[test]
    fn qa_grows_as_applications_of_development_end_until_one_to_four() {
        let (open, _) = play(&[QUEUES], Work::Ends, "open", "").unwrap();
        let expected = [(480, 120), (360, 240), (240, 360), (120, 480), (120, 480)];
        let expected = expected.map(|(development, qa)| rest(development, qa));
        assert_eq!(open.rests[3..], expected);
    }

    #[test]
    fn a_maximum_of_40_percent_stops_development_at_240() {
        let (capped, chart) = play(&[QUEUES, CAPPED], Work::Ends, "capped", "").unwrap();
        assert_eq!(
            capped.rests[..3],
            [rest(240, 0), rest(240, 0), rest(240, 360)]
        );
        assert_eq!(chart.areas[0].values.iter().max(), Some(&240));
        assert_eq!(capped.rests.last(), Some(&rest(120, 480)));
    }

    #[test]
    fn one_that_asks_beyond_its_limit_ends_one_container_above() {
        let mut cluster = Cluster::new(&[QUEUES], NODES, size(10, 10)).unwrap();
        let app = cluster.submit("dev1", DEVELOPMENT).unwrap();
        cluster.ask(app, size(1, 1), 1000).unwrap();
        cluster.beat(500).unwrap();
        assert_eq!(cluster.view().used(DEVELOPMENT), 121);
    }

    #[test]
    fn without_preemption_qa_waits_for_somebody_to_end() {
        let (_, with) = play(&[QUEUES, PREEMPTION], Work::Stays, "preempted", "").unwrap();
        let (_, without) = play(&[QUEUES], Work::Stays, "waiting", "").unwrap();
        let chart = compared(&with, &without);
        let last = chart.curves.iter().map(|series| series.values.last());
        let last: Vec<_> = last.map(Option::unwrap).copied().collect();
        assert_eq!(last, [480, 120, 600, 0]);
        let lengths = chart.curves.iter().map(|series| series.values.len());
        assert!(lengths.eq([with.areas[0].values.len(); 4]));
    }

    #[test]
    fn preemption_gives_qa_its_480_while_all_of_development_runs() {
        let (taken, chart) = play(&[QUEUES, PREEMPTION], Work::Stays, "preempted", "").unwrap();
        assert_eq!(taken.rests, [rest(240, 0), rest(600, 0), rest(120, 480)]);
        let falls = chart.areas[0].values.windows(2);
        let steps: Vec<_> = falls.map(|pair| pair[0] - pair[1]).collect();
        assert_eq!(
            steps.iter().max(),
            Some(&100),
            "a tenth of the cluster a round"
        );
    }
}
