//! The configuration of a server is changed by the commands of `docs/tutorials/operator.md`, as they stand there.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::server::Server;

const PAGE: &str = include_str!("../../../docs/tutorials/operator.md");

/// The address that stands on the page.
const ADDRESS: &str = "http://127.0.0.1:8088";

/// What the page's commands say, in their order.
const SAID: [&[&str]; 5] = [
    &[
        " version  stored\n       1  20",
        "Z  holds\n",
        "seed     yarn: ",
    ],
    &["max-parallel-apps = 77\n", "accepted against version 1 of "],
    &["accepted; nothing was changed, version 1 holds\n"],
    &["version 2 holds; back to the one before: "],
    &[
        "max-parallel-apps unset\n",
        "version 3 holds the configuration of version 1\n",
    ],
];

/// The commands of the page's part about a server.
fn lines() -> Vec<&'static str> {
    let part = PAGE.split("\n## ").find(|part| part.starts_with("8. "));
    let lines = part.unwrap().lines();
    lines
        .filter(|line| line.starts_with("capsched conf "))
        .collect()
}

/// Runs a line where the files are; exit code and what was printed.
fn typed(at: &Path, line: &str, url: &str) -> (i32, String, String) {
    let line = line.replace(ADDRESS, url);
    let words = line.split(' ').skip(1);
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
    let output = command.args(words).current_dir(at).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code().unwrap(), out, err)
}

/// A folder with the files of the page, and the arguments of its server.
fn folder() -> (tempfile::TempDir, Vec<String>) {
    let at = tempfile::tempdir().unwrap();
    let conf = include_str!("../../../configs/capacity-scheduler/demo.xml");
    let added = "<property><name>yarn.scheduler.capacity.max-parallel-apps</name><value>77</value>\
                 </property></configuration>";
    for (name, text) in [
        ("capacity-scheduler.xml", conf),
        ("new.xml", &conf.replace("</configuration>", added)),
        (
            "sum.xml",
            &conf.replace("<value>65</value>", "<value>70</value>"),
        ),
        ("broken.xml", "<configuration>\n  <property><name>a"),
        ("admin", "secret-of-ann\n"),
        (
            "tokens",
            "ann 70b418541da77d413246ec0d700eebb8b23852493cfaa4ab4f39009cd68360f0\n",
        ),
    ] {
        std::fs::write(at.path().join(name), text).unwrap();
    }
    let path = |name: &str| at.path().join(name).to_str().unwrap().to_owned();
    let (conf, tokens) = (path("capacity-scheduler.xml"), path("tokens"));
    let args = ["serve", "--conf", &conf, "--tokens", &tokens].map(str::to_owned);
    (at, args.to_vec())
}

fn started(args: &[String]) -> (Server, String) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let server = Server::of(&args);
    let url = format!("http://{}", server.address());
    (server, url)
}

fn history(at: &Path, url: &str) -> Value {
    let line = format!("capsched conf history {ADDRESS} --token admin --json");
    let (code, out, err) = typed(at, &line, url);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_page_s_commands_change_a_server_whose_versions_survive_a_kill() {
    let (folder, mut args) = folder();
    let at = folder.path();
    let data = at.join("state").to_str().unwrap().to_owned();
    args.extend(["--data".to_owned(), data]);
    let (server, url) = started(&args);
    let lines = lines();
    assert_eq!(lines.len(), SAID.len());
    for (number, (line, said)) in lines.iter().zip(SAID).enumerate() {
        let (code, out, err) = typed(at, line, &url);
        assert_eq!((code, err.as_str()), (0, ""), "{line}: {out}");
        for part in said {
            assert!(out.contains(part), "{part}: {line}: {out}");
        }
        // What `apply` names as the way back is the next line of the page.
        if let Some((_, back)) = out.split_once("back to the one before: ") {
            let next = lines[number + 1].replace(ADDRESS, &url);
            assert_eq!(back.trim_end(), next);
        }
    }
    let before = history(at, &url);
    assert_eq!(before["present"], 3);
    let kinds = before["entries"].as_array().unwrap().iter();
    let kinds: Vec<&str> = kinds.map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["rollback", "update", "seed"]);
    drop(server);
    let (_server, url) = started(&args);
    assert_eq!(history(at, &url), before);
}

#[test]
fn what_no_server_takes_is_refused_before_anything_changes() {
    let (folder, mut args) = folder();
    let at = folder.path();
    let (server, url) = started(&args);
    let (code, _, err) = typed(at, lines()[0], &url);
    assert!(code == 1 && err.contains("with --data"), "{err}");
    drop(server);
    let data = at.join("state").to_str().unwrap().to_owned();
    args.extend(["--data".to_owned(), data]);
    let (_server, url) = started(&args);
    let token = "--token admin";
    for (line, of, parts) in [
        ("new.xml --check-index 7", 1, ["version 1 holds", "not 7"]),
        (
            "new.xml --check-index 7 --dry-run",
            1,
            ["version 1 holds", "not 7"],
        ),
        (
            "capacity-scheduler.xml --check-index 7",
            1,
            ["version 1 holds", "not 7"],
        ),
        ("broken.xml", 1, ["broken.xml:2:13: ", "never closed"]),
        ("absent.xml", 2, ["absent.xml", "No such file"]),
    ] {
        let line = format!("capsched conf apply {ADDRESS} {line} {token}");
        let (code, out, err) = typed(at, &line, &url);
        assert_eq!((code, out.as_str()), (of, ""), "{line}: {err}");
        assert!(parts.iter().all(|part| err.contains(part)), "{line}: {err}");
    }
    // 70 and 35: the sum is shown without the error of floating-point numbers.
    let line = format!("capsched conf apply {ADDRESS} sum.xml {token}");
    let (code, out, _) = typed(at, &line, &url);
    let said = "version 1 stays: ";
    assert!(code == 1 && out.contains(said), "{out}");
    assert!(out.contains("sum to 105 %, not 100 %"), "{out}");
    let line = format!("capsched conf apply new.xml {ADDRESS} {token}");
    let (code, _, err) = typed(at, &line, &url);
    assert!(code == 2 && err.contains("comes before the file"), "{err}");
    assert_eq!(history(at, &url)["present"], 1);
}
