//! The journey of a live server: tokens, an application that waits, and `why` and `top` at its address.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::server::Server;

/// `secret-of-ann` and `secret-of-bob` by their SHA-256; the second one has ended.
const TOKENS: &str = "\
# who may look and submit
ann 70b418541da77d413246ec0d700eebb8b23852493cfaa4ab4f39009cd68360f0
bob f6dbcfeb957b327b63c0705f1348f75715f09f5020903b696c43e66a53d0f189 1
";

/// Exit code and what was printed.
pub(crate) fn typed(words: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(words)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code().unwrap(), out, err)
}

pub(crate) fn document(words: &[&str]) -> Value {
    let (code, out, err) = typed(&[words, &["--json"]].concat());
    assert!(code < 2, "{words:?}: {err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{words:?}: {error}: {out}{err}"))
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A server over a real file in which ann submitted `etl`, and how it is reached.
struct Live {
    server: Server,
    url: String,
    ann: String,
    bob: String,
    folder: tempfile::TempDir,
}

fn live() -> Live {
    live_with(tempfile::tempdir().unwrap(), &[])
}

/// The same with further arguments.
fn live_with(folder: tempfile::TempDir, more: &[&str]) -> Live {
    let tokens = file(folder.path(), "tokens", TOKENS);
    let ann = file(folder.path(), "ann", "secret-of-ann\n");
    let bob = file(folder.path(), "bob", "secret-of-bob");
    let conf = "configs/capacity-scheduler/demo.xml";
    let args = [&["serve", "--conf", conf, "--tokens", &tokens][..], more].concat();
    let server = Server::of(&args).with_token("secret-of-ann");
    let given = server.post("/ws/v1/cluster/apps/new-application", &Value::Null);
    let given: Value = serde_json::from_str(&given.1).unwrap();
    let submission = json!({
        "application-id": given["application-id"], "application-name": "etl",
        "queue": "root.prod.serving", "application-type": "YARN",
        "am-container-spec": {"commands": {"command": "true"}},
        "resource": {"memory": 1024, "vCores": 1},
    });
    let (head, body) = server.post("/ws/v1/cluster/apps", &submission);
    assert!(head.starts_with("HTTP/1.1 202"), "{head}{body}");
    let url = format!("http://{}", server.address());
    Live {
        server,
        url,
        ann,
        bob,
        folder,
    }
}

#[test]
fn a_token_that_holds_opens_the_reasons_of_a_server() {
    let live = live();
    let url = live.url.as_str();
    // Who calls from the same machine may look without a name; a token that does not hold is refused.
    let (code, _, err) = typed(&["why", url, "--token", &live.bob]);
    assert!(
        code == 1 && err.contains("401") && err.contains("--token FILE"),
        "{err}"
    );
    let (code, _, err) = typed(&["why", url, "--token", "/nowhere/token"]);
    assert!(code == 2 && err.contains("/nowhere/token"), "{err}");
    let empty = file(live.folder.path(), "empty", "\n");
    let (code, _, err) = typed(&["top", url, "--json", "--token", &empty]);
    assert!(code == 1 && err.contains("one word"), "{err}");

    let ann = ["--token", live.ann.as_str()];
    let (code, text, err) = typed(&[&["why", url, "--group-by", "queue"], &ann[..]].concat());
    assert_eq!(code, 1, "{err}");
    for part in [
        "1 application waits for 1 container now",
        "root.prod.serving",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let list = document(&[&["why", url, "--list"], &ann[..]].concat());
    assert_eq!(list["pending"], 1, "{list}");
    let reason = list["applications"][0]["dominant"]["reason"].clone();
    let by_name = document(&[&["why", url, "etl"], &ann[..]].concat());
    assert_eq!(by_name["waits"]["dominant"]["reason"], reason, "{by_name}");
    assert_eq!(by_name["job"]["user"], "ann");
    let (code, text, _) = typed(&[&["why", url, "1"], &ann[..]].concat());
    let words = [
        "job etl",
        "ACCEPTED",
        reason.as_str().unwrap(),
        "would help",
    ];
    for part in words {
        assert!(code == 1 && text.contains(part), "{part}: {text}");
    }
    let (code, _, err) = typed(&[&["why", url, "nobody"], &ann[..]].concat());
    assert!(code == 1 && err.contains("no application nobody"), "{err}");
}

#[test]
fn waits_of_a_server_are_shown_with_their_begin() {
    let live = live();
    let words = [
        "why",
        live.url.as_str(),
        "etl",
        "--token",
        live.ann.as_str(),
    ];
    // The server looks about once a second; a wait has a length from the second look on.
    let waited = || {
        let (_, text, err) = typed(&words);
        text.contains("waited ").then_some(text).ok_or(err)
    };
    let mut found = waited();
    for _ in 0..200 {
        if found.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        found = waited();
    }
    let text = found.unwrap();
    for part in [" ago", "(still)", "since"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = document(&words);
    let span = &found["timeline"][0];
    let reason = &found["waits"]["dominant"]["reason"];
    assert_eq!(&span["why"]["reason"], reason, "{found}");
    assert!(span["why"]["source"].is_string() || span["why"]["property"].is_null());
}

/// Plans of a file with a change and of one that is refused, and arguments that do not go together.
fn assert_plans(live: &Live, [same, new, wrong]: [&str; 3]) {
    let (url, yarn) = (live.url.as_str(), ["--token", live.ann.as_str()]);
    let of = |words: &[&str]| typed(&[&["conf"], words, &yarn[..]].concat());
    let json = |words: &[&str]| document(&[&["conf"], words, &yarn[..]].concat());
    let (code, out, err) = of(&["plan", url, new]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for part in [
        "  yarn.scheduler.capacity.max-parallel-apps = 77\n",
        &format!("accepted against version 1 of {url}\n"),
        "running now\n  no application comes above a limit by it\n",
        "containers that the next rounds place: 0 -> 0\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let plan = json(&["plan", url, new]);
    assert_eq!(
        (&plan["accepted"], &plan["version"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(plan["placed"], json!({"as_it_is": 0, "changed": 0}));
    let (code, out, _) = of(&["plan", url, wrong]);
    assert!(
        code == 1 && out.contains("refused, version 1 stays: "),
        "{out}"
    );
    let refused = json(&["plan", url, wrong]);
    assert_eq!(
        (&refused["accepted"], &refused["placed"]),
        (&json!(false), &json!(null))
    );
    let (code, _, err) = of(&["plan", url, new, "--cluster", "1x1GiB,1vcores"]);
    assert!(code == 2 && err.contains("go with two files"), "{err}");
    let (code, _, err) = of(&["plan", same, new]);
    assert!(
        code == 2 && err.contains("go with the address of a server"),
        "{err}"
    );
}

#[test]
fn a_configuration_is_applied_listed_and_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state").to_str().unwrap().to_owned();
    let live = live_with(folder, &["--data", &data]);
    let url = live.url.as_str();
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../configs/capacity-scheduler/demo.xml"
    );
    let text = std::fs::read_to_string(root).unwrap();
    let same = file(live.folder.path(), "same.xml", &text);
    let key = "yarn.scheduler.capacity.max-parallel-apps";
    let property =
        format!("<property><name>{key}</name><value>77</value></property></configuration>");
    let changed = text.replace("</configuration>", &property);
    let new = file(live.folder.path(), "new.xml", &changed);
    let capacity = "<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>95</value></property>";
    let wrong = text.replace("</configuration>", &format!("{capacity}</configuration>"));
    let wrong = file(live.folder.path(), "wrong.xml", &wrong);
    let yarn = ["--token", live.ann.as_str()];
    let of = |words: &[&str]| typed(&[&["conf"], words, &yarn[..]].concat());
    let json = |words: &[&str]| document(&[&["conf"], words, &yarn[..]].concat());

    let (code, out, err) = of(&["apply", url, &same]);
    assert!(code == 0 && out.contains("nothing to change"), "{out}{err}");
    let (code, out, _) = of(&["apply", url, &new, "--dry-run"]);
    assert!(code == 0 && out.contains("nothing was changed"), "{out}");
    let (code, out, _) = of(&["apply", url, &wrong]);
    assert!(
        code == 1 && out.contains("refused, version 1 stays"),
        "{out}"
    );
    assert_plans(&live, [&same, &new, &wrong]);
    assert_eq!(json(&["history", url])["present"], 1);
    let (code, _, err) = of(&["apply", url, &new, "--check-index", "7"]);
    assert!(code == 1 && err.contains('7'), "{err}");
    assert_eq!(json(&["history", url])["present"], 1);
    let applied = json(&["apply", url, &new]);
    assert_eq!(
        (&applied["before"], &applied["version"]),
        (&json!(1), &json!(2)),
        "{applied}"
    );
    assert_eq!(applied["updates"], json!({key: "77"}));
    let (code, out, _) = of(&["history", url]);
    let rows = ["       2  ", "holds", "update", "max-parallel-apps = 77"];
    for part in rows {
        assert!(code == 0 && out.contains(part), "{part}: {out}");
    }
    let (code, _, err) = of(&["rollback", url, "1", "--check-index", "1"]);
    assert!(code == 1 && err.contains("412"), "{err}");
    let back = json(&["rollback", url, "1"]);
    assert_eq!(back["updates"], json!({key: null}), "{back}");
    let history = json(&["history", url]);
    assert_eq!(history["present"], back["version"]);
    assert_eq!(history["entries"][0]["kind"], "rollback", "{history}");
    let (code, _, err) = of(&["rollback", url, "99"]);
    assert!(code == 1 && err.contains("99"), "{err}");
}

#[test]
fn the_screen_shows_a_server_and_yarn_s_answers_are_there() {
    let live = live();
    let url = live.url.as_str();
    let ann = ["--token", live.ann.as_str()];
    let moment = document(&[&["top", url], &ann[..]].concat());
    assert_eq!(moment["queues"][0]["path"], "root", "{moment}");
    let app = &moment["applications"][0];
    assert!(app["reason"].is_string() && app["waiting"] == 1, "{moment}");
    let (code, text, err) = typed(&[&["top", url, "--print"], &ann[..]].concat());
    if cfg!(feature = "top") {
        assert!(code == 0 && text.lines().count() == 24, "{text}{err}");
        assert!(text.contains(app["reason"].as_str().unwrap()), "{text}");
    } else {
        assert!(code == 2 && err.contains("--features top"), "{err}");
    }
    let (_, body) = live.server.get("/ws/v1/cluster/scheduler");
    let yarn: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(yarn["scheduler"]["schedulerInfo"]["queueName"], "root");
    let (_, metrics) = live.server.get("/metrics");
    assert!(
        metrics.contains("capsched_applications{state=\"ACCEPTED\"} 1"),
        "{metrics}"
    );
}

#[test]
fn the_demonstration_is_explained_while_it_runs() {
    let server = Server::start(&[]);
    server.await_containers();
    let url = format!("http://{}", server.address());
    let moment = document(&["top", &url]);
    assert_eq!(moment["nodes"].as_array().unwrap().len(), 20);
    assert!(moment["since_the_beginning"]["placed"].as_u64().unwrap() > 0);
    let list = document(&["why", &url, "--group-by", "tier"]);
    let groups = list["groups"].as_array().unwrap().iter();
    let sum: u64 = groups
        .map(|one| one["applications"].as_u64().unwrap())
        .sum();
    assert_eq!(list["pending"], sum);
}

/// A state is saved while the demonstration runs, by its administrator alone, and goes on without the server.
#[test]
fn a_server_is_saved_replayed_and_made_into_a_test() {
    let server = Server::start(&["--mode", "heartbeat"]);
    server.await_containers();
    let url = format!("http://{}", server.address());
    let folder = tempfile::tempdir().unwrap();
    let admin = file(folder.path(), "admin", server.token());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (snap, copy) = (path("live.snap"), path("copy.snap"));
    let (code, out, err) = typed(&["snapshot", "save", &url, "-o", &snap]);
    assert!(
        code == 1 && out.is_empty() && err.contains("401"),
        "{out}{err}"
    );
    assert!(!Path::new(&snap).exists());
    let save = ["snapshot", "save", &url, "--token", &admin, "-o"];
    let (code, text, err) = typed(&[&save[..], &[&snap]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(text.contains(" anew\nleft out: "), "{text}");
    let (code, _, err) = typed(&[&save[..], &[&snap]].concat());
    assert!(code == 2 && err.contains("say --force"), "{err}");
    let said = document(&[&save[..], &[&copy]].concat());
    assert_eq!(said["mode"], "heartbeat", "{said}");
    let sentences = said["left_out"].as_array().unwrap();
    assert!(!sentences.is_empty(), "{said}");

    let (code, text, err) = typed(&["snapshot", "replay", &copy, "--cycles", "0"]);
    assert_eq!(code, 0, "{err}");
    let first = "heartbeat mode, the state of a server taken over by ";
    assert!(text.starts_with(first), "{text}");
    for sentence in sentences {
        let line = format!("\nleft out: {}\n", sentence.as_str().unwrap());
        assert!(text.contains(&line), "{line}: {text}");
    }
    let replay = ["snapshot", "replay", &copy, "--cycles", "3"];
    let (once, again) = (document(&replay), document(&replay));
    assert_eq!(once, again);
    assert_eq!(once["left_out"], said["left_out"]);
    // What waits at one moment may be placed at the next one.
    let app = (0..600).find_map(|_| {
        document(&[&save[..], &[&copy, "--force"]].concat());
        let list = document(&["why", &copy, "--list"]);
        let first = &list["applications"][0]["application"];
        first.as_str().map(str::to_owned)
    });
    let app = app.unwrap();
    let app = app.as_str();
    let (code, test, err) = typed(&["snapshot", "to-test", &copy, "--why", app]);
    assert_eq!(code, 0, "{err}");
    for part in [
        "let builder = builder.recovering();",
        "engine.recover_app(AppSpec {",
        "engine.register_node(NodeSpec {",
        "RunningContainer {",
    ] {
        assert!(test.contains(part), "{part}: {test}");
    }
}

/// The conditions of a node for an application of the demonstration that waits, by host and by host:port.
#[test]
fn conditions_of_a_node_of_a_server_are_shown() {
    let server = Server::start(&[]);
    server.await_containers();
    let url = format!("http://{}", server.address());
    // What waits at one request may be placed at the next one.
    let (app, found) = (0..600)
        .find_map(|_| {
            let list = document(&["why", &url]);
            let app = list["applications"][0]["application"].as_str()?.to_owned();
            let found = document(&["why-not", &url, &app, "r00n001"]);
            let waits = !found["keys"].as_array().unwrap().is_empty();
            waits.then_some((app, found))
        })
        .unwrap();
    assert_eq!(found["node"], "r00n001:8041", "{found}");
    let checks = found["keys"][0]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 8, "{found}");
    let fits = checks.iter().all(|check| check["holds"] == true);
    assert_eq!(found["keys"][0]["fits"], fits, "{found}");
    let (code, text, err) = typed(&["why-not", &url, &app, "r00n001:8041"]);
    assert!(
        code < 2 && text.contains(&app) && text.contains(" now"),
        "{text}{err}"
    );
    for (words, part) in [
        (
            ["why-not", &url, &app, "n9"],
            "404: the cluster has no node n9",
        ),
        (
            ["why-not", &url, "nobody", "r00n001"],
            "no application nobody",
        ),
    ] {
        let (code, _, err) = typed(&words);
        assert!(code == 1 && err.contains(part), "{words:?}: {err}");
    }
    for (words, part) in [
        (&["why-not", &url, &app][..], "an application and a node"),
        (&["why-not", &url, &app, "r00n001", "--at", "3s"], "--at"),
        (&["why-not", "1", "n2", "--ca", "x"], "address of a server"),
    ] {
        let (code, _, err) = typed(words);
        assert!(code == 2 && err.contains(part), "{words:?}: {err}");
    }
}

#[test]
fn what_is_no_server_is_refused_with_its_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (code, _, err) = typed(&["why", &closed]);
    assert!(
        code == 2 && err.contains(&closed) && err.contains("no server answers"),
        "{err}"
    );
    for (words, part) in [
        (&["why", "http://127.0.0.1:1", "--at", "3s"][..], "--at"),
        (&["why", "https://127.0.0.1:1"], "--ca"),
        (&["why", "http://ann@127.0.0.1:1"], "HOST:PORT"),
        (&["why", "http://"], "no address"),
        (&["why", "runs", "--user", "ann"], "address of a server"),
        (
            &["top", "runs", "--token", "x", "--json"],
            "address of a server",
        ),
    ] {
        let (code, _, err) = typed(words);
        assert!(code == 2 && err.contains(part), "{words:?}: {err}");
    }
}

/// Something that answers every request with a document of its own.
#[test]
fn another_program_at_the_address_is_named_as_such() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (code, _, err) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _read = stream.read(&mut request).unwrap();
            let body = "<html>hello</html>";
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        });
        typed(&["why", &url])
    });
    assert!(
        code == 1 && err.contains("not the answer of `capsched serve`"),
        "{err}"
    );
}
