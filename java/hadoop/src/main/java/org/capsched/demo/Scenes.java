package org.capsched.demo;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.apache.hadoop.examples.QuasiMonteCarlo;
import org.apache.hadoop.examples.WordCount;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.applications.distributedshell.ApplicationMaster;
import org.apache.hadoop.yarn.applications.distributedshell.Client;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerAppReport;

/** What is shown on a cluster, a method each. Each returns what was seen, or throws. */
final class Scenes {
  private final Cluster cluster;

  Scenes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Runs the scene of a name. */
  String run(String name) throws Exception {
    return switch (name) {
      case "shell" -> shell();
      case "pi" -> pi();
      case "wordcount" -> wordCount();
      case "refresh" -> refresh();
      case "preemption" -> preemption();
      case "recovery" -> recovery();
      case "attempts" -> attempts();
      case "changes" -> new Changes(cluster).run();
      default -> throw new IllegalArgumentException("there is no scene " + name);
    };
  }

  /** Runs distributed shell to its end. Whether it succeeded. */
  private CompletableFuture<Boolean> shellOf(String name, String queue, int containers, int mb,
      String command, String... more) {
    return CompletableFuture.supplyAsync(() -> {
      try {
        Client client = new Client(cluster.conf());
        List<String> arguments = new ArrayList<>(List.of("--jar",
            Cluster.archiveOf(ApplicationMaster.class), "--appname", name, "--queue", queue,
            "--num_containers", String.valueOf(containers), "--container_memory",
            String.valueOf(mb), "--master_memory", "256", "--shell_command", command, "--timeout",
            "300000"));
        arguments.addAll(List.of(more));
        return client.init(arguments.toArray(String[]::new)) && client.run();
      } catch (Exception error) {
        throw new IllegalStateException("distributed shell: " + error, error);
      }
    });
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("expected: " + what);
    }
  }

  private SchedulerAppReport reportOf(ApplicationId id) {
    RMApp app = cluster.manager().getRMContext().getRMApps().get(id);
    if (app == null || app.getCurrentAppAttempt() == null) {
      return null;
    }
    ApplicationAttemptId attempt = app.getCurrentAppAttempt().getAppAttemptId();
    return cluster.scheduler().getSchedulerAppInfo(attempt);
  }

  private Set<ContainerId> liveOf(ApplicationId id) {
    Set<ContainerId> ids = new TreeSet<>();
    SchedulerAppReport report = reportOf(id);
    if (report != null) {
      for (RMContainer container : report.getLiveContainers()) {
        ids.add(container.getContainerId());
      }
    }
    return ids;
  }

  private String shell() throws Exception {
    boolean done = shellOf("shell", "default", 2, 256, "echo hello").get(5, TimeUnit.MINUTES);
    check(done, "distributed shell succeeds");
    awaitEmpty();
    return "distributed shell ran its master and 2 containers, and all room is free again";
  }

  /** Waits until queue and nodes hold nothing. */
  private void awaitEmpty() throws Exception {
    Cluster.await("all room is free", 30,
        () -> cluster.scheduler().getRootQueueMetrics().getAllocatedMB() == 0);
  }

  private String pi() throws Exception {
    org.apache.hadoop.fs.Path temporary =
        new org.apache.hadoop.fs.Path(cluster.work().resolve("pi").toUri());
    double estimate =
        QuasiMonteCarlo.estimatePi(2, 1000, temporary, cluster.conf()).doubleValue();
    check(Math.abs(estimate - Math.PI) < 0.1, "pi, but got " + estimate);
    return "MapReduce estimated pi as " + estimate + " with 2 maps of 1,000 points";
  }

  private String wordCount() throws Exception {
    Path input = Files.createDirectories(cluster.work().resolve("words"));
    for (int file = 0; file < 2; file++) {
      Files.writeString(input.resolve("text" + file), "to be or not to be\n".repeat(100));
    }
    Path output = cluster.work().resolve("counts");
    Job job = Job.getInstance(cluster.conf(), "word count");
    job.setJarByClass(WordCount.class);
    job.setMapperClass(WordCount.TokenizerMapper.class);
    job.setCombinerClass(WordCount.IntSumReducer.class);
    job.setReducerClass(WordCount.IntSumReducer.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(IntWritable.class);
    FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(input.toUri()));
    FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(output.toUri()));
    check(job.waitForCompletion(false), "the job succeeds");
    List<String> lines = new ArrayList<>();
    try (Stream<Path> parts = Files.list(output)) {
      for (Path part : parts.filter(path -> path.getFileName().toString().startsWith("part")).toList()) {
        lines.addAll(Files.readAllLines(part));
      }
    }
    check(lines.equals(List.of("be\t400", "not\t200", "or\t200", "to\t400")), "four counts, got " + lines);
    return "MapReduce counted the words of 2 files: " + String.join(", ", lines).replace('\t', ' ');
  }

  private String refresh() throws Exception {
    Map<String, String> valid = Map.of("root.queues", "default,a,b,c", "root.default.capacity", "10",
        "root.a.capacity", "30", "root.b.capacity", "40", "root.c.capacity", "20",
        "root.c.user-limit-factor", "10");
    cluster.writeQueues(valid);
    int exit = new RMAdminCLI(cluster.conf()).run(new String[] {"-refreshQueues"});
    check(exit == 0, "yarn rmadmin -refreshQueues exits with 0, got " + exit);
    QueueInfo added = cluster.client().getQueueInfo("root.c");
    check(added != null && added.getCapacity() == 0.2f, "root.c with 20 %, got " + added);
    Cluster.await("root.a has 30 %", 10,
        () -> cluster.client().getQueueInfo("root.a").getCapacity() == 0.3f);
    boolean done = shellOf("in-c", "c", 1, 256, "echo hello").get(5, TimeUnit.MINUTES);
    check(done, "distributed shell succeeds in the new queue");
    cluster.writeQueues(Map.of("root.queues", "default,a,b", "root.default.capacity", "20",
        "root.a.capacity", "70", "root.b.capacity", "70"));
    int refused = new RMAdminCLI(cluster.conf()).run(new String[] {"-refreshQueues"});
    check(refused != 0, "a refresh to capacities of 160 % is refused");
    check(cluster.client().getQueueInfo("root.a").getCapacity() == 0.3f, "root.a keeps its 30 %");
    cluster.writeQueues(valid);
    return "yarn rmadmin -refreshQueues added queue c, where an application ran; capacities of 160 % were refused and"
        + " changed nothing";
  }

  private String preemption() throws Exception {
    CompletableFuture<Boolean> large = shellOf("large", "a", 14, 512, "sleep 40");
    ApplicationId first = cluster.named("large");
    Cluster.await("queue a fills the cluster", 90, () -> liveOf(first).size() >= 15);
    CompletableFuture<Boolean> small = shellOf("small", "b", 4, 512, "sleep 1");
    check(small.get(4, TimeUnit.MINUTES), "the application in b succeeds");
    RMApp app = cluster.manager().getRMContext().getRMApps().get(first);
    int preempted = app.getRMAppMetrics().getNumNonAMContainersPreempted();
    check(preempted > 0, "containers of a are preempted");
    // Distributed shell counts a container that was preempted as failed, and does not ask again.
    large.get(4, TimeUnit.MINUTES);
    awaitEmpty();
    return "an application in b took its guarantee: " + preempted
        + " of 14 containers in a were preempted, and both applications came to their end";
  }

  private String attempts() throws Exception {
    CompletableFuture<Boolean> shell = shellOf("keeper", "default", 2, 256, "sleep 45",
        "--keep_containers_across_application_attempts");
    ApplicationId id = cluster.named("keeper");
    Cluster.await("master and 2 containers run", 90, () -> liveOf(id).size() == 3);
    // Until they are launched they do not outlive the attempt.
    Thread.sleep(3000);
    Set<ContainerId> kept = liveOf(id);
    // The upper bits have how often the ResourceManager was restarted.
    kept.removeIf(container -> (container.getContainerId() & ContainerId.CONTAINER_ID_BITMASK) == 1);
    ApplicationAttemptId first = ApplicationAttemptId.newInstance(id, 1);
    cluster.client().failApplicationAttempt(first);
    Cluster.await("the second attempt has a master and the containers of the first", 90, () -> {
      Set<ContainerId> live = liveOf(id);
      return live.size() == 3 && live.containsAll(kept)
          && live.stream().anyMatch(one -> one.getApplicationAttemptId().getAttemptId() == 2);
    });
    check(shell.get(4, TimeUnit.MINUTES), "the application succeeds");
    awaitEmpty();
    return "an attempt failed, and its " + kept.size() + " containers ran on for the second one, which succeeded";
  }

  private String recovery() throws Exception {
    CompletableFuture<Boolean> shell = shellOf("survivor", "default", 3, 256, "sleep 30");
    ApplicationId id = cluster.named("survivor");
    Cluster.await("master and 3 containers run", 90, () -> liveOf(id).size() == 4);
    // Until they are launched, nodes do not report them.
    Thread.sleep(3000);
    Set<ContainerId> before = liveOf(id);
    cluster.restartManager();
    Cluster.await("the nodes are back", 60,
        () -> cluster.scheduler().getNumClusterNodes() == cluster.nodes());
    Cluster.await("the containers are back", 60, () -> liveOf(id).equals(before));
    check(shell.get(4, TimeUnit.MINUTES), "the application succeeds");
    awaitEmpty();
    return "the ResourceManager was restarted under an application: its master and " + (before.size() - 1)
        + " containers ran on, and it succeeded";
  }
}
