//! Why applications of a running server wait, as the server finds now.

use std::process::ExitCode;

use anyhow::{Result, bail};

use super::followed::Course;
use super::groups::Groups;
use super::jobs::{Job, Jobs};
use super::{About, Answer, WhyArgs, WhyNotArgs, exit, json, shown};
use crate::live::{LiveServer, ServedApp, ServedWhy, first};
use crate::output::{line, put};
use crate::play::{Origin, ServedPlaces};

/// Runs `capsched why` on the server at an address.
pub(super) fn why(args: &WhyArgs, address: &str, rest: &[String]) -> Result<ExitCode> {
    if args.at.is_some() {
        bail!("--at is a moment of a recorded run; a server shows what is now");
    }
    let server = LiveServer::open(address, &args.server)?;
    match rest {
        [] => listed(args, &server),
        [_] if args.list => bail!("--list goes without an application"),
        [app] => of_app(args, &server, &server.find(app)?),
        [..] => bail!("{} is no address", rest[0].escape_debug()),
    }
}

/// What waits, grouped.
fn listed(args: &WhyArgs, server: &LiveServer) -> Result<ExitCode> {
    let now_ms = first(server)?;
    let apps = server.apps()?;
    let found: Vec<_> = apps.iter().filter_map(ServedApp::explanation).collect();
    let jobs = Jobs::of_server(apps.iter().map(job).collect());
    let groups = Groups::of(&found, args.group_by, &jobs);
    if args.json {
        line(json::list(
            now_ms,
            &found,
            &groups,
            (&jobs, &Origin::default()),
        ));
    } else {
        put(&groups.table("now"));
    }
    Ok(exit(!found.is_empty()))
}

fn of_app(args: &WhyArgs, server: &LiveServer, app: &ServedApp) -> Result<ExitCode> {
    let job = job(app);
    let (answer, about) = answer(&job, server.why(app.id)?);
    if args.json {
        line(json::of_app(&answer, &about.origin));
    } else {
        put(&shown::of_server(&answer, &about));
    }
    Ok(exit(answer.now.is_some()))
}

/// Runs `capsched why-not` on the server at an address.
pub(super) fn why_not(args: &WhyNotArgs, address: &str, rest: &[String]) -> Result<ExitCode> {
    if args.at.is_some() {
        bail!("--at is a moment of a recorded run; a server shows what is now");
    }
    let [app, node] = rest else {
        bail!("why-not takes an application and a node: capsched why-not {address} APP NODE");
    };
    let server = LiveServer::open(address, &args.server)?;
    let (app, now_ms) = (server.find(app)?, first(&server)?);
    let (job, found) = (job(&app), server.why_not(app.id, node)?);
    if args.json {
        line(json::why_not(now_ms, &job, &found.node, &found.keys));
    } else {
        let keys = (&found.keys[..], &found.types[..]);
        put(&shown::why_not("now", &job, &found.node, keys));
    }
    Ok(exit(!found.keys.is_empty()))
}

/// The answer about an application of a server, for the screen.
#[cfg(feature = "top")]
pub(crate) fn text(server: &LiveServer, job: &Job) -> Result<String> {
    let job = job_again(server, job)?;
    let (answer, about) = answer(&job, server.why(job.app)?);
    Ok(shown::of_server(&answer, &about))
}

/// The job as the server knows it now.
#[cfg(feature = "top")]
fn job_again(server: &LiveServer, known: &Job) -> Result<Job> {
    Ok(job(&server.find(&known.app.to_string())?))
}

fn answer(job: &Job, served: ServedWhy) -> (Answer<'_>, About) {
    let answer = Answer {
        job,
        at_ms: served.at_ms,
        now: served.explanation,
        steps: served.steps,
        course: Course {
            timeline: served.timeline,
            rounds: Vec::new(),
            refused: Vec::new(),
        },
        taken: Vec::new(),
    };
    let about = About {
        origin: Origin::of_server(ServedPlaces {
            sources: served.sources,
            types: served.types.len(),
        }),
        types: served.types,
        now_ms: Some(served.at_ms),
    };
    (answer, about)
}

fn job(app: &ServedApp) -> Job {
    Job {
        name: app.name.clone(),
        app: app.id,
        queue: app.queue.to_string(),
        user: app.user.to_string(),
        submitted_ms: app.started_ms,
        first_container_ms: None,
        ended_ms: app.ended_ms,
        asked: 0,
        placed: 0,
        outcome: app.state.clone(),
    }
}
