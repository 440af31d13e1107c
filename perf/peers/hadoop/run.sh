#!/usr/bin/env bash
# Builds the driver when its sources are newer than its classes, then runs it with the options given.
# With --build-only as the only option nothing is run.
set -euo pipefail
cd "$(dirname "$0")"

for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "$tool is needed: JDK 17 and Maven" >&2; exit 2; }
done
if [ -z "$(find target/classes -name 'Peer.class' -newer pom.xml 2>/dev/null)" ] ||
  [ -n "$(find src -newer target/classes/Peer.class)" ]; then
  mvn --quiet --batch-mode -Dstyle.color=never compile >&2
fi
if [ "${1-}" = "--build-only" ]; then
  exit 0
fi
# Word splitting of the JVM's options is wanted.
# shellcheck disable=SC2086
exec java ${PEER_JVM:--Xmx8g -XX:+UseG1GC} -cp "target/classes:$(cat target/class-path)" Peer "$@"
