//! The generated pages of the reference are those of this build.

use std::process::Command;

#[test]
fn the_generated_pages_are_not_stale() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference");
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(["pages", "--check", folder])
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_page_that_differs_is_a_problem() {
    let folder = std::env::temp_dir().join(format!("capsched-pages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = |check: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
        command.arg("pages").arg(&folder);
        if check {
            command.arg("--check");
        }
        command.output().unwrap().status.code()
    };
    assert_eq!(run(true), Some(2), "there is no page yet");
    assert_eq!(run(false), Some(0));
    assert_eq!(run(true), Some(0));
    std::fs::write(folder.join("codes.md"), "old").unwrap();
    assert_eq!(run(true), Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_contents_name_the_page_of_every_code() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let contents = std::fs::read_to_string(format!("{docs}/SUMMARY.md")).unwrap();
    for code in capsched::config::codes() {
        let page = format!("reference/codes/{code}.md");
        assert!(contents.contains(&format!("({page})")), "{page}");
        assert!(std::path::Path::new(docs).join(&page).is_file(), "{page}");
    }
}
