package org.capsched.demo;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer;
import org.apache.hadoop.mapreduce.v2.jobhistory.JHAdminConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;

/** A ResourceManager with real node managers in this process, and what scenes ask of it. */
final class Cluster implements AutoCloseable {
  private static final int NODES = 2;
  private static final int NODE_MB = 4096;

  private final Path work;
  private final Path settings;
  private final YarnConfiguration conf = new YarnConfiguration();
  private final MiniYARNCluster cluster;
  private final JobHistoryServer history = new JobHistoryServer();
  private final YarnClient client = YarnClient.createYarnClient();

  /** {@code settings} is the folder on the class path that holds the files of the configuration. */
  Cluster(Path work, Path settings, String scheduler) throws Exception {
    this.work = work;
    this.settings = settings;
    writeQueues(Map.of("root.queues", "default,a,b", "root.default.capacity", "20",
        "root.a.capacity", "40", "root.b.capacity", "40"));
    configure(scheduler);
    cluster = new MiniYARNCluster("capsched", 1, NODES, 1, 1, false);
    cluster.init(conf);
    cluster.start();
    // Masters find the ResourceManager by the file on the class path.
    try (OutputStream out = Files.newOutputStream(settings.resolve("yarn-site.xml"))) {
      conf.writeXml(out);
    }
    history.init(new Configuration(conf));
    history.start();
    client.init(conf);
    client.start();
  }

  private void configure(String scheduler) throws IOException {
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler);
    conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
    conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_USE_RPC, true);
    for (String key : List.of(YarnConfiguration.RM_ADDRESS, YarnConfiguration.RM_ADMIN_ADDRESS,
        YarnConfiguration.RM_SCHEDULER_ADDRESS, YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS,
        YarnConfiguration.RM_WEBAPP_ADDRESS, JHAdminConfig.MR_HISTORY_ADDRESS,
        JHAdminConfig.MR_HISTORY_WEBAPP_ADDRESS, JHAdminConfig.JHS_ADMIN_ADDRESS)) {
      conf.set(key, "localhost:" + freePort());
    }
    conf.set(YarnConfiguration.RM_HOSTNAME, "localhost");
    conf.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, NODE_MB);
    conf.setInt(YarnConfiguration.NM_VCORES, 16);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
    conf.setInt(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, 200);
    conf.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
    conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
    conf.set(YarnConfiguration.NM_AUX_SERVICES, "mapreduce_shuffle");
    conf.setInt("mapreduce.shuffle.port", 0);
    conf.set(YarnConfiguration.YARN_APPLICATION_CLASSPATH, System.getProperty("java.class.path"));
    conf.set("mapreduce.application.classpath", System.getProperty("java.class.path"));
    conf.set("yarn.app.mapreduce.am.staging-dir", work.resolve("staging").toString());
    conf.set("hadoop.tmp.dir", work.resolve("tmp").toString());
    conf.set(CommonConfigurationKeysPublic.FS_DEFAULT_NAME_KEY, "file:///");
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.setClass(YarnConfiguration.RM_STORE, FileSystemRMStateStore.class, RMStateStore.class);
    conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, work.resolve("store").toUri().toString());
    conf.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 2000);
    conf.setInt(YarnConfiguration.RESOURCEMANAGER_CONNECT_RETRY_INTERVAL_MS, 500);
    String preemption = "yarn.resourcemanager.monitor.capacity.preemption.";
    conf.setBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, true);
    conf.setInt(preemption + "monitoring_interval", 500);
    conf.setInt(preemption + "max_wait_before_kill", 1500);
    conf.set(preemption + "total_preemption_per_round", "1.0");
    conf.set(preemption + "natural_termination_factor", "1.0");
    conf.setInt("mapreduce.map.memory.mb", 256);
    conf.setInt("mapreduce.reduce.memory.mb", 256);
    conf.setInt("yarn.app.mapreduce.am.resource.mb", 512);
    conf.setInt("mapreduce.task.io.sort.mb", 10);
    conf.set("mapreduce.framework.name", "yarn");
    String small = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx";
    conf.set("yarn.app.mapreduce.am.command-opts", small + "256m");
    conf.set("mapreduce.map.java.opts", small + "128m");
    conf.set("mapreduce.reduce.java.opts", small + "128m");
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** Writes {@code capacity-scheduler.xml}: keys without their common prefix. */
  void writeQueues(Map<String, String> queues) throws IOException {
    Configuration file = new Configuration(false);
    String prefix = "yarn.scheduler.capacity.";
    file.set(prefix + "maximum-am-resource-percent", "0.5");
    file.set(prefix + "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
    for (String leaf : List.of("default", "a", "b")) {
      file.set(prefix + "root." + leaf + ".user-limit-factor", "10");
      file.set(prefix + "root." + leaf + ".maximum-capacity", "100");
    }
    queues.forEach((key, value) -> file.set(prefix + key, value));
    try (OutputStream out = Files.newOutputStream(settings.resolve("capacity-scheduler.xml"))) {
      file.writeXml(out);
    }
  }

  YarnConfiguration conf() {
    return new YarnConfiguration(conf);
  }

  Path work() {
    return work;
  }

  YarnClient client() {
    return client;
  }

  ResourceManager manager() {
    return cluster.getResourceManager();
  }

  ResourceScheduler scheduler() {
    return manager().getResourceScheduler();
  }

  /** Stops the ResourceManager and starts another one on its store. */
  void restartManager() throws Exception {
    cluster.restartResourceManager(0);
  }

  int nodes() {
    return NODES;
  }

  /** Waits until something holds, at most so many seconds in which this process runs. */
  static void await(String what, int seconds, Callable<Boolean> condition) throws Exception {
    int looks = seconds * 10;
    while (!condition.call()) {
      looks--;
      if (looks < 0) {
        throw new IllegalStateException("not within " + seconds + " s: " + what);
      }
      Thread.sleep(100);
    }
  }

  /** Applications that have not ended. */
  List<ApplicationReport> live() throws Exception {
    return new ArrayList<>(client.getApplications(EnumSet.of(YarnApplicationState.NEW,
        YarnApplicationState.NEW_SAVING, YarnApplicationState.SUBMITTED,
        YarnApplicationState.ACCEPTED, YarnApplicationState.RUNNING)));
  }

  /** The live application of a name, once there is one. */
  ApplicationId named(String name) throws Exception {
    ApplicationId[] found = new ApplicationId[1];
    await("application " + name, 60, () -> {
      for (ApplicationReport report : live()) {
        if (report.getName().equals(name)) {
          found[0] = report.getApplicationId();
        }
      }
      return found[0] != null;
    });
    return found[0];
  }

  /** Path of the archive that a class was read from. */
  static String archiveOf(Class<?> type) throws Exception {
    return new File(type.getProtectionDomain().getCodeSource().getLocation().toURI()).getPath();
  }

  @Override
  public void close() throws Exception {
    client.stop();
    history.stop();
    cluster.stop();
  }
}
