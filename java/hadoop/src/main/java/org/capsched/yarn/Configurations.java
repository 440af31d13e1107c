package org.capsched.yarn;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf.FileBasedCSConfigurationProvider;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** The ResourceManager's configuration in the form that the engine reads. */
final class Configurations {
  /** {@code heartbeat}, {@code asynchronous} or {@code global}. */
  static final String MODE = "yarn.scheduler.capsched.mode";
  /** Scheduling threads of the last two. */
  static final String THREADS = "yarn.scheduler.capsched.threads";

  private static final String ASYNCHRONOUS = "yarn.scheduler.capacity.schedule-asynchronously.";
  static final String HEARTBEAT = "heartbeat";
  private static final String SCHEDULER = "yarn.scheduler.capacity.";

  private Configurations() {
  }

  /** The configuration with {@code capacity-scheduler.xml} as it is now. */
  static Configuration load(Configuration conf, RMContext context) throws IOException {
    return new FileBasedCSConfigurationProvider(context).loadConfiguration(new Configuration(conf));
  }

  /** The mode that the configuration asks for; the default is that of the release. */
  static String mode(Configuration conf) {
    boolean asynchronous = conf.getBoolean(ASYNCHRONOUS + "enable",
        CapacitySchedulerConfiguration.DEFAULT_SCHEDULE_ASYNCHRONOUSLY_ENABLE);
    return conf.getTrimmed(MODE, asynchronous ? "asynchronous" : HEARTBEAT);
  }

  /** What an engine is started with. */
  static Request start(Configuration conf, RMContext context) throws IOException {
    int threads = conf.getInt(THREADS, conf.getInt(ASYNCHRONOUS + "maximum-threads", 1));
    Request request = new Request().text(VersionInfo.getVersion()).text(mode(conf)).number(threads);
    List<String> types = new ArrayList<>();
    for (ResourceInformation type : ResourceUtils.getResourceTypesArray()) {
      types.add(type.getName());
    }
    request.texts(types);
    request.list(labels(context), (to, label) -> to.text(label.getName()).flag(label.isExclusive()));
    return files(request, conf, mode(conf));
  }

  private static List<NodeLabel> labels(RMContext context) throws IOException {
    List<NodeLabel> labels = new ArrayList<>();
    if (context.getNodeLabelManager() != null) {
      for (NodeLabel label : context.getNodeLabelManager().getClusterNodeLabels()) {
        if (!label.getName().isEmpty()) {
          labels.add(label);
        }
      }
    }
    return labels;
  }

  /** What an engine of a mode is refreshed with. */
  static Request files(Configuration conf, String mode) throws IOException {
    return files(new Request(), conf, mode);
  }

  private static Request files(Request request, Configuration conf, String mode)
      throws IOException {
    Configuration site = new Configuration(false);
    Configuration scheduler = new Configuration(false);
    for (Map.Entry<String, String> entry : conf) {
      String key = entry.getKey();
      // The engine reads what the Capacity Scheduler would, whose place it takes.
      if (key.startsWith("yarn.") && !key.equals(YarnConfiguration.RM_SCHEDULER)) {
        String value = conf.get(key);
        if (value != null) {
          (key.startsWith(SCHEDULER) ? scheduler : site).set(key, value);
        }
      }
    }
    // As in the Capacity Scheduler, the mode is that of the start: in heartbeat mode nobody else schedules nodes.
    scheduler.setBoolean(ASYNCHRONOUS + "enable", !mode.equals(HEARTBEAT));
    return request.text(UserGroupInformation.getCurrentUser().getShortUserName())
        .blob(xml(site)).blob(xml(scheduler));
  }

  private static byte[] xml(Configuration conf) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    conf.writeXml(out);
    return out.toByteArray();
  }
}
