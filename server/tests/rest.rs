//! Recorded scenes of the REST interface, on both wires. `tests/parity/README.md` says which requests they have.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use capsched::api::Reference;
use capsched_server::replay::{Scene, play};

/// The scenes of an archive.
fn scenes(archive: &str) -> Vec<Scene> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/parity")
        .join(archive);
    let decoder = zstd::Decoder::new(File::open(path).unwrap()).unwrap();
    let lines = BufReader::new(decoder).lines();
    let scene = |line: std::io::Result<String>| {
        let value = serde_json::from_str(&line.unwrap()).unwrap();
        Scene::of_value(value).unwrap()
    };
    lines.map(scene).collect()
}

/// What differs in the scenes of an archive, and how many requests were compared.
fn differences(archive: &str, reference: Reference) -> (Vec<String>, usize) {
    let (mut found, mut compared) = (Vec::new(), 0);
    for scene in scenes(archive) {
        assert_eq!(scene.reference, reference, "{}", scene.name);
        let played = play(&scene, reference).unwrap();
        compared += played.requests.len();
        for request in played.requests {
            if request.deliberate.is_some() {
                continue;
            }
            let place = format!("{} {} {}", played.name, request.step, request.request);
            let all = request.differences.iter();
            found.extend(
                all.take(3)
                    .map(|difference| format!("{place}: {difference}")),
            );
        }
    }
    (found, compared)
}

#[test]
fn recorded_scenes_of_hadoop_3_4_are_repeated() {
    let (found, compared) = differences("rest.jsonl.zst", Reference::Hadoop34);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(compared, 267);
}

#[test]
fn recorded_scenes_of_hadoop_3_5_are_repeated() {
    let (found, compared) = differences("3.5/rest.jsonl.zst", Reference::Hadoop35);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(compared, 267);
}
