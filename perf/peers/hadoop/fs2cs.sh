#!/usr/bin/env bash
# Remakes the recordings of `yarn fs2cs` in cli/tests/fs2cs with the converter of Hadoop 3.4.2: conversions, and verdicts
# on the files in verdicts.json. `fs2cs.sh --check` makes them aside and compares; its exit code is 1 where one differs.
set -euo pipefail
cd "$(dirname "$0")"

./run.sh --build-only
main=org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.converter.FSConfigToCSConfigConverterMain
class_path=$PWD/target/3.4.2/classes:$(cat target/3.4.2/class-path)
cases=$PWD/../../../cli/tests/fs2cs
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Both files of a conversion as one object: names and values in the order of the names.
joined() {
  python3 - "$@" <<'PYTHON'
import json, sys
from xml.etree import ElementTree

pairs = {}
for path in sys.argv[1:]:
    for one in ElementTree.parse(path).getroot().iter("property"):
        pairs[one.findtext("name")] = one.findtext("value") or ""
rules = "yarn.scheduler.capacity.mapping-rule-json"
if rules in pairs:
    pairs[rules] = json.dumps(json.loads(pairs[rules]), sort_keys=True)
print(json.dumps(pairs, sort_keys=True, indent=1), end="")
PYTHON
}

# record NAME FAIR-SCHEDULER [OPTION]...: one recording.
record() {
  local name=$1 fair=$2
  shift 2
  mkdir -p "$out/$name"
  java -Xmx1g -cp "$class_path" "$main" --yarnsiteconfig "$cases/yarn-site.xml" --fsconfig "$cases/$fair" \
    --output-directory "$out/$name" --skip-verification "$@" >"$out/$name.log" 2>&1 ||
    { cat "$out/$name.log" >&2; exit 1; }
  joined "$out/$name/capacity-scheduler.xml" "$out/$name/yarn-site.xml" >"$out/$name.json"
}

# verdicts: why each file of verdicts.json is refused, and which of its queues are left out.
verdicts() {
  python3 - "$cases/verdicts.json" "$out" "$class_path" "$main" <<'PYTHON'
import json, pathlib, re, subprocess, sys

recorded, out, class_path, main = sys.argv[1:]
out = pathlib.Path(out)
site = out / "no-site.xml"
site.write_text("<configuration/>")
verdicts = json.loads(pathlib.Path(recorded).read_text())
for name, verdict in verdicts.items():
    (out / "verdict.xml").write_text(verdict["file"])
    (out / "verdict").mkdir(exist_ok=True)
    command = ["java", "-Xmx1g", "-XX:TieredStopAtLevel=1", "-cp", class_path, main, "--skip-verification"]
    command += ["--yarnsiteconfig", site, "--fsconfig", out / "verdict.xml", "--output-directory", out / "verdict"]
    command += ["--percentage"] if verdict.get("percentages") else []
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    log = run.stdout + run.stderr
    why = re.findall(r"^(?:Caused by|.*Fatal error during FS config conversion): (.*)$", log, re.M)
    verdict["refusal"] = re.sub(r"^[\w.$]+(?:Exception|Error): ", "", why[-1]) if run.returncode else None
    verdict["left_out"] = sorted(set(re.findall(r"Can't create queue '([^']*)'", log)))
print(json.dumps(verdicts, indent=1, ensure_ascii=False))
PYTHON
}

for name in plain odd departments defaults groups percents pools preemption tenants weights-and-drf; do
  record "$name" "$name.xml"
  record "$name-percentages" "$name.xml" --percentage
done
# As percentages these have another sum on purpose, a rule below a leaf, and a failure of the reference.
for name in drf user-queues idle; do
  record "$name" "$name.xml"
done
verdicts >"$out/verdicts.json"

cd "$out"
for made in *.json; do
  if [ "${1-}" = --check ]; then
    diff -u "$cases/$made" "$made"
  else
    cp "$made" "$cases/$made"
  fi
done
