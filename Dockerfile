# The `capsched` command alone, on a small base image:
#   docker build -t capsched --build-arg COMMIT=$(git rev-parse --short=12 HEAD) .
#   docker run --rm -v "$PWD:/data" capsched check capacity-scheduler.xml
FROM rust:1.95.0-slim-bookworm AS build
# The toolchain of the image. rust-toolchain.toml asks for rustfmt and clippy too, which would be downloaded.
ENV RUSTUP_TOOLCHAIN=1.95.0
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The image runs on every processor of its architecture; `--build-arg CPU=x86-64-v3` asks for more.
ARG CPU=generic
# The commit that the program writes into its runs; the image has no repository.
ARG COMMIT=
RUN CAPSCHED_COMMIT="$COMMIT" RUSTFLAGS="-C target-cpu=$CPU" cargo build --profile max --locked -p capsched-cli --features top

FROM debian:bookworm-slim
COPY --from=build /src/target/max/capsched /usr/local/bin/capsched
COPY LICENSE NOTICE /usr/share/doc/capsched/
COPY server/assets/vendor/LICENSE-uPlot /usr/share/doc/capsched/LICENSE-uPlot
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["capsched"]
CMD ["--help"]
