#!/usr/bin/env bash
# Remakes the recordings of `yarn fs2cs` in cli/tests/fs2cs with the converter of Hadoop 3.4.2. `fs2cs.sh --check` makes
# them aside and compares; its exit code is 1 where one differs.
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

record drf drf.xml
record plain plain.xml
record plain-percentages plain.xml --percentage
record odd odd.xml
record odd-percentages odd.xml --percentage

for name in drf plain plain-percentages odd odd-percentages; do
  if [ "${1-}" = --check ]; then
    diff -u "$cases/$name.json" "$out/$name.json"
  else
    cp "$out/$name.json" "$cases/$name.json"
  fi
done
