//! A browser that a test drives: Chromium's own protocol over two pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// One page of a browser, which ends with the test.
pub(crate) struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    session: String,
    /// What the page wrote to its console, and errors of scripts.
    console: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Session {
    /// Starts a browser with one empty page of a size.
    pub(crate) fn start(browser: &str, width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 1>/dev/null"#, browser])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg("--remote-debugging-pipe")
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut session = Self {
            child,
            input,
            output: BufReader::new(output),
            last: 0,
            session: String::new(),
            console: Vec::new(),
            _profile: profile,
        };
        let target = session.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = session.call("Target.attachToTarget", attach);
        session.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            session.call(&format!("{domain}.enable"), json!({}));
        }
        session
    }

    /// Sends a command and returns its result.
    fn call(&mut self, method: &str, params: Value) -> Value {
        let found = self.answer(method, params);
        assert!(found.get("error").is_none(), "{method}: {found}");
        found["result"].clone()
    }

    /// Sends a command and returns the answer, which may be an error.
    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.input
            .write_all(message.to_string().as_bytes())
            .unwrap();
        self.input.write_all(&[0]).unwrap();
        self.input.flush().unwrap();
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let found: Value = serde_json::from_slice(&bytes).unwrap();
            if found["id"] == json!(self.last) {
                return found;
            }
            self.note(&found);
        }
    }

    /// Keeps what the page complains of.
    fn note(&mut self, found: &Value) {
        let params = &found["params"];
        match found["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.console.push(params["exceptionDetails"].to_string());
            }
            Some("Runtime.consoleAPICalled") => self.console.push(params["args"].to_string()),
            Some("Log.entryAdded") => self.console.push(params["entry"].to_string()),
            _ => {}
        }
    }

    /// Opens an address.
    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
    }

    /// The value of an expression in the page; promises are awaited.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        self.evaluate(expression)
            .unwrap_or_else(|found| panic!("{expression}: {found}"))
    }

    /// The value of an expression, or what was answered instead.
    fn evaluate(&mut self, expression: &str) -> Result<Value, Value> {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let found = self.answer("Runtime.evaluate", params);
        let result = &found["result"];
        if found.get("error").is_some() || result.get("exceptionDetails").is_some() {
            return Err(found);
        }
        Ok(result["result"]["value"].clone())
    }

    /// Waits until an expression is true: a minute at most, however slow the machine is. While the page is exchanged
    /// for another one, expressions have no value.
    pub(crate) fn until(&mut self, expression: &str) {
        for _ in 0..600 {
            if self.evaluate(&format!("Boolean({expression})")) == Ok(json!(true)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let shown = self.value("document.body.innerText");
        panic!(
            "{expression} stays false; the page shows {shown}; {:?}",
            self.console
        );
    }

    /// A picture of the page, PNG in base 64.
    pub(crate) fn picture(&mut self) -> String {
        let taken = self.call(
            "Page.captureScreenshot",
            json!({"captureBeyondViewport": true}),
        );
        taken["data"].as_str().unwrap().to_owned()
    }

    /// What the page complained of so far.
    pub(crate) fn console(&self) -> &[String] {
        &self.console
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // One that has ended already cannot be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
