#!/usr/bin/env bash
# Builds the scheduler class and its native library where their sources are newer, then runs a part of the demonstration:
#
#   run.sh [--hadoop VERSION] [--keep DIR] demo SCENE...     scenes on a ResourceManager with node managers
#   run.sh [--hadoop VERSION] [--keep DIR] load TRACE SCHEDULER...
#                                                            Hadoop's load simulator, a run for each scheduler
#   run.sh [--hadoop VERSION] build                          nothing but the build
#
# Schedulers are capacity and capsched. A trace is sample, which is Hadoop's own, or a synthetic one as SLS reads it.
#
# Results go to standard output, a line of JSON each; logs go to DIR, or nowhere when none is to be kept.
# CAPSCHED_PROFILE names the build profile of the native library (release), DEMO_JVM the options of the virtual machine.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)

version=3.4.2 keep=
while :; do
  case "${1-}" in
    --hadoop) version=$2 && shift 2 ;;
    --keep) keep=$2 && shift 2 ;;
    *) break ;;
  esac
done
part=${1-} && shift || true
case "$part" in demo | load | build) ;; *) echo "say what to run: demo, load or build" >&2 && exit 2 ;; esac
for tool in java javac mvn cargo; do
  command -v "$tool" >/dev/null || { echo "$tool is needed: a JDK 17, Maven and Rust" >&2; exit 2; }
done

profile=${CAPSCHED_PROFILE:-release}
(cd "$repository" && cargo build --quiet --profile "$profile" -p capsched-java >&2)
native=${CARGO_TARGET_DIR:-$repository/target}/${profile/#dev/debug}
built=target/$version/classes/org/capsched/demo/Demo.class
if [ -z "$(find "$built" -newer pom.xml 2>/dev/null)" ] || [ -n "$(find src -newer "$built")" ]; then
  mvn --quiet --batch-mode -Dstyle.color=never "-Dhadoop.version=$version" compile >&2
  touch "$built"
fi
[ "$part" != build ] || exit 0

work=${keep:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$keep" ] || trap 'rm -rf "$work"' EXIT
options=${DEMO_JVM:--Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1}

# One virtual machine: its folder, then the main class and its arguments.
run() {
  local folder=$1
  shift
  mkdir -p "$folder/conf" "$folder/home"
  local classes
  classes=$folder/conf:$PWD/target/$version/classes:$(cat "target/$version/class-path")
  # Word splitting of the options is wanted. Hadoop opens packages of the JDK.
  # shellcheck disable=SC2086
  java $options --add-opens=java.base/java.lang=ALL-UNNAMED -Duser.home="$folder/home" \
    -Dtest.build.data="$folder/clusters" -Djava.library.path="$native" -cp "$classes" "$@" 2>"$folder/log"
}

status=0
if [ "$part" = demo ]; then
  run "$work/demo" org.capsched.demo.Demo "$work/demo" "$work/demo/conf" "$@" || status=$?
  [ "$status" = 0 ] || grep -v '^[[:space:]]*at ' "$work/demo/log" | tail -n 20 >&2
else
  trace=${1:?name a trace} type=SYNTH
  shift
  if [ "$trace" = sample ]; then
    trace=$work/sample.json type=RUMEN
    gzip -dc "$repository/configs/traces/hadoop-sls/2jobs2min-rumen-jh.json.gz" >"$trace"
  fi
  for scheduler in "$@"; do
    run "$work/$scheduler" org.capsched.demo.Load "$work/$scheduler" "$scheduler" "$type" "$trace" || status=$?
    [ "$status" = 0 ] || grep -v '^[[:space:]]*at ' "$work/$scheduler/log" | tail -n 20 >&2
  done
fi
exit "$status"
