// What the scheduler needs around it: configuration, labels, a queue of events, the context.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.conf.ConfigurationProvider;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.nodelabels.NodeLabelsStore;
import org.apache.hadoop.yarn.server.resourcemanager.ClusterMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.NoOpSystemMetricPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.MemoryPlacementConstraintManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeSortingManager;
import org.apache.hadoop.yarn.server.resourcemanager.security.NMTokenSecretManagerInRM;
import org.apache.hadoop.yarn.server.resourcemanager.security.RMContainerTokenSecretManager;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** The resource manager around one scheduler. */
final class Surroundings {
  final Deque<Event<?>> events = new ArrayDeque<>();
  final RMContextImpl context;
  final RMNodeLabelsManager labels = new MemoryLabels();
  final Configuration conf;
  private final MultiNodeSortingManager<SchedulerNode> sorting = new MultiNodeSortingManager<>();
  private Map<String, String> queues = new TreeMap<>();
  /** The whole text of the capacity scheduler's file, where a scenario has one in place of keys. */
  private byte[] text;

  Surroundings(JsonNode scenario, Configuration site, CapacityScheduler scheduler)
      throws Exception {
    DefaultMetricsSystem.setMiniClusterMode(true);
    QueueMetrics.clearQueueMetrics();
    ClusterMetrics.destroy();
    DefaultMetricsSystem.shutdown();
    conf = site;
    scenario.path("config").fields()
        .forEachRemaining(pair -> queues.put(pair.getKey(), pair.getValue().asText()));
    text = scenario.has("xml") ? bytes(scenario.get("xml")) : null;
    context = context(new QueueingDispatcher(events), scheduler);
    startLabels(scenario.path("cluster_labels"));
    sorting.setRMContext(context);
    sorting.init(conf);
    context.setMultiNodeSortingManager(sorting);
    readQueuesFromHere();
    // The file lies on the class path of a resource manager: what reads the site finds it there.
    Configuration both = new Configuration(conf);
    both.addResource(new ByteArrayInputStream(file()), "capacity-scheduler.xml");
    both.size();
    scheduler.setConf(both);
    scheduler.setRMContext(context);
    scheduler.init(conf);
    sorting.start();
    events.clear();
  }

  private RMContextImpl context(Dispatcher dispatcher, CapacityScheduler scheduler) {
    RMContainerTokenSecretManager containerTokens = new RMContainerTokenSecretManager(conf);
    NMTokenSecretManagerInRM nodeTokens = new NMTokenSecretManagerInRM(conf);
    containerTokens.rollMasterKey();
    nodeTokens.rollMasterKey();
    RMContextImpl made = new RMContextImpl(dispatcher, new ContainerAllocationExpirer(dispatcher),
        null, null, null, null, containerTokens, nodeTokens, null, scheduler);
    made.setYarnConfiguration(conf);
    made.setRMApplicationHistoryWriter(new RMApplicationHistoryWriter());
    made.setSystemMetricsPublisher(new NoOpSystemMetricPublisher());
    made.setAllocationTagsManager(new AllocationTagsManager(made));
    made.setPlacementConstraintManager(new MemoryPlacementConstraintManager());
    made.setQueuePlacementManager(new PlacementManager());
    NullRMStateStore store = new NullRMStateStore();
    store.setRMDispatcher(dispatcher);
    store.init(conf);
    made.setStateStore(store);
    return made;
  }

  /** The keys of the capacity scheduler's file. */
  Map<String, String> queues() {
    return queues;
  }

  void queues(Map<String, String> changed) {
    queues = changed;
  }

  /** Replaces the file as a whole. */
  void text(JsonNode xml) {
    text = bytes(xml);
  }

  private static byte[] bytes(JsonNode text) {
    return text.asText().getBytes(StandardCharsets.UTF_8);
  }

  private byte[] file() throws IOException {
    if (text != null) {
      return text;
    }
    Configuration file = new Configuration(false);
    queues.forEach(file::set);
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    file.writeXml(written);
    return written.toByteArray();
  }

  void close() {
    sorting.stop();
    labels.stop();
  }

  /** The site of a scenario; its resource types hold from now on. */
  static Configuration site(JsonNode scenario) {
    Configuration conf = new YarnConfiguration();
    conf.setBoolean("yarn.node-labels.enabled", true);
    conf.setLong("yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", 0);
    // Nodes never count as stale.
    conf.setInt("yarn.scheduler.skip.node.multiplier", 1_000_000);
    List<String> more = new ArrayList<>();
    scenario.get("resource_types").forEach(name -> more.add(name.asText()));
    more.removeAll(List.of("memory-mb", "vcores"));
    conf.set("yarn.resource-types", String.join(",", more));
    // An empty value in a file counts as none.
    scenario.path("site").fields().forEachRemaining(pair -> {
      if (!pair.getValue().asText().isEmpty()) {
        conf.set(pair.getKey(), pair.getValue().asText());
      }
    });
    ResourceUtils.resetResourceTypes(conf);
    return conf;
  }

  private void startLabels(JsonNode known) throws IOException {
    labels.setRMContext(context);
    context.setNodeLabelManager(labels);
    labels.init(conf);
    labels.start();
    List<NodeLabel> all = new ArrayList<>();
    for (JsonNode label : known) {
      boolean exclusive = label.path("exclusive").asBoolean(true);
      all.add(NodeLabel.newInstance(label.get("name").asText(), exclusive));
    }
    labels.addToCluserNodeLabels(all);
  }

  private void readQueuesFromHere() {
    context.setConfigurationProvider(new ConfigurationProvider() {
      @Override
      public void initInternal(Configuration bootstrap) {
        // There is nothing to set up.
      }

      @Override
      public InputStream getConfigurationInputStream(Configuration bootstrap, String name)
          throws IOException {
        return new ByteArrayInputStream(file());
      }

      @Override
      public void closeInternal() {
        // There is nothing to close.
      }
    });
  }

  /** Labels that are kept in memory alone. */
  private static final class MemoryLabels extends RMNodeLabelsManager {
    @Override
    protected void initNodeLabelStore(Configuration conf) {
      store = new NodeLabelsStore() {
        @Override
        public void updateNodeToLabelsMappings(Map<NodeId, Set<String>> mappings) {
          // Nothing is stored.
        }

        @Override
        public void storeNewClusterNodeLabels(List<NodeLabel> added) {
          // Nothing is stored.
        }

        @Override
        public void removeClusterNodeLabels(Collection<String> removed) {
          // Nothing is stored.
        }

        @Override
        public void recover() {
          // Nothing was stored.
        }

        @Override
        public void init(Configuration settings, CommonNodeLabelsManager manager) {
          // There is nothing to set up.
        }

        @Override
        public void close() {
          // There is nothing to close.
        }
      };
    }

    @Override
    protected void initDispatcher(Configuration conf) {
      dispatcher = null;
    }

    @Override
    protected void startDispatcher() {
      // There is none.
    }

    @Override
    protected void stopDispatcher() {
      // There is none.
    }
  }

  /** Keeps events until the call that caused them has returned. */
  @SuppressWarnings("rawtypes")
  private record QueueingDispatcher(Deque<Event<?>> events)
      implements Dispatcher, EventHandler<Event> {
    @Override
    public EventHandler<Event> getEventHandler() {
      return this;
    }

    @Override
    public void register(Class<? extends Enum> type, EventHandler handler) {
      // Only the stage listens.
    }

    @Override
    public void handle(Event event) {
      events.add(event);
    }
  }
}
