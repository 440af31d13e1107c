// The real Capacity Scheduler with as little of a resource manager around it as it can live with.

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeAttribute;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.api.records.OpportunisticContainersStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.NoOpSystemMetricPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.UpdatedContainerInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.MemoryPlacementConstraintManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeSortingManager;
import org.apache.hadoop.yarn.server.resourcemanager.security.NMTokenSecretManagerInRM;
import org.apache.hadoop.yarn.server.resourcemanager.security.RMContainerTokenSecretManager;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** A scheduler with its nodes, driven from outside by one thread. */
final class Cluster {
  private static final String CS = "yarn.scheduler.capacity.";
  /** Largest allocation that may be asked for, more than a node of most shapes has. */
  private static final long LARGEST_GIB = 2048;

  private final Peer.Options options;
  private final Counts counts = new Counts();
  private final List<String> leaves = new ArrayList<>();
  private final List<PeerNode> nodes = new ArrayList<>();
  private final Map<ApplicationId, Integer> indexes = new HashMap<>();
  private final CapacityScheduler scheduler;
  private RMContextImpl context;
  private MultiNodeSortingManager<SchedulerNode> sorting;
  private int nextNode;
  private int nextApp;

  Cluster(Peer.Options options) throws Exception {
    this.options = options;
    DefaultMetricsSystem.setMiniClusterMode(true);
    Configuration conf = configuration();
    // The bounds of an allocation are read from here, not from the scheduler's configuration.
    ResourceUtils.resetResourceTypes(conf);
    // Counts what the scheduler decides about its own proposals.
    scheduler = new CapacityScheduler() {
      @Override
      public boolean tryCommit(Resource cluster, ResourceCommitRequest request, boolean pending) {
        long begin = counts.now();
        boolean accepted = super.tryCommit(cluster, request, pending);
        counts.committed(accepted, counts.now() - begin);
        return accepted;
      }
    };
    makeContext(conf);
    scheduler.setConf(conf);
    scheduler.setRMContext(context);
    scheduler.init(conf);
    scheduler.start();
    addNodes();
    long largest = scheduler.getMaximumResourceCapability().getMemorySize();
    if (largest != LARGEST_GIB * 1024) {
      throw new IllegalStateException("asks would be cut to " + largest + " MiB");
    }
  }

  Counts counts() {
    return counts;
  }

  /** The threads that decide: the one that calls this in heartbeat mode. */
  List<Thread> deciders() {
    return options.mode().equals("heartbeat") ? List.of(Thread.currentThread())
        : threadsOf("AsyncScheduleThread");
  }

  /** The threads that do nothing but commit. */
  List<Thread> committers() {
    return options.mode().equals("heartbeat") ? List.of() : threadsOf("ResourceCommitterService");
  }

  private static List<Thread> threadsOf(String kind) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getClass().getSimpleName().equals(kind))
        .toList();
  }

  private Configuration configuration() {
    Configuration conf = new YarnConfiguration();
    conf.setBoolean("yarn.node-labels.enabled", false);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", 1024);
    conf.setLong("yarn.scheduler.maximum-allocation-mb", LARGEST_GIB * 1024);
    conf.setInt("yarn.scheduler.maximum-allocation-vcores", 16_384);
    // The configured maximum stays in force, so that an ask larger than a node is possible.
    conf.setLong("yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms",
        Integer.MAX_VALUE);
    // Nodes count as alive without heartbeats; in the other modes none are sent.
    conf.setInt("yarn.scheduler.skip.node.multiplier", 1_000_000);
    conf.set(CS + "resource-calculator", "org.apache.hadoop.yarn.util.resource."
        + (options.calculator().equals("drf") ? "DominantResourceCalculator"
            : "DefaultResourceCalculator"));
    conf.setInt(CS + "maximum-applications", 1_000_000);
    conf.setFloat(CS + "maximum-am-resource-percent", 1);
    conf.setBoolean(CS + "per-node-heartbeat.multiple-assignments-enabled", true);
    conf.setInt(CS + "per-node-heartbeat.maximum-container-assignments", 100);
    conf.setInt(CS + "per-node-heartbeat.maximum-offswitch-assignments", options.offswitch());
    if (!options.mode().equals("heartbeat")) {
      conf.setBoolean(CS + "schedule-asynchronously.enable", true);
      conf.setInt(CS + "schedule-asynchronously.maximum-threads", options.threads());
      conf.setLong(CS + "schedule-asynchronously.scheduling-interval-ms", options.intervalMs());
    }
    if (options.mode().equals("global")) {
      String policy = CS + "multi-node-sorting.policy";
      conf.setBoolean(CS + "multi-node-placement-enabled", true);
      conf.set(policy + ".names", "usage");
      conf.set(policy, "usage");
      conf.set(policy + ".usage.class", "org.apache.hadoop.yarn.server.resourcemanager.scheduler"
          + ".placement.ResourceUsageMultiNodeLookupPolicy");
      conf.setLong(policy + ".usage.sorting-interval.ms", options.sortMs());
    }
    conf.setInt(CS + "root.capacity", 100);
    addQueues(conf, "root", "q", 0);
    addWeights(conf);
    return conf;
  }

  /** Equal shares on each level; leaf names differ, as the scheduler wants. */
  private void addQueues(Configuration conf, String path, String prefix, int depth) {
    int[] queues = options.shape().queues();
    if (depth == queues.length) {
      leaves.add(path);
      conf.setInt(CS + path + ".minimum-user-limit-percent", options.shape().userPercent());
      conf.set(CS + path + ".user-limit-factor", options.shape().userFactor());
      conf.setFloat(CS + path + ".maximum-am-resource-percent", 1);
      conf.set(CS + path + ".ordering-policy", "fifo");
      return;
    }
    List<String> children = new ArrayList<>();
    for (int i = 0; i < queues[depth]; i++) {
      String name = prefix + i;
      children.add(name);
      conf.setFloat(CS + path + "." + name + ".capacity", 100f / queues[depth]);
      conf.setFloat(CS + path + "." + name + ".maximum-capacity", 100);
      addQueues(conf, path + "." + name, name + "-", depth + 1);
    }
    conf.set(CS + path + ".queues", String.join(",", children));
  }

  /** Weights that hold users at their limit whose every application in a leaf is hopeless. */
  private void addWeights(Configuration conf) {
    Peer.Shape shape = options.shape();
    if (shape.hopeless() != Peer.Hopeless.USER) {
      return;
    }
    for (int app = 0; app < shape.apps(); app++) {
      String key = CS + leaves.get(app % leaves.size()) + ".user-settings.user" + shape.user(app)
          + ".weight";
      if (!shape.isHopeless(app)) {
        conf.set(key, "10.0");
      } else if (conf.get(key) == null) {
        conf.set(key, "0.01");
      }
    }
  }

  /** Lets the scheduler's own threads work, or holds them; it has none in heartbeat mode. */
  void schedule(boolean run) throws ReflectiveOperationException {
    // The threads are known to their own package only.
    Method threads = CapacityScheduler.class.getDeclaredMethod("getAsyncSchedulerThreads");
    threads.setAccessible(true);
    List<?> all = (List<?>) threads.invoke(scheduler);
    if (all == null) {
      return;
    }
    for (Object thread : all) {
      Method change = thread.getClass().getDeclaredMethod(run ? "beginSchedule" : "suspendSchedule");
      change.setAccessible(true);
      change.invoke(thread);
    }
  }

  /**
   * Sorts nodes from now on and waits until they were. What sorted before is gone: its timer would
   * make up for every run that it missed while the process was stopped.
   */
  void beginSorting() throws InterruptedException {
    sorting = new MultiNodeSortingManager<>();
    sorting.setRMContext(context);
    sorting.init(context.getYarnConfiguration());
    CapacitySchedulerConfiguration conf = scheduler.getConfiguration();
    sorting.registerMultiNodePolicyNames(conf.getMultiNodePlacementEnabled(),
        conf.getMultiNodePlacementPolicies());
    context.setMultiNodeSortingManager(sorting);
    sorting.start();
    if (options.mode().equals("global")) {
      Thread.sleep(200 + options.sortMs());
    }
  }

  /** Sorts no more, so that nothing works between two rounds. */
  void endSorting() {
    sorting.stop();
  }

  private void makeContext(Configuration conf) {
    Dispatcher dispatcher = new CountingDispatcher(counts);
    RMContainerTokenSecretManager containerTokens = new RMContainerTokenSecretManager(conf);
    NMTokenSecretManagerInRM nodeTokens = new NMTokenSecretManagerInRM(conf);
    containerTokens.rollMasterKey();
    nodeTokens.rollMasterKey();
    context = new RMContextImpl(dispatcher, new ContainerAllocationExpirer(dispatcher), null, null,
        null, null, containerTokens, nodeTokens, null, scheduler);
    context.setYarnConfiguration(conf);
    context.setRMApplicationHistoryWriter(new RMApplicationHistoryWriter());
    context.setSystemMetricsPublisher(new NoOpSystemMetricPublisher());
    context.setAllocationTagsManager(new AllocationTagsManager(context));
    context.setPlacementConstraintManager(new MemoryPlacementConstraintManager());
    RMNodeLabelsManager labels = new RMNodeLabelsManager();
    labels.init(conf);
    labels.start();
    context.setNodeLabelManager(labels);
    // The scheduler wants one when it starts; each round has its own.
    MultiNodeSortingManager<SchedulerNode> first = new MultiNodeSortingManager<>();
    first.setRMContext(context);
    first.init(conf);
    context.setMultiNodeSortingManager(first);
  }

  /**
   * The first node by its event, which wakes the scheduling threads; the last too, after which the
   * queues know the size of the cluster. Each event costs a walk over all queues, so those between
   * go in by the method that the scheduler keeps for many.
   */
  private void addNodes() {
    Peer.Shape shape = options.shape();
    Resource total = Resource.newInstance(shape.nodeGib() * 1024, shape.nodeVcores());
    for (int i = 0; i < shape.nodes(); i++) {
      nodes.add(new PeerNode(i, total, context));
    }
    int last = nodes.size() - 1;
    scheduler.handle(new NodeAddedSchedulerEvent(nodes.get(0)));
    List<FiCaSchedulerNode> between = new ArrayList<>();
    for (PeerNode node : nodes.subList(1, last)) {
      between.add(new FiCaSchedulerNode(node, false, node.getNodeLabels()));
      context.getNodeLabelManager().activateNode(node.getNodeID(), total);
    }
    scheduler.addNodes(between);
    scheduler.handle(new NodeAddedSchedulerEvent(nodes.get(last)));
  }

  /** Submits application number {@code index} of the shape; queues and users take turns. */
  ApplicationAttemptId submit(int index) {
    nextApp++;
    ApplicationId id = ApplicationId.newInstance(1, nextApp);
    ApplicationSubmissionContext submission = ApplicationSubmissionContext.newInstance(id, "peer",
        null, Priority.newInstance(0), null, true, false, 1, null, "peer");
    context.getRMApps().put(id, unmanaged(submission));
    indexes.put(id, index);
    String user = "user" + options.shape().user(index);
    String queue = leaves.get(index % leaves.size());
    scheduler.handle(new AppAddedSchedulerEvent(id, queue, user, null, Priority.newInstance(0)));
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1);
    scheduler.handle(new AppAttemptAddedSchedulerEvent(attempt, false));
    if (scheduler.getApplicationAttempt(attempt) == null) {
      throw new IllegalStateException("the scheduler refused an application for " + queue);
    }
    return attempt;
  }

  /** An application without a master of its own, which is all that the scheduler asks about it. */
  private static RMApp unmanaged(ApplicationSubmissionContext submission) {
    Class<?>[] kind = {RMApp.class};
    return (RMApp) Proxy.newProxyInstance(RMApp.class.getClassLoader(), kind,
        (self, method, arguments) -> switch (method.getName()) {
          case "getApplicationId" -> submission.getApplicationId();
          case "getApplicationSubmissionContext" -> submission;
          case "getApplicationSchedulingEnvs" -> Collections.emptyMap();
          case "getCurrentAppAttempt", "getAMResourceRequests" -> null;
          default -> throw new UnsupportedOperationException(method.toString());
        });
  }

  /** Position in its round of an application. */
  int indexOf(ApplicationAttemptId app) {
    return indexes.get(app.getApplicationId());
  }

  /**
   * Sets the number of containers an application waits for and gives others back; returns what was
   * allocated since its last call.
   */
  List<Container> ask(ApplicationAttemptId app, int count, boolean hopeless,
      List<ContainerId> given) {
    Peer.Shape shape = options.shape();
    Resource size = hopeless
        ? Resource.newInstance(2 * shape.nodeGib() * 1024, shape.vcores())
        : Resource.newInstance(shape.gib() * 1024, shape.vcores());
    List<ResourceRequest> asks = new ArrayList<>();
    asks.add(ResourceRequest.newInstance(Priority.newInstance(1), ResourceRequest.ANY, size, count));
    return call(app, asks, given);
  }

  /** What was allocated to an application since it last called. */
  List<Container> fetch(ApplicationAttemptId app) {
    return call(app, new ArrayList<>(), List.of());
  }

  private List<Container> call(ApplicationAttemptId app, List<ResourceRequest> asks,
      List<ContainerId> given) {
    return scheduler
        .allocate(app, asks, new ArrayList<>(), given, null, null, new ContainerUpdates())
        .getContainers();
  }

  /** The next node reports that nothing has changed. */
  void heartbeat() {
    scheduler.handle(new NodeUpdateSchedulerEvent(nodes.get(nextNode)));
    nextNode = (nextNode + 1) % nodes.size();
  }

  /** Ends an application; its containers are gone at once. */
  void remove(ApplicationAttemptId app) {
    scheduler.handle(new AppAttemptRemovedSchedulerEvent(app, RMAppAttemptState.FINISHED, false));
    scheduler.handle(
        new AppRemovedSchedulerEvent(app.getApplicationId(), RMAppState.FINISHED));
    context.getRMApps().remove(app.getApplicationId());
    indexes.remove(app.getApplicationId());
  }

  /** Waits for the threads to forget the last round, checks that it is gone, and tidies memory. */
  void settle() throws InterruptedException {
    if (!options.mode().equals("heartbeat")) {
      Thread.sleep(200 + (options.mode().equals("global") ? options.sortMs() : 0));
    }
    for (PeerNode node : nodes) {
      Resource used = scheduler.getNode(node.getNodeID()).getAllocatedResource();
      if (used.getMemorySize() != 0) {
        throw new IllegalStateException(node.getNodeID() + " still holds " + used);
      }
    }
    System.gc();
  }
}

/** What happened since a round began. */
final class Counts {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final AtomicLong allocated = new AtomicLong();
  private final LongAdder accepted = new LongAdder();
  private final LongAdder rejected = new LongAdder();
  private final LongAdder commitNanos = new LongAdder();
  private final ConcurrentLinkedQueue<ApplicationAttemptId> served = new ConcurrentLinkedQueue<>();
  private volatile long target = Long.MAX_VALUE;
  private volatile long[] first;
  private volatile long[] last;
  /** The threads whose time is taken instead of that of the wall, those that decide first; none otherwise. */
  private volatile List<Thread> threads = List.of();
  private volatile int deciders;
  private volatile boolean watched;

  /** Takes the processor time of some threads from now on, not that of the wall. */
  void takeTimeOf(List<Thread> deciding, List<Thread> committing) {
    List<Thread> all = new ArrayList<>(deciding);
    all.addAll(committing);
    deciders = deciding.size();
    threads = all;
  }

  /** The time of the threads that decide, from the first allocation to the last of the target. */
  long decidingNanos() {
    long[] end = last == null ? times() : last;
    long sum = 0;
    for (int i = 0; i < deciders; i++) {
      sum += end[i] - first[i];
    }
    return sum;
  }

  /** The time of the thread that calls this, by the clock that is used. */
  long now() {
    return threads.isEmpty() ? System.nanoTime() : THREADS.getCurrentThreadCpuTime();
  }

  /** The wall's time alone, or that of each thread. */
  private long[] times() {
    if (threads.isEmpty()) {
      return new long[] {System.nanoTime()};
    }
    return threads.stream().mapToLong(thread -> THREADS.getThreadCpuTime(thread.getId())).toArray();
  }

  void begin(long newTarget) {
    target = newTarget;
    last = null;
    allocated.set(0);
    accepted.reset();
    rejected.reset();
    commitNanos.reset();
    served.clear();
  }

  void committed(boolean yes, long nanos) {
    (yes ? accepted : rejected).increment();
    commitNanos.add(nanos);
  }

  void allocated(ApplicationAttemptId app) {
    long number = allocated.incrementAndGet();
    if (number == 1) {
      first = times();
    }
    if (number == target) {
      last = times();
    }
    if (watched) {
      served.add(app);
    }
  }

  boolean reached() {
    return allocated.get() >= target;
  }

  /**
   * Allocations per second from the first to the last of the target, or to this moment; by the sum of the times
   * of the threads where these are taken: whoever decides waits for the locks of a commit, so that they take turns.
   */
  double perSecond() {
    long number = Math.min(allocated.get(), target);
    // The thread that counted the last one may not have noted the time yet.
    while (reached() && last == null) {
      Thread.onSpinWait();
    }
    if (number < 2) {
      return 0;
    }
    long[] end = reached() ? last : times();
    long sum = 0;
    for (int i = 0; i < end.length; i++) {
      sum += end[i] - first[i];
    }
    return (number - 1) * 1e9 / Math.max(sum, 1);
  }

  /** Whether to remember who was served. */
  void watch(boolean yes) {
    watched = yes;
  }

  /** An application that was served, each as often as it was. */
  ApplicationAttemptId served() {
    return served.poll();
  }

  long allocated() {
    return allocated.get();
  }

  long accepted() {
    return accepted.sum();
  }

  long rejected() {
    return rejected.sum();
  }

  /** Time within commits, the wait for their lock included. */
  long commitNanos() {
    return commitNanos.sum();
  }
}

/** Drops every event but the news of an allocation, which it counts. */
@SuppressWarnings("rawtypes")
final class CountingDispatcher implements Dispatcher, EventHandler<Event> {
  private final Counts counts;

  CountingDispatcher(Counts counts) {
    this.counts = counts;
  }

  @Override
  public EventHandler<Event> getEventHandler() {
    return this;
  }

  @Override
  public void register(Class<? extends Enum> type, EventHandler handler) {
    // Nobody else listens.
  }

  @Override
  public void handle(Event event) {
    if (event.getType() == RMAppAttemptEventType.CONTAINER_ALLOCATED) {
      counts.allocated(((RMAppAttemptEvent) event).getApplicationAttemptId());
    }
  }
}

/** A node that is always well and has nothing to report. */
final class PeerNode implements RMNode {
  private final NodeId id;
  private final String rack;
  private final Resource total;
  private final RMContext context;

  PeerNode(int index, Resource total, RMContext context) {
    // Addresses, so that tokens need no name service.
    String host = "10." + (index >> 16) + "." + (index >> 8 & 255) + "." + (index & 255);
    this.id = NodeId.newInstance(host, 8041);
    this.rack = "/rack" + index / 40;
    this.total = total;
    this.context = context;
  }

  @Override
  public NodeId getNodeID() {
    return id;
  }

  @Override
  public String getHostName() {
    return id.getHost();
  }

  @Override
  public int getCommandPort() {
    return id.getPort();
  }

  @Override
  public int getHttpPort() {
    return 8042;
  }

  @Override
  public String getNodeAddress() {
    return id.toString();
  }

  @Override
  public String getHttpAddress() {
    return id.getHost() + ":8042";
  }

  @Override
  public String getHealthReport() {
    return "";
  }

  @Override
  public long getLastHealthReportTime() {
    return 0;
  }

  @Override
  public String getNodeManagerVersion() {
    return "";
  }

  @Override
  public Resource getTotalCapability() {
    return total;
  }

  @Override
  public boolean isUpdatedCapability() {
    return false;
  }

  @Override
  public void resetUpdatedCapability() {
    // It never changes.
  }

  @Override
  public ResourceUtilization getAggregatedContainersUtilization() {
    return null;
  }

  @Override
  public ResourceUtilization getNodeUtilization() {
    return null;
  }

  @Override
  public Resource getPhysicalResource() {
    return total;
  }

  @Override
  public String getRackName() {
    return rack;
  }

  @Override
  public Node getNode() {
    return null;
  }

  @Override
  public NodeState getState() {
    return NodeState.RUNNING;
  }

  @Override
  public List<ContainerId> getContainersToCleanUp() {
    return List.of();
  }

  @Override
  public List<ApplicationId> getAppsToCleanup() {
    return List.of();
  }

  @Override
  public List<ApplicationId> getRunningApps() {
    return List.of();
  }

  @Override
  public void setAndUpdateNodeHeartbeatResponse(NodeHeartbeatResponse response) {
    // Nobody answers heartbeats.
  }

  @Override
  public NodeHeartbeatResponse getLastNodeHeartBeatResponse() {
    return null;
  }

  @Override
  public void resetLastNodeHeartBeatResponse() {
    // Nobody answers heartbeats.
  }

  @Override
  public List<UpdatedContainerInfo> pullContainerUpdates() {
    return List.of();
  }

  @Override
  public Set<String> getNodeLabels() {
    return Set.of();
  }

  @Override
  public List<Container> pullNewlyIncreasedContainers() {
    return List.of();
  }

  @Override
  public OpportunisticContainersStatus getOpportunisticContainersStatus() {
    return null;
  }

  @Override
  public long getUntrackedTimeStamp() {
    return 0;
  }

  @Override
  public void setUntrackedTimeStamp(long timeStamp) {
    // It is never untracked.
  }

  @Override
  public Integer getDecommissioningTimeout() {
    return null;
  }

  @Override
  public Map<String, Long> getAllocationTagsWithCount() {
    return Map.of();
  }

  @Override
  public RMContext getRMContext() {
    return context;
  }

  @Override
  public Set<NodeAttribute> getAllNodeAttributes() {
    return Set.of();
  }

  @Override
  public long calculateHeartBeatInterval(long normal, long least, long most, float faster,
      float slower) {
    return normal;
  }
}
