// Measures how many containers a second the Capacity Scheduler of Hadoop allocates on one shape of
// cluster and load, and prints one line of JSON for each round.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.TreeMap;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;

/** The command: shapes, rounds and what is printed. */
public final class Peer {
  /** Why some applications get nothing. */
  enum Hopeless { NONE, SIZE, USER }

  /**
   * A cluster and its load. Sizes are in GiB; {@code asked} is how many containers all applications
   * ask for together, {@code target} how many allocations end a round.
   */
  record Shape(String name, int nodes, int nodeGib, int nodeVcores, int gib, int vcores,
      int[] queues, int apps, int users, int userPercent, String userFactor, long asked,
      long target, Hopeless hopeless, Kind kind) {

    /** What is measured: containers until the cluster is full, replacements, or heartbeats. */
    enum Kind { FILL, CHURN, BEATS }

    static Shape of(String name) {
      return switch (name) {
        case "S1" -> fill(name, 1_000, new int[] {10}, 100, 20, 25, Hopeless.NONE);
        case "S2" -> fill(name, 5_000, new int[] {5, 10}, 500, 100, 25, Hopeless.NONE);
        case "S3" -> fill(name, 10_000, new int[] {5, 4, 5}, 1_000, 200, 25, Hopeless.NONE);
        case "S4" -> fill(name, 1_000, new int[] {10}, 100, 20, 100, Hopeless.SIZE);
        case "S4U" -> fill(name, 1_000, new int[] {10}, 100, 20, 10, Hopeless.USER);
        case "S5" -> new Shape(name, 1_000, 128, 32, 4, 1, new int[] {10}, 100, 20, 25, "10",
            30_400, 30_400, Hopeless.NONE, Kind.CHURN);
        case "K500" -> part(name, 500, new int[] {10}, 50, 10);
        case "K2000" -> part(name, 2_000, new int[] {5, 4}, 200, 40);
        case "K20000" -> part(name, 20_000, new int[] {5, 4, 5}, 2_000, 400);
        case "W1" -> new Shape(name, 5_000, 3, 3, 1, 1, new int[] {2}, 2, 2, 25, "10", 10_000,
            10_000, Hopeless.NONE, Kind.FILL);
        case "W1-50k" -> new Shape(name, 1_000, 51, 51, 1, 1, new int[] {2}, 2, 2, 25, "10",
            50_000, 50_000, Hopeless.NONE, Kind.FILL);
        case "W6" -> new Shape(name, 20_000, 256, 64, 4, 1, new int[] {5, 10, 10}, 47_000, 5, 25,
            "10", 1_600_000, 128_000, Hopeless.NONE, Kind.FILL);
        case "W7" -> new Shape(name, 2, 1024, 256, 1, 1, new int[] {1}, 100, 100, 1, "0.001",
            640, Long.MAX_VALUE, Hopeless.NONE, Kind.BEATS);
        default -> throw new IllegalArgumentException(
            "no shape " + name + "; S1 to S5, S4U, W1, W1-50k, W6, W7, K500, K2000, K20000");
      };
    }

    /** Nodes for 32 containers each, asked for 1.25 times what fits, full at 99 %. */
    private static Shape fill(String name, int nodes, int[] queues, int apps, int users,
        int userPercent, Hopeless hopeless) {
      long fits = 32L * nodes;
      return new Shape(name, nodes, 128, 32, 4, 1, queues, apps, users, userPercent, "10",
          fits * 5 / 4, fits * 99 / 100, hopeless, Kind.FILL);
    }

    /** The same, but a round ends after 40,000 containers at the latest. */
    private static Shape part(String name, int nodes, int[] queues, int apps, int users) {
      Shape whole = fill(name, nodes, queues, apps, users, 25, Hopeless.NONE);
      return new Shape(name, nodes, 128, 32, 4, 1, queues, apps, users, 25, "10", whole.asked,
          Math.min(whole.target, 40_000), Hopeless.NONE, Kind.FILL);
    }

    int leaves() {
      int leaves = 1;
      for (int children : queues) {
        leaves *= children;
      }
      return leaves;
    }

    /** Nine of ten applications of each leaf, at places that differ from leaf to leaf. */
    boolean isHopeless(int app) {
      return hopeless != Hopeless.NONE && (app / leaves() + app % leaves()) % 10 != 0;
    }

    /** Position of the user of an application; queues and users take turns. */
    int user(int app) {
      return (app + app / leaves()) % users;
    }

    /** Containers that one application asks for. */
    int askedBy() {
      int able = 0;
      for (int app = 0; app < apps; app++) {
        able += isHopeless(app) ? 0 : 1;
      }
      return (int) ((asked + able - 1) / able);
    }
  }

  /** What the command line says. */
  record Options(Shape shape, String mode, int threads, long intervalMs, long sortMs, int offswitch,
      String calculator, int warmup, int rounds, long seconds, long idleMs, boolean paced,
      String clock) {

    static Options parse(String[] words) {
      Map<String, String> given = new TreeMap<>();
      for (int i = 0; i < words.length; i += 2) {
        if (!words[i].startsWith("--") || i + 1 == words.length) {
          throw new IllegalArgumentException("expected --option value, found " + words[i]);
        }
        given.put(words[i].substring(2), words[i + 1]);
      }
      Options options = new Options(
          Shape.of(take(given, "shape", "S1")),
          take(given, "mode", "heartbeat"),
          Integer.parseInt(take(given, "threads", "1")),
          Long.parseLong(take(given, "interval-ms", "5")),
          Long.parseLong(take(given, "sort-ms", "1000")),
          Integer.parseInt(take(given, "offswitch", "1")),
          take(given, "calculator", "drf"),
          Integer.parseInt(take(given, "warmup", "3")),
          Integer.parseInt(take(given, "rounds", "5")),
          Long.parseLong(take(given, "seconds", "30")),
          Long.parseLong(take(given, "idle-ms", "0")),
          Boolean.parseBoolean(take(given, "paced", "false")),
          take(given, "clock", "wall"));
      if (!List.of("heartbeat", "async", "global").contains(options.mode)) {
        throw new IllegalArgumentException("no mode " + options.mode);
      }
      if (!List.of("wall", "threads").contains(options.clock)) {
        throw new IllegalArgumentException("no clock " + options.clock);
      }
      if (!List.of("drf", "default").contains(options.calculator)) {
        throw new IllegalArgumentException("no calculator " + options.calculator);
      }
      if (!given.isEmpty()) {
        throw new IllegalArgumentException("unknown options " + given.keySet());
      }
      return options;
    }

    private static String take(Map<String, String> given, String name, String normal) {
      String value = given.remove(name);
      return value == null ? normal : value;
    }
  }

  private final Options options;
  private final Cluster cluster;
  private final Random random = new Random(1);
  private long schedulingNanos;

  private Peer(Options options) throws Exception {
    this.options = options;
    this.cluster = new Cluster(options);
    if (options.clock.equals("threads")) {
      cluster.counts().takeTimeOf(cluster.deciders(), cluster.committers());
    }
  }

  public static void main(String[] words) throws Exception {
    Options options;
    try {
      options = Options.parse(words);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    Peer peer = new Peer(options);
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    for (int round = -options.warmup; round < options.rounds; round++) {
      // Whoever alternates this with something else says when a measured round may begin.
      if (options.paced && round >= 0 && orders.readLine() == null) {
        break;
      }
      peer.round(round);
      if (options.paced) {
        System.out.println("{\"ready\":" + (round + 1) + "}");
        System.out.flush();
      }
    }
    // The scheduler's threads do not all end by themselves.
    System.exit(0);
  }

  /** Submits the applications, measures, and takes everything away again. */
  private void round(int number) throws Exception {
    Shape shape = options.shape;
    Counts counts = cluster.counts();
    counts.begin(shape.target);
    cluster.schedule(false);
    cluster.beginSorting();
    List<ApplicationAttemptId> apps = new ArrayList<>();
    for (int i = 0; i < shape.apps; i++) {
      apps.add(cluster.submit(i));
    }
    for (int i = 0; i < shape.apps; i++) {
      cluster.ask(apps.get(i), shape.askedBy(), isTooLarge(i), List.of());
    }
    cluster.schedule(true);
    long limit = System.nanoTime() + options.seconds * 1_000_000_000L;
    double perSec;
    boolean complete;
    schedulingNanos = 0;
    if (shape.kind == Shape.Kind.BEATS) {
      complete = true;
      perSec = beats();
    } else {
      fill(limit);
      complete = counts.reached();
      perSec = counts.perSecond();
    }
    if (shape.kind == Shape.Kind.CHURN && complete) {
      counts.begin(Long.MAX_VALUE);
      perSec = churn(apps);
    }
    print(number, perSec, counts, complete);
    for (ApplicationAttemptId app : apps) {
      cluster.remove(app);
    }
    cluster.settle();
    if (options.idleMs > 0 && options.mode.equals("heartbeat")) {
      idle();
    }
    // Idle threads would take the processor from whatever runs between two rounds.
    cluster.schedule(false);
    cluster.endSorting();
  }

  /** Heartbeats of a cluster without applications, for so long. */
  private void idle() {
    long begin = cluster.counts().now();
    long end = begin + options.idleMs * 1_000_000;
    long beats = 0;
    while (cluster.counts().now() < end) {
      for (int i = 0; i < 16; i++) {
        cluster.heartbeat();
      }
      beats += 16;
    }
    System.out.printf(Locale.ROOT, "{\"idle_heartbeat_ns\":%d}%n",
        (cluster.counts().now() - begin) / beats);
    System.out.flush();
  }

  private boolean isTooLarge(int app) {
    return options.shape.hopeless == Hopeless.SIZE && options.shape.isHopeless(app);
  }

  /** Heartbeats per second once they place nothing any more. */
  private double beats() {
    Counts counts = cluster.counts();
    long before;
    do {
      before = counts.allocated();
      for (int i = 0; i < 2 * options.shape.nodes; i++) {
        cluster.heartbeat();
      }
    } while (counts.allocated() > before);
    long begin = System.nanoTime();
    long end = begin + options.seconds * 1_000_000_000L;
    long n = 0;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 16; i++) {
        cluster.heartbeat();
      }
      n += 16;
    }
    return n * 1e9 / (System.nanoTime() - begin);
  }

  /** Runs until the target is reached or time is up. */
  private void fill(long limit) throws InterruptedException {
    Counts counts = cluster.counts();
    while (!counts.reached() && System.nanoTime() < limit) {
      step();
    }
  }

  /** One heartbeat, or a moment of waiting for the scheduler's own threads. */
  private void step() throws InterruptedException {
    if (options.mode.equals("heartbeat")) {
      cluster.heartbeat();
    } else {
      Thread.sleep(1);
    }
  }

  /**
   * Replaces containers for the time of a round: each application gives back one at random and asks
   * for another, again and again. Returns allocations per second.
   */
  private double churn(List<ApplicationAttemptId> apps) throws InterruptedException {
    List<List<ContainerId>> live = new ArrayList<>();
    Queue<Integer> served = new ArrayDeque<>();
    for (int i = 0; i < apps.size(); i++) {
      live.add(new ArrayList<>());
      remember(cluster.fetch(apps.get(i)), live.get(i));
      served.add(i);
    }
    Counts counts = cluster.counts();
    long begin = System.nanoTime();
    long end = begin + options.seconds * 1_000_000_000L;
    int open = 0;
    counts.watch(true);
    while (System.nanoTime() < end) {
      for (Integer app = served.poll(); app != null; app = served.poll()) {
        replace(apps.get(app), live.get(app));
        open++;
      }
      // Half of the asks are served before those served ask again.
      long before = System.nanoTime();
      while (open > apps.size() / 2 && System.nanoTime() < end) {
        if (options.mode.equals("heartbeat")) {
          cluster.heartbeat();
        } else {
          Thread.onSpinWait();
        }
        for (ApplicationAttemptId app = counts.served(); app != null; app = counts.served()) {
          served.add(cluster.indexOf(app));
          open--;
        }
      }
      schedulingNanos += System.nanoTime() - before;
    }
    counts.watch(false);
    return counts.allocated() * 1e9 / (System.nanoTime() - begin);
  }

  /** One call: gives a random container back, asks for one, fetches what was allocated before. */
  private void replace(ApplicationAttemptId app, List<ContainerId> live) {
    int at = random.nextInt(live.size());
    ContainerId given = live.set(at, live.get(live.size() - 1));
    live.remove(live.size() - 1);
    remember(cluster.ask(app, 1, false, List.of(given)), live);
  }

  private static void remember(List<Container> containers, List<ContainerId> live) {
    for (Container container : containers) {
      live.add(container.getId());
    }
  }

  private void print(int round, double perSec, Counts counts, boolean complete) {
    long placed = Math.min(counts.allocated(), options.shape.target);
    double alone = schedulingNanos == 0 ? 0 : counts.allocated() * 1e9 / schedulingNanos;
    System.out.printf(Locale.ROOT,
        "{\"peer\":\"hadoop-3.4.2\",\"shape\":\"%s\",\"mode\":\"%s\",\"threads\":%d,"
            + "\"interval_ms\":%d,\"sort_ms\":%d,\"offswitch\":%d,\"calculator\":\"%s\","
            + "\"round\":%d,\"per_second\":%.0f,\"scheduling_per_second\":%.0f,\"placed\":%d,"
            + "\"accepted\":%d,\"rejected\":%d,\"commit_ns\":%d,\"deciding_ns\":%d,"
            + "\"complete\":%b}%n",
        options.shape.name, options.mode, options.mode.equals("heartbeat") ? 1 : options.threads,
        options.intervalMs, options.sortMs, options.offswitch, options.calculator, round, perSec,
        alone, placed, counts.accepted(), counts.rejected(), counts.commitNanos(),
        placed == 0 ? 0 : counts.decidingNanos(), complete);
    System.out.flush();
  }
}
