//! A change of the configuration on the page: planned, tried, applied, seen in the history, and one that is refused.
//!
//! With `PAGE_PICTURES=DIR` pictures of the steps are kept there, PNG in base 64.

use crate::browser::browser;
use crate::server::Server;
use crate::session::Session;

/// Collects a change of a property by the form of the page.
fn collect(page: &mut Session, key: &str, value: &str) {
    page.value(&format!(
        "(() => {{
            const [name, value] = document.querySelectorAll('form.bar-of-tools input');
            name.value = 'yarn.scheduler.capacity.{key}';
            value.value = '{value}';
            name.form.requestSubmit();
        }})()"
    ));
    page.until(&format!(
        "document.querySelector('[aria-label=\"Collected changes\"]').innerText.includes('{key}')"
    ));
}

fn press(page: &mut Session, label: &str) {
    let found = format!(
        "[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith('{label}'))"
    );
    page.until(&found);
    page.value(&format!("{found}.click()"));
}

fn await_text(page: &mut Session, text: &str) {
    page.until(&format!("document.body.innerText.includes('{text}')"));
}

fn keep(page: &mut Session, name: &str) {
    if let Some(dir) = std::env::var_os("PAGE_PICTURES") {
        let picture = page.picture();
        std::fs::write(std::path::Path::new(&dir).join(name), picture).unwrap();
    }
}

#[test]
fn a_change_is_planned_and_tried_before_it_is_applied() {
    let Some(browser) = browser() else { return };
    let server = Server::start(&[]);
    server.await_containers();
    let mut page = Session::start(browser, 1280, 1000);
    let address = format!("http://{}/ui/#/conf", server.address());
    page.open(&address);
    page.until("document.getElementById('sign-in')");
    page.value(&format!(
        "sessionStorage.setItem('capsched-sign-in', JSON.stringify({{kind: 'token', value: '{}'}})), location.reload()",
        server.token()
    ));
    await_text(&mut page, "Version 1;");

    collect(&mut page, "root.adhoc.maximum-capacity", "77");
    press(&mut page, "Plan");
    await_text(
        &mut page,
        "The live scheduler would accept these changes of version 1.",
    );
    await_text(&mut page, "What changes: guarantees and maximums");
    keep(&mut page, "plan.b64");
    press(&mut page, "What if");
    await_text(&mut page, "containers would be placed with the change");
    keep(&mut page, "whatif.b64");
    press(&mut page, "Apply");
    press(&mut page, "Do not apply");
    await_text(&mut page, "Version 1;");
    press(&mut page, "Apply");
    press(&mut page, "Apply now");
    await_text(&mut page, "Version 2;");
    press(&mut page, "Show the difference");
    await_text(&mut page, "Version 2 against version 1");
    keep(&mut page, "history.b64");

    collect(&mut page, "root.adhoc.capacity", "95");
    press(&mut page, "Plan");
    await_text(&mut page, "The live scheduler would refuse these changes");
    press(&mut page, "Apply");
    await_text(&mut page, "The live scheduler would refuse these changes");
    await_text(&mut page, "Version 2;");
    keep(&mut page, "refused.b64");
    // What the browser asked before it was signed in is refused, and it writes every refusal down.
    let complaints = page.console().iter().filter(|line| !line.contains("401"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&String>::new());
}
