// Measures how many containers a second the Capacity Scheduler of Hadoop allocates on one shape of
// cluster and load, and prints one line of JSON for each round.

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
  /**
   * A cluster and its load. Sizes are in GiB; {@code asked} is how many containers all applications
   * ask for together, {@code target} how many allocations end a round.
   */
  record Shape(String name, int nodes, int nodeGib, int nodeVcores, int gib, int vcores,
      int[] queues, int apps, int users, int userPercent, long asked, long target, boolean hopeless,
      boolean churn) {

    static Shape of(String name) {
      return switch (name) {
        case "S1" -> fill(name, 1_000, new int[] {10}, 100, 20);
        case "S2" -> fill(name, 5_000, new int[] {5, 10}, 500, 100);
        case "S3" -> fill(name, 10_000, new int[] {5, 4, 5}, 1_000, 200);
        case "S4" -> new Shape(name, 1_000, 128, 32, 4, 1, new int[] {10}, 100, 20, 100, 40_000,
            31_680, true, false);
        case "S5" -> new Shape(name, 1_000, 128, 32, 4, 1, new int[] {10}, 100, 20, 25, 30_400,
            30_400, false, true);
        case "W1" -> new Shape(name, 1_000, 11, 11, 1, 1, new int[] {2}, 2, 2, 25, 10_000, 10_000,
            false, false);
        case "W6" -> new Shape(name, 20_000, 256, 64, 4, 1, new int[] {5, 10, 10}, 47_000, 5, 25,
            1_600_000, 128_000, false, false);
        default -> throw new IllegalArgumentException("no shape " + name + "; S1-S5, W1, W6");
      };
    }

    /** Nodes for 32 containers each, asked for 1.25 times what fits, full at 99 %. */
    private static Shape fill(String name, int nodes, int[] queues, int apps, int users) {
      long fits = 32L * nodes;
      return new Shape(name, nodes, 128, 32, 4, 1, queues, apps, users, 25, fits * 5 / 4,
          fits * 99 / 100, false, false);
    }

    /**
     * Whether an application asks for containers that no node can hold: nine of ten in a queue, all
     * older than the tenth.
     */
    boolean isHopeless(int app) {
      int leaves = 1;
      for (int children : queues) {
        leaves *= children;
      }
      return hopeless && app / leaves % 10 != 9;
    }

    /** Containers that one application asks for. */
    int askedBy(int app) {
      int sharing = hopeless && !isHopeless(app) ? apps / 10 : apps;
      return (int) ((asked + sharing - 1) / sharing);
    }
  }

  /** What the command line says. */
  record Options(Shape shape, String mode, int threads, long intervalMs, long sortMs, int offswitch,
      String calculator, int warmup, int rounds, long seconds) {

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
          Long.parseLong(take(given, "seconds", "30")));
      if (!List.of("heartbeat", "async", "global").contains(options.mode)) {
        throw new IllegalArgumentException("no mode " + options.mode);
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

  private Peer(Options options) throws Exception {
    this.options = options;
    this.cluster = new Cluster(options);
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
    for (int round = -options.warmup; round < options.rounds; round++) {
      peer.round(round);
    }
    // The scheduler's threads do not all end by themselves.
    System.exit(0);
  }

  /** Submits the applications, measures, and takes everything away again. */
  private void round(int number) throws Exception {
    Shape shape = options.shape;
    Counts counts = cluster.counts();
    counts.begin(shape.target);
    long limit = System.nanoTime() + options.seconds * 1_000_000_000L;
    List<ApplicationAttemptId> apps = new ArrayList<>();
    for (int i = 0; i < shape.apps; i++) {
      apps.add(cluster.submit(i));
    }
    for (int i = 0; i < shape.apps; i++) {
      cluster.ask(apps.get(i), shape.askedBy(i), shape.isHopeless(i), List.of());
    }
    fill(limit);
    boolean complete = counts.reached();
    double perSec = counts.perSecond();
    if (shape.churn && complete) {
      counts.begin(Long.MAX_VALUE);
      perSec = churn(apps);
    }
    print(number, perSec, counts, complete);
    for (ApplicationAttemptId app : apps) {
      cluster.remove(app);
    }
    cluster.settle();
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
    counts.watch(true);
    while (System.nanoTime() < end) {
      for (Integer app = served.poll(); app != null; app = served.poll()) {
        replace(apps.get(app), live.get(app));
      }
      if (options.mode.equals("heartbeat")) {
        cluster.heartbeat();
      } else {
        Thread.onSpinWait();
      }
      for (ApplicationAttemptId app = counts.served(); app != null; app = counts.served()) {
        served.add(cluster.indexOf(app));
      }
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
    System.out.printf(Locale.ROOT,
        "{\"peer\":\"hadoop-3.4.2\",\"shape\":\"%s\",\"mode\":\"%s\",\"threads\":%d,"
            + "\"intervalMs\":%d,\"sortMs\":%d,\"calculator\":\"%s\",\"round\":%d,"
            + "\"perSec\":%.0f,\"allocated\":%d,\"accepted\":%d,\"rejected\":%d,\"complete\":%b}%n",
        options.shape.name, options.mode, options.mode.equals("heartbeat") ? 1 : options.threads,
        options.intervalMs, options.sortMs, options.calculator, round, perSec, counts.allocated(),
        counts.accepted(), counts.rejected(), complete);
  }
}
