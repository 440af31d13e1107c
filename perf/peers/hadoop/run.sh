#!/usr/bin/env bash
# Builds the driver when its sources are newer than its classes, then runs it with the options given.
# With --build-only as the only option nothing is run. With --judge as the first one scenarios are
# played instead of shapes, on the release that may follow: --judge 3.5.0 SCENARIO.json
set -euo pipefail
here=$(pwd)
cd "$(dirname "$0")"

version=3.4.2 main=Peer
if [ "${1-}" = "--judge" ]; then
  shift
  main=org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.Judge
  case "${1-}" in [0-9]*) version=$1 && shift ;; esac
fi
for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "$tool is needed: JDK 17 and Maven" >&2; exit 2; }
done
built=target/$version/classes/Peer.class
if [ -z "$(find "$built" -newer pom.xml 2>/dev/null)" ] || [ -n "$(find src -newer "$built")" ]; then
  mvn --quiet --batch-mode -Dstyle.color=never "-Dhadoop.version=$version" compile >&2
  touch "$built"
fi
if [ "${1-}" = "--build-only" ]; then
  exit 0
fi
classes=$PWD/target/$version/classes:$(cat "target/$version/class-path")
cd "$here"
options=${PEER_JVM:--Xmx8g -XX:+UseG1GC}
if [ "$main" != Peer ]; then
  options=${PEER_JVM:--Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1}
fi
# Without memory a scheduler may wait for a thread that has ended.
options="$options -XX:+ExitOnOutOfMemoryError"
# Word splitting of the JVM's options is wanted.
# shellcheck disable=SC2086
exec java $options -cp "$classes" "$main" "$@"
