package org.capsched.demo;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

import com.google.gson.JsonObject;
import com.sun.management.OperatingSystemMXBean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.scheduler.MeasuredCapacityScheduler;
import org.apache.hadoop.yarn.sls.scheduler.SLSCapschedScheduler;

/**
 * Runs Hadoop's load simulator on one scheduler: {@code Load WORK SCHEDULER TYPE TRACE [NODES]}, with {@code capacity} or
 * {@code capsched} for the scheduler. Prints a line of JSON on standard output; logs go to standard error.
 */
public final class Load {
  private static final String SLS = "yarn.sls.";

  private Load() {
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream results = System.out;
    System.setOut(System.err);
    int exit = 2;
    try {
      Path work = Files.createDirectories(Path.of(arguments[0]).toAbsolutePath());
      results.println(run(work, arguments));
      results.flush();
      exit = 0;
    } catch (Exception error) {
      error.printStackTrace();
    }
    // Threads of Hadoop's own would keep the process.
    System.exit(exit);
  }

  private static JsonObject run(Path work, String[] arguments) throws Exception {
    String scheduler = arguments[1];
    configure(work.resolve("conf"), scheduler);
    SLSRunner simulator = new SLSRunner(new YarnConfiguration());
    String output = work.resolve("simulator").toString();
    String[] plain = {"-tracetype", arguments[2], "-tracelocation", arguments[3], "-output", output};
    String[] parts = plain;
    if (arguments.length > 4) {
      parts = new String[] {plain[0], plain[1], plain[2], plain[3], plain[4], plain[5], "-nodes",
          arguments[4]};
    }
    long begin = System.nanoTime();
    simulator.run(parts);
    int applications = simulator.getRemainingApps();
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long cpuBefore = system.getProcessCpuTime();
    long running = System.nanoTime();
    while (simulator.getRemainingApps() > 0) {
      if (System.nanoTime() - begin > 1_200_000_000_000L) {
        throw new IllegalStateException(simulator.getRemainingApps() + " applications are left");
      }
      Thread.sleep(200);
    }
    double seconds = (System.nanoTime() - running) / 1e9;
    double cpu = (system.getProcessCpuTime() - cpuBefore) / 1e9;
    JsonObject line = figures(scheduler, applications, seconds, cpu);
    line.addProperty("nodes", simulator.getNmMap().size());
    return line;
  }

  private static JsonObject figures(String scheduler, int applications, double seconds, double cpu) {
    Measures measures = Measures.THE;
    double inside =
        measures.heartbeatSeconds() + measures.callSeconds() + measures.otherSeconds();
    JsonObject line = new JsonObject();
    line.addProperty("scheduler", scheduler);
    line.addProperty("applications", applications);
    line.addProperty("containers", measures.containers());
    line.addProperty("seconds", rounded(seconds));
    line.addProperty("process_cpu_s", rounded(cpu));
    line.addProperty("scheduler_s", rounded(inside));
    line.addProperty("scheduler_cpu_s", rounded(measures.cpuSeconds()));
    line.addProperty("containers_per_s", rounded(measures.containers() / seconds));
    line.addProperty("containers_per_scheduler_cpu_s",
        rounded(measures.containers() / measures.cpuSeconds()));
    line.addProperty("containers_per_scheduler_s", rounded(measures.containers() / inside));
    line.addProperty("heartbeats", measures.heartbeats());
    line.addProperty("us_per_heartbeat",
        rounded(measures.heartbeatSeconds() * 1e6 / measures.heartbeats()));
    line.addProperty("calls", measures.calls());
    line.addProperty("us_per_call", rounded(measures.callSeconds() * 1e6 / measures.calls()));
    line.addProperty("delay_ms_p50", rounded(measures.delay(0.5)));
    line.addProperty("delay_ms_p95", rounded(measures.delay(0.95)));
    return line;
  }

  private static Double rounded(Double number) {
    return number == null ? null : Math.round(number * 1000) / 1000.0;
  }

  private static void configure(Path settings, String scheduler) throws IOException {
    Configuration site = new Configuration(false);
    String type = switch (scheduler) {
      case "capacity" -> MeasuredCapacityScheduler.class.getName();
      case "capsched" -> SLSCapschedScheduler.class.getName();
      default -> throw new IllegalArgumentException("there is no scheduler " + scheduler);
    };
    site.set(YarnConfiguration.RM_SCHEDULER, type);
    site.set(YarnConfiguration.RM_HOSTNAME, "localhost");
    for (String key : new String[] {YarnConfiguration.RM_ADDRESS,
        YarnConfiguration.RM_ADMIN_ADDRESS, YarnConfiguration.RM_SCHEDULER_ADDRESS,
        YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS, YarnConfiguration.RM_WEBAPP_ADDRESS}) {
      site.set(key, "localhost:0");
    }
    write(settings.resolve("yarn-site.xml"), site);
    Configuration core = new Configuration(false);
    // Nodes of traces have no addresses.
    core.setBoolean(CommonConfigurationKeys.HADOOP_SECURITY_TOKEN_SERVICE_USE_IP, false);
    write(settings.resolve("core-site.xml"), core);
    Configuration queues = new Configuration(false);
    String prefix = "yarn.scheduler.capacity.";
    queues.set(prefix + "root.queues", "default,sls_queue_1,sls_queue_2,sls_queue_3");
    queues.set(prefix + "root.default.capacity", "10");
    for (int number = 1; number <= 3; number++) {
      String leaf = prefix + "root.sls_queue_" + number;
      queues.set(leaf + ".capacity", "30");
      queues.set(leaf + ".maximum-capacity", "100");
      queues.set(leaf + ".user-limit-factor", "10");
    }
    queues.set(prefix + "root.default.maximum-capacity", "100");
    queues.set(prefix + "root.default.user-limit-factor", "10");
    queues.set(prefix + "maximum-am-resource-percent", "0.5");
    queues.set(prefix + "per-node-heartbeat.maximum-offswitch-assignments", "10");
    write(settings.resolve("capacity-scheduler.xml"), queues);
    Configuration simulator = new Configuration(false);
    simulator.set(SLS + "am.type.mapreduce", "org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator");
    simulator.set(SLS + "am.type.stream", "org.apache.hadoop.yarn.sls.appmaster.StreamAMSimulator");
    simulator.set(SLS + "metrics.web.address.port", "0");
    simulator.set(SLS + "runner.pool.size", "10");
    write(settings.resolve("sls-runner.xml"), simulator);
  }

  private static void write(Path file, Configuration conf) throws IOException {
    try (OutputStream out = Files.newOutputStream(file)) {
      conf.writeXml(out);
    }
  }
}
