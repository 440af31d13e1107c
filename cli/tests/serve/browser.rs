//! The page of `capsched serve --demo` in a headless browser: what it shows, and that it reports no error.
//!
//! Skipped, with a sentence, where no Chromium is installed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::server::Server;

/// Where distributions install the browser.
const BROWSERS: [&str; 3] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
];

/// The browser of this machine; nothing, with a sentence, where there is none.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn browser() -> Option<&'static str> {
    let found = BROWSERS.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("skipped: no Chromium is installed, so the page is not looked at");
    }
    found
}

/// The document of a view after some seconds, and what the browser wrote to its console.
fn view(browser: &str, server: &Server, view: &str, size: &str) -> (String, String) {
    let address = format!("http://{}/ui/#/{view}", server.address());
    dumped(browser, &address, size)
}

/// The same of a page at an address.
fn dumped(browser: &str, address: &str, size: &str) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=6000",
            "--dump-dom",
        ])
        .arg(format!("--window-size={size}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(address)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    let console = log.lines().filter(|line| line.contains("CONSOLE"));
    let console: Vec<&str> = console.collect();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        console.join("\n"),
    )
}

#[test]
fn the_views_show_the_cluster_without_an_error() {
    let Some(browser) = browser() else { return };
    let server = Server::start(&[]);
    server.await_containers();
    for (name, size, marks) in [
        (
            "queues",
            "1280,900",
            vec![
                "aria-label=\"Fold root.dev\"",
                "data-path=\"root.prod.etl\"",
                "class=\"guarantee\"",
            ],
        ),
        (
            "queues/root.adhoc",
            "520,900",
            vec!["Configured User Limit Factor", "Live applications"],
        ),
        (
            "apps",
            "1280,900",
            vec!["#/app/application_", "applications match"],
        ),
        (
            "nodes",
            "1600,1000",
            vec!["aria-label=\"20 nodes, ", "data-frame-ms"],
        ),
        (
            "latency",
            "1280,900",
            vec!["Pending containers by reason", "u-wrap"],
        ),
        ("conf", "1280,900", vec!["Sign in as an administrator"]),
    ] {
        let (document, console) = view(browser, &server, name, size);
        for mark in marks {
            assert!(
                document.contains(mark),
                "{name}: {mark} is missing\n{console}\n{document}"
            );
        }
        assert!(
            !document.contains("of-refresh"),
            "{name}: a problem is shown\n{document}"
        );
        // What needs a token is refused, and a browser writes every refusal to its console.
        let errors = console.lines().filter(|line| !line.contains("401"));
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<&str>::new(), "{name}");
    }
}

/// What an expression gives in the script of a report, as text, and the console.
fn answered(browser: &str, asked: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("asked.html");
    let script = include_str!("../../src/report/page.js");
    let text = format!(
        "<p id=\"answer\"></p><script>{script}\n\
         document.getElementById(\"answer\").textContent = {asked};</script>"
    );
    std::fs::write(&page, text).unwrap();
    let address = format!("file://{}", page.display());
    let (document, console) = dumped(browser, &address, "800,600");
    let answer = document.split_once("id=\"answer\">").unwrap().1;
    (answer.split_once('<').unwrap().0.to_owned(), console)
}

#[test]
fn time_axes_of_a_report_have_marks_at_whole_units() {
    let Some(browser) = browser() else { return };
    let asked = "[[3, 7], [100, 7], [14400, 7], [12537497, 7]].map(([end, most]) => \
                 marks(end, most).map(seconds).join(' ')).join('; ')";
    let (answer, console) = answered(browser, asked);
    assert_eq!(
        answer,
        "0 s 0.5 s 1 s 1.5 s 2 s 2.5 s 3 s; 0 s 20 s 40 s 60 s 80 s 100 s; \
         0 s 60 min 2 h 3 h 4 h; 0 s 50 d 100 d",
        "{console}"
    );
}

/// Runs of other lengths have their moments elsewhere: each has what it had last, and nothing after its end.
#[test]
fn runs_with_moments_of_their_own_are_shown_over_one_time() {
    let Some(browser) = browser() else { return };
    let asked = "JSON.stringify(aligned([{ name: 'a', usage: { at_s: [0, 2, 4], waiting: [7, 5, 3] } }, \
                 { name: 'b', usage: { at_s: [1, 4, 8], waiting: [1, 2, 0] } }], (run) => run.usage.waiting)\
                 .map((part) => part.map((one) => one.ys || one)))";
    let (answer, console) = answered(browser, asked);
    assert_eq!(
        answer, "[[0,1,2,4,8],[[7,7,5,3,null],[null,1,1,2,0]]]",
        "{console}"
    );
}

/// A run without one tier or phase shows the others in the colours that they have everywhere.
#[test]
fn tiers_and_phases_have_one_colour_in_all_charts() {
    let Some(browser) = browser() else { return };
    let asked = "JSON.stringify([TIERS.map((tier) => placeOf(tier, TIERS)), \
                 inOrder(['publish', 'else', 'propose'], PHASES), placeOf('publish', PHASES), \
                 placeOf('else', PHASES), COLOURS.length >= PHASES.length])";
    let (answer, console) = answered(browser, asked);
    let wanted = "[[0,1,2,3,4,5],[\"propose\",\"publish\",\"else\"],9,10,true]";
    assert_eq!(answer, wanted, "{console}");
}
