//! How members of ZooKeeper are started. The environment names the class path of the server: `.ci/zookeeper` sets it.

use std::fmt::Write;
use std::path::Path;

/// The class path of ZooKeeper's server.
const CLASS_PATH: &str = "CAPSCHED_ZOOKEEPER_CLASS_PATH";

/// Program and arguments of each member, by their ports for clients and those for each other.
pub(super) fn words(dir: &Path, ports: &[u16], peers: &[u16]) -> Option<Vec<Vec<String>>> {
    let classes = std::env::var(CLASS_PATH).ok()?;
    // One port for the quorum is ours to give; that of elections is free, too.
    let elections = super::free_ports(peers.len());
    let members = 0..ports.len();
    let words = members.map(|number| {
        let home = dir.join(format!("m{number}"));
        std::fs::create_dir(&home).unwrap();
        let mut text = format!(
            "dataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\ntickTime=500\ninitLimit=20\nsyncLimit=10\n\
             maxSessionTimeout=20000\nmaxClientCnxns=0\nadmin.enableServer=false\n",
            home.display(),
            ports[number],
        );
        if ports.len() > 1 {
            std::fs::write(home.join("myid"), (number + 1).to_string()).unwrap();
            for (at, (peer, election)) in peers.iter().zip(&elections).enumerate() {
                writeln!(text, "server.{}=127.0.0.1:{peer}:{election}", at + 1).unwrap();
            }
        }
        let file = home.join("zoo.cfg");
        std::fs::write(&file, text).unwrap();
        let main = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
        let file = file.display().to_string();
        let words = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", &classes, main, &file];
        words.map(str::to_owned).to_vec()
    });
    Some(words.collect())
}
