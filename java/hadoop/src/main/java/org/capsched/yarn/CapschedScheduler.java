package org.capsched.yarn;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;

import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeCleanContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler of the ResourceManager, set by {@code yarn.resourcemanager.scheduler.class}: capsched's engine decides, this
 * class carries. Nodes, applications, containers, tokens and recovery are the ResourceManager's own.
 *
 * <p>Each event and each call of an application goes to the engine first. Its decisions are then taken in their order and
 * recorded under the write lock, by whichever thread comes first. What the ResourceManager ends itself is recorded first and
 * then reported to the engine, whose own word about it finds nothing left.
 */
public class CapschedScheduler extends AbstractYarnScheduler<EngineAttempt, EngineNode>
    implements Configurable {
  private static final Logger LOG = LoggerFactory.getLogger(CapschedScheduler.class);
  private static final String CALCULATOR = "yarn.scheduler.capacity.resource-calculator";
  /** How often decisions are taken that no call of the ResourceManager brings, in heartbeat mode. */
  private static final long IDLE_MS = 20;
  private static final long PATIENCE_MS = 1000;
  private static final int MASTER_PRIORITY = 0;

  /** Decisions about attempts whose master the ResourceManager has not asked for yet. */
  private final Map<ApplicationAttemptId, List<Decision>> early = new HashMap<>();
  private volatile Configuration conf;
  private volatile NativeEngine engine;
  private volatile EngineQueues queues;
  private ResourceCalculator calculator;
  private boolean usePortForNodeName;
  private String mode;
  private Thread reader;

  public CapschedScheduler() {
    super(CapschedScheduler.class.getName());
  }

  @Override
  public void setConf(Configuration changed) {
    conf = changed;
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  @Override
  public void setRMContext(RMContext context) {
    rmContext = context;
  }

  @Override
  public void serviceInit(Configuration given) throws Exception {
    applications = new ConcurrentSkipListMap<>();
    minimumAllocation = super.getMinimumAllocation();
    initMaximumResourceCapability(super.getMaximumAllocation());
    usePortForNodeName = given.getBoolean(
        YarnConfiguration.RM_SCHEDULER_INCLUDE_PORT_IN_NODE_NAME,
        YarnConfiguration.DEFAULT_RM_SCHEDULER_USE_PORT_FOR_NODE_NAME);
    Configuration loaded = Configurations.load(given, rmContext);
    calculator = ReflectionUtils.newInstance(loaded.getClass(CALCULATOR,
        DefaultResourceCalculator.class, ResourceCalculator.class), loaded);
    mode = Configurations.mode(loaded);
    List<String> warnings = new ArrayList<>();
    engine = NativeEngine.start(loaded, Configurations.start(loaded, rmContext), warnings);
    warnings.forEach(warning -> LOG.warn("configuration: {}", warning));
    queues = new EngineQueues(engine, loaded);
    // Monitors of the configuration are those of the engine, which runs their rounds itself.
    super.serviceInit(given);
  }

  @Override
  public void serviceStart() throws Exception {
    reader = new Thread(this::readDecisions, "capsched decisions");
    reader.setDaemon(true);
    reader.start();
    super.serviceStart();
  }

  @Override
  public void serviceStop() throws Exception {
    NativeEngine stopped = engine;
    engine = null;
    if (stopped != null) {
      stopped.stop();
    }
    if (reader != null) {
      reader.interrupt();
      reader.join(THREAD_JOIN_TIMEOUT_MS);
    }
    super.serviceStop();
  }

  /** Takes decisions that no call of the ResourceManager brings: preemption, and those of the engine's own threads. */
  private void readDecisions() {
    while (true) {
      try {
        NativeEngine running = engine;
        if (running == null) {
          return;
        }
        if (mode.equals(Configurations.HEARTBEAT)) {
          Thread.sleep(IDLE_MS);
        } else if (!running.awaitEvents(PATIENCE_MS)) {
          LOG.error("the engine has ended");
          return;
        }
        takeDecisions();
      } catch (InterruptedException ended) {
        return;
      } catch (RuntimeException error) {
        if (engine == null) {
          return;
        }
        LOG.error("a decision could not be recorded", error);
      }
    }
  }

  private NativeEngine running() {
    NativeEngine running = engine;
    if (running == null) {
      throw new EngineException("closed", "the scheduler has stopped");
    }
    return running;
  }

  @Override
  public void reinitialize(Configuration changed, RMContext context) throws IOException {
    writeLock.lock();
    try {
      Configuration loaded = Configurations.load(changed, context);
      List<String> warnings = running().refresh(Configurations.files(loaded, mode));
      warnings.forEach(warning -> LOG.warn("configuration: {}", warning));
      queues.refresh(loaded);
      conf = changed;
      LOG.info("the queues are refreshed");
    } catch (EngineException refused) {
      throw new IOException("the queues are not refreshed: " + refused.getMessage(), refused);
    } finally {
      writeLock.unlock();
    }
  }

  // Decisions of the engine.

  private void takeDecisions() {
    writeLock.lock();
    try {
      List<Decision> decisions = running().events();
      for (Decision decision : decisions) {
        record(decision);
      }
      if (!decisions.isEmpty()) {
        showAvailable();
      }
    } finally {
      writeLock.unlock();
    }
  }

  private void record(Decision decision) {
    if (decision instanceof Decision.Allocated placed) {
      ApplicationAttemptId id = placed.container().attemptId();
      EngineAttempt attempt = current(id);
      if (attempt != null && attempt.isOpen()) {
        place(attempt, placed);
      } else {
        early.computeIfAbsent(id, key -> new ArrayList<>()).add(placed);
      }
    } else if (decision instanceof Decision.Ended ended) {
      List<Decision> waiting = early.get(ended.container().attemptId());
      if (waiting != null) {
        waiting.add(ended);
      } else {
        end(ended);
      }
    } else if (decision instanceof Decision.ApplicationEnded ended) {
      send(new RMAppEvent(ended.application(), RMAppEventType.KILL,
          "Ended by the scheduler: " + ended.cause()));
    }
  }

  /** The attempt of an id, if it is the present one of its application. */
  private EngineAttempt current(ApplicationAttemptId id) {
    EngineAttempt attempt = getApplicationAttempt(id);
    return attempt != null && attempt.getApplicationAttemptId().equals(id) ? attempt : null;
  }

  private void place(EngineAttempt attempt, Decision.Allocated placed) {
    EngineNode node = nodeTracker.getNode(placed.node());
    if (node == null) {
      // It was lost, and the engine's word about the end of the container follows.
      return;
    }
    RMContainer container = attempt.place(placed, node);
    boolean master = attempt.isWaitingForAMContainer() && placed.priority() == MASTER_PRIORITY;
    if (container != null && master) {
      attempt.handOver(container);
    }
  }

  private void end(Decision.Ended ended) {
    ApplicationAttemptId of = ended.container().attemptId();
    // The present attempt may have containers of earlier ones.
    EngineAttempt attempt = getApplicationAttempt(of);
    RMContainer container = attempt == null ? null : attempt.byNumber(ended.container().number());
    if (container == null || !container.getContainerId().getApplicationAttemptId().equals(of)) {
      return;
    }
    String text = switch (ended.cause()) {
      case "released" -> SchedulerUtils.RELEASED_CONTAINER;
      case "preempted" -> SchedulerUtils.PREEMPTED_CONTAINER;
      case "node_lost" -> SchedulerUtils.LOST_CONTAINER;
      case "expired" -> SchedulerUtils.EXPIRED_CONTAINER;
      case "application_ended" -> SchedulerUtils.COMPLETED_APPLICATION;
      default -> "Container ended by the scheduler: " + ended.cause();
    };
    ContainerStatus status = ContainerStatus.newInstance(container.getContainerId(),
        ContainerState.COMPLETE, text, ended.exitStatus());
    endRecord(attempt, container, status,
        ended.released() ? RMContainerEventType.RELEASED : RMContainerEventType.KILL);
  }

  private boolean endRecord(EngineAttempt attempt, RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    return attempt.end(container, status, event, nodeTracker.getNode(container.getNodeId()));
  }

  private void showAvailable() {
    QueueMetrics root = queues.root().getMetrics();
    Resource used = Resource.newInstance(root.getAllocatedMB(), root.getAllocatedVirtualCores());
    root.setAvailableResourcesToQueue(Resources.subtract(getClusterResource(), used));
  }

  @SuppressWarnings("unchecked")
  private void send(org.apache.hadoop.yarn.event.Event<?> event) {
    rmContext.getDispatcher().getEventHandler().handle(event);
  }

  // Calls of applications.

  @Override
  public Allocation allocate(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<SchedulingRequest> constrained, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    EngineAttempt attempt = current(id);
    if (attempt == null || attempt.isStopped()) {
      LOG.error("a call of the removed or unknown attempt {}", id);
      return EMPTY_ALLOCATION;
    }
    synchronized (attempt.calls()) {
      if (attempt.isWaitingForAMContainer()) {
        return ofMaster(attempt, asks);
      }
      List<UpdateContainerRequest> changes = all(updates);
      List<Integer> known = new ArrayList<>();
      List<ContainerId> unknown = new ArrayList<>();
      for (ContainerId container : release) {
        if (attempt.getRMContainer(container) == null) {
          unknown.add(container);
        } else {
          known.add(Ids.numberOf(container));
        }
      }
      if (!unknown.isEmpty()) {
        // Remembered while nodes may still report them after a restart.
        releaseContainers(unknown, attempt);
      }
      try {
        NativeEngine.Reply reply = running().ask(Submissions.ask(attempt, asks, constrained, known,
            blacklistAdditions, blacklistRemovals, changes));
        takeDecisions();
        take(attempt, reply);
        attempt.refuse(reply.refused(), changes);
      } catch (EngineException refused) {
        if (refused.code().equals("unknown_application")) {
          // Its master's container has ended, and the ResourceManager ends the attempt soon.
          return EMPTY_ALLOCATION;
        }
        throw refused;
      }
      return attempt.takeAllocation(calculator, getClusterResource(), minimumAllocation);
    }
  }

  /**
   * The two calls of the ResourceManager for a master: it asks for the container, and fetches it after the next notice of one. The
   * engine has the ask since the submission.
   */
  private Allocation ofMaster(EngineAttempt attempt, List<ResourceRequest> asks) {
    if (asks == null || asks.isEmpty()) {
      return attempt.takeAllocation(calculator, getClusterResource(), minimumAllocation);
    }
    writeLock.lock();
    try {
      attempt.open();
      List<Decision> waiting = early.remove(attempt.getApplicationAttemptId());
      if (waiting != null) {
        waiting.forEach(this::record);
      }
    } finally {
      writeLock.unlock();
    }
    return EMPTY_ALLOCATION;
  }

  /** All changes of a call; the engine takes them over in YARN's order. */
  private static List<UpdateContainerRequest> all(ContainerUpdates updates) {
    List<UpdateContainerRequest> all = new ArrayList<>();
    if (updates != null) {
      all.addAll(updates.getPromotionRequests());
      all.addAll(updates.getIncreaseRequests());
      all.addAll(updates.getDemotionRequests());
      all.addAll(updates.getDecreaseRequests());
    }
    return all;
  }

  /**
   * An increase that its application did not use in time is taken back, to the size that the node last reported.
   */
  // As AbstractYarnScheduler.rollbackContainerUpdate.
  private void rollBack(ContainerId id) {
    EngineAttempt attempt = getCurrentAttemptForContainer(id);
    RMContainer container = attempt == null ? null : attempt.getRMContainer(id);
    if (container == null) {
      return;
    }
    synchronized (attempt.calls()) {
      Container now = container.getContainer();
      Resource confirmed = container.getLastConfirmedResource();
      if (!Resources.fitsIn(confirmed, now.getResource())) {
        return;
      }
      UpdateContainerRequest back = UpdateContainerRequest.newInstance(now.getVersion(), id,
          ContainerUpdateType.DECREASE_RESOURCE, confirmed, null);
      try {
        NativeEngine.Reply reply = running().ask(Submissions.change(attempt, List.of(back)));
        takeDecisions();
        take(attempt, reply);
      } catch (EngineException refused) {
        LOG.info("the increase of {} stays: {}", id, refused.getMessage());
      }
    }
  }

  private void take(EngineAttempt attempt, NativeEngine.Reply reply) {
    for (EngineContainer handed : reply.allocated()) {
      RMContainer container = attempt.byNumber(handed.number());
      if (container != null) {
        attempt.handOver(container);
      }
    }
    for (ContainerChange change : reply.changes()) {
      RMContainer container = attempt.byNumber(change.number());
      if (container != null) {
        attempt.change(container, change, nodeTracker.getNode(container.getNodeId()));
      }
    }
    attempt.askBack(reply.askedBack());
    attempt.setHeadroom(reply.headroom());
  }

  // Containers that the ResourceManager ends.

  @Override
  public void completedContainer(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    if (container == null && event == RMContainerEventType.FINISHED && reporting != null) {
      reporting.noteExited(status.getContainerId());
    }
    super.completedContainer(container, status, event);
  }

  /** The node whose report is taken in; guarded by the write lock. */
  private EngineNode reporting;

  @Override
  protected void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    ContainerId id = container.getContainerId();
    EngineAttempt attempt = getCurrentAttemptForContainer(id);
    if (attempt == null || !endRecord(attempt, container, status, event)) {
      return;
    }
    if (event == RMContainerEventType.FINISHED) {
      running().containerExited(id, status.getExitStatus());
    } else {
      running().killContainer(id);
    }
  }

  @Override
  public void killContainer(RMContainer container) {
    completedContainer(container, SchedulerUtils.createKilledContainerStatus(
        container.getContainerId(), "Killed by RM to simulate an AM container failure"),
        RMContainerEventType.KILL);
  }

  @Override
  protected void containerLaunchedOnNode(ContainerId id, SchedulerNode node) {
    super.containerLaunchedOnNode(id, node);
    if (reporting != null) {
      reporting.noteLaunched(id);
    }
  }

  // Events of the ResourceManager.

  @Override
  public void handle(SchedulerEvent event) {
    switch (event.getType()) {
      case NODE_ADDED -> addNode((NodeAddedSchedulerEvent) event);
      case NODE_REMOVED -> removeNode(((NodeRemovedSchedulerEvent) event).getRemovedRMNode());
      case NODE_UPDATE -> nodeUpdate(((NodeUpdateSchedulerEvent) event).getRMNode());
      case NODE_RESOURCE_UPDATE -> {
        NodeResourceUpdateSchedulerEvent update = (NodeResourceUpdateSchedulerEvent) event;
        updateNodeResource(update.getRMNode(), update.getResourceOption());
      }
      case NODE_LABELS_UPDATE -> updateLabels((NodeLabelsUpdateSchedulerEvent) event);
      case APP_ADDED -> addApplication((AppAddedSchedulerEvent) event);
      case APP_REMOVED -> {
        AppRemovedSchedulerEvent removed = (AppRemovedSchedulerEvent) event;
        removeApplication(removed.getApplicationID(), removed.getFinalState());
      }
      case APP_ATTEMPT_ADDED -> addAttempt((AppAttemptAddedSchedulerEvent) event);
      case APP_ATTEMPT_REMOVED -> removeAttempt((AppAttemptRemovedSchedulerEvent) event);
      case CONTAINER_EXPIRED -> {
        ContainerExpiredSchedulerEvent expired = (ContainerExpiredSchedulerEvent) event;
        ContainerId id = expired.getContainerId();
        if (expired.isIncrease()) {
          rollBack(id);
          return;
        }
        endByManager(getRMContainer(id), id, SchedulerUtils.EXPIRED_CONTAINER,
            RMContainerEventType.EXPIRE);
      }
      case RELEASE_CONTAINER -> {
        RMContainer container = ((ReleaseContainerEvent) event).getContainer();
        endByManager(container, container.getContainerId(), SchedulerUtils.RELEASED_CONTAINER,
            RMContainerEventType.RELEASED);
      }
      case MARK_CONTAINER_FOR_PREEMPTION -> {
        ContainerId id = ((ContainerPreemptEvent) event).getContainer().getContainerId();
        EngineAttempt attempt = getCurrentAttemptForContainer(id);
        if (attempt != null) {
          attempt.askBack(id);
        }
      }
      case MARK_CONTAINER_FOR_KILLABLE -> {
        RMContainer container = ((ContainerPreemptEvent) event).getContainer();
        completedContainer(container, SchedulerUtils.createPreemptedContainerStatus(
            container.getContainerId(), SchedulerUtils.PREEMPTED_CONTAINER),
            RMContainerEventType.KILL);
        takeDecisions();
      }
      default -> LOG.info("event {} changes nothing here", event.getType());
    }
  }

  private void endByManager(RMContainer container, ContainerId id, String text,
      RMContainerEventType event) {
    completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(id, text), event);
    takeDecisions();
  }

  // Nodes.

  private void addNode(NodeAddedSchedulerEvent event) {
    RMNode added = event.getAddedRMNode();
    writeLock.lock();
    try {
      EngineNode node = new EngineNode(added, usePortForNodeName);
      nodeTracker.addNode(node);
      List<NMContainerStatus> reports = reportsOf(event);
      Request request = describe(added, node.getTotalResource(), partitionOf(node));
      request.list(running(reports), CapschedScheduler::writeRunning);
      NativeEngine.Recovered recovered = running().registerNode(request);
      Set<EngineContainer> toStop = new HashSet<>(recovered.toStop());
      List<NMContainerStatus> taken = new ArrayList<>();
      for (NMContainerStatus report : reports) {
        if (toStop.contains(asEngine(report.getContainerId()))) {
          send(new RMNodeCleanContainerEvent(added.getNodeID(), report.getContainerId()));
        } else {
          taken.add(report);
        }
      }
      recoverContainersOnNode(taken, added);
      endReleasedOnes(taken);
      showAvailable();
    } catch (EngineException refused) {
      nodeTracker.removeNode(added.getNodeID());
      LOG.error("node {} is not taken: {}", added.getNodeID(), refused.getMessage());
    } finally {
      writeLock.unlock();
    }
    takeDecisions();
  }

  private List<NMContainerStatus> reportsOf(NodeAddedSchedulerEvent event) {
    List<NMContainerStatus> reports = event.getContainerReports();
    boolean kept = rmContext.isWorkPreservingRecoveryEnabled() && reports != null;
    return kept ? reports : Collections.emptyList();
  }

  private static List<NMContainerStatus> running(List<NMContainerStatus> reports) {
    List<NMContainerStatus> running = new ArrayList<>();
    for (NMContainerStatus report : reports) {
      if (report.getContainerState() != ContainerState.COMPLETE) {
        running.add(report);
      }
    }
    return running;
  }

  private static void writeRunning(Request to, NMContainerStatus report) {
    to.container(report.getContainerId()).amounts(report.getAllocatedResource())
        .number(report.getPriority().getPriority()).number(report.getAllocationRequestId())
        .number(report.getCreationTime()).number(report.getVersion())
        .flag(report.getExecutionType() == ExecutionType.OPPORTUNISTIC);
  }

  private static EngineContainer asEngine(ContainerId id) {
    ApplicationAttemptId attempt = id.getApplicationAttemptId();
    return new EngineContainer(attempt.getApplicationId(), attempt.getAttemptId(),
        Ids.numberOf(id));
  }

  /** Ends what its application gave back while the ResourceManager did not know of it. */
  private void endReleasedOnes(List<NMContainerStatus> taken) {
    for (NMContainerStatus report : taken) {
      RMContainer container = getRMContainer(report.getContainerId());
      if (container != null && container.getState() == RMContainerState.RELEASED) {
        running().killContainer(report.getContainerId());
      }
    }
  }

  private Request describe(RMNode node, Resource total, String partition) {
    Request request = new Request().node(node.getNodeID()).text(node.getRackName())
        .amounts(total).text(partition);
    return request.number(0);
  }

  private static String partitionOf(SchedulerNode node) {
    String partition = node.getPartition();
    return partition == null ? "" : partition;
  }

  private void removeNode(RMNode removed) {
    NodeId id = removed.getNodeID();
    writeLock.lock();
    try {
      EngineNode node = nodeTracker.getNode(id);
      if (node == null) {
        return;
      }
      for (RMContainer container : node.getCopiedListOfRunningContainers()) {
        EngineAttempt attempt = getCurrentAttemptForContainer(container.getContainerId());
        if (attempt != null) {
          endRecord(attempt, container, SchedulerUtils.createAbnormalContainerStatus(
              container.getContainerId(), SchedulerUtils.LOST_CONTAINER),
              RMContainerEventType.KILL);
        }
      }
      nodeTracker.removeNode(id);
      running().removeNode(id);
      showAvailable();
    } finally {
      writeLock.unlock();
    }
    takeDecisions();
  }

  @Override
  protected void nodeUpdate(RMNode reported) {
    NodeId id = reported.getNodeID();
    EngineNode node;
    List<ContainerId> launched = Collections.emptyList();
    List<ContainerId> exited = Collections.emptyList();
    boolean ready = !rmContext.isWorkPreservingRecoveryEnabled()
        || rmContext.isSchedulerReadyForAllocatingContainers();
    writeLock.lock();
    try {
      setLastNodeUpdateTime(org.apache.hadoop.util.Time.now());
      node = nodeTracker.getNode(id);
      reporting = node;
      try {
        super.nodeUpdate(reported);
      } finally {
        reporting = null;
      }
      if (node != null && ready) {
        launched = node.takeLaunched();
        exited = node.takeExited();
      }
    } finally {
      writeLock.unlock();
    }
    if (node != null && ready) {
      try {
        running().heartbeat(id, launched, exited);
      } catch (EngineException refused) {
        // A node may be removed in between.
        LOG.info("heartbeat of {}: {}", id, refused.getMessage());
      }
    }
    takeDecisions();
  }

  @Override
  public void updateNodeResource(RMNode node, ResourceOption option) {
    writeLock.lock();
    try {
      super.updateNodeResource(node, option);
      describeAgain(nodeTracker.getNode(node.getNodeID()));
      showAvailable();
    } finally {
      writeLock.unlock();
    }
    takeDecisions();
  }

  private void updateLabels(NodeLabelsUpdateSchedulerEvent event) {
    writeLock.lock();
    try {
      event.getUpdatedNodeToLabels().forEach((id, labels) -> {
        EngineNode node = nodeTracker.getNode(id);
        if (node != null) {
          node.updateLabels(labels);
          describeAgain(node);
        }
      });
    } finally {
      writeLock.unlock();
    }
    takeDecisions();
  }

  private void describeAgain(EngineNode node) {
    if (node == null) {
      return;
    }
    try {
      running().updateNode(describe(node.getRMNode(), node.getTotalResource(), partitionOf(node)));
    } catch (EngineException refused) {
      LOG.error("node {} stays as it was: {}", node.getNodeID(), refused.getMessage());
    }
  }

  // Applications.

  private void addApplication(AppAddedSchedulerEvent event) {
    ApplicationId id = event.getApplicationId();
    RMApp app = rmContext.getRMApps().get(id);
    String user = event.getUser();
    Priority priority = event.getApplicatonPriority();
    writeLock.lock();
    try {
      EngineQueue queue;
      if (event.getIsAppRecovering()) {
        queue = queues.find(app.getQueue());
        if (queue == null) {
          // Created by a submission before the restart; the first attempt creates it again.
          queue = queues.find(event.getQueue());
        }
        if (queue == null) {
          send(new RMAppEvent(id, RMAppEventType.KILL, "Application killed on recovery as its queue "
              + event.getQueue() + " does not exist after the restart."));
          return;
        }
      } else {
        Request request = Submissions.application(app, user, event.getQueue(), priority);
        request.texts(Submissions.groups(getConfig(), user));
        String path = running().submit(request);
        queue = queues.at(path);
        if (!path.equals(app.getQueue())) {
          app.setQueue(path);
        }
      }
      applications.put(id, new EngineApplication(queue, user, priority, event.isUnmanagedAM(),
          !event.getIsAppRecovering()));
      queue.getMetrics().submitApp(user, event.isUnmanagedAM());
      if (!event.getIsAppRecovering()) {
        send(new RMAppEvent(id, RMAppEventType.APP_ACCEPTED));
      }
    } catch (EngineException refused) {
      LOG.info("application {} is rejected: {}", id, refused.getMessage());
      send(new RMAppEvent(id, RMAppEventType.APP_REJECTED, refused.getMessage()));
    } finally {
      writeLock.unlock();
    }
  }

  private void addAttempt(AppAttemptAddedSchedulerEvent event) {
    ApplicationAttemptId id = event.getApplicationAttemptId();
    writeLock.lock();
    try {
      EngineApplication application = (EngineApplication) applications.get(id.getApplicationId());
      if (application == null) {
        LOG.warn("attempt {} of an unknown application", id);
        return;
      }
      boolean recovering = event.getIsAttemptRecovering();
      if (!application.takeSubmitted()) {
        RMApp app = rmContext.getRMApps().get(id.getApplicationId());
        EngineQueue queue = (EngineQueue) application.getQueue();
        Request request = Submissions.application(app, application.getUser(), queue.getQueuePath(),
            application.getPriority());
        request.number(id.getAttemptId());
        request.optional(recovering ? masterOf(app) : null, Request::number);
        start(application, event.getTransferStateFromPreviousAttempt(), request);
      }
      EngineAttempt attempt = new EngineAttempt(id, application.getUser(),
          (EngineQueue) application.getQueue(), rmContext, application.getPriority(), recovering);
      EngineAttempt before = application.getCurrentAppAttempt();
      if (event.getTransferStateFromPreviousAttempt() && before != null) {
        attempt.takeOver(before);
      }
      application.setCurrentAppAttempt(attempt);
      attempt.engineQueue().getMetrics().submitAppAttempt(application.getUser(),
          application.isUnmanagedAM());
      if (!recovering) {
        send(new RMAppAttemptEvent(id, RMAppAttemptEventType.ATTEMPT_ADDED));
      }
    } catch (EngineException refused) {
      send(new RMAppEvent(id.getApplicationId(), RMAppEventType.KILL,
          "Attempt " + id.getAttemptId() + " is refused: " + refused.getMessage()));
    } finally {
      writeLock.unlock();
    }
    takeDecisions();
  }

  /** Starts an attempt of an application that keeps containers, or one that the engine does not know any more. */
  private void start(EngineApplication application, boolean keeps, Request recovery) {
    EngineAttempt before = application.getCurrentAppAttempt();
    if (keeps && before != null) {
      running().startAttempt(before.getApplicationId());
    } else {
      running().recover(recovery);
    }
  }

  /** Number of the container of the master that runs. */
  private static Integer masterOf(RMApp app) {
    RMAppAttempt attempt = app.getCurrentAppAttempt();
    Container master = attempt == null ? null : attempt.getMasterContainer();
    return master == null ? null : Ids.numberOf(master.getId());
  }

  private void removeAttempt(AppAttemptRemovedSchedulerEvent event) {
    ApplicationAttemptId id = event.getApplicationAttemptID();
    writeLock.lock();
    try {
      takeDecisions();
      early.remove(id);
      EngineAttempt attempt = current(id);
      if (attempt == null || attempt.isStopped()) {
        LOG.info("attempt {} has ended before", id);
        return;
      }
      boolean keeps = event.getKeepContainersAcrossAppAttempts();
      for (RMContainer container : attempt.getLiveContainers()) {
        boolean runs = container.getState() == RMContainerState.RUNNING;
        if (keeps && runs && !container.isAMContainer()) {
          continue;
        }
        endRecord(attempt, container, SchedulerUtils.createAbnormalContainerStatus(
            container.getContainerId(), SchedulerUtils.COMPLETED_APPLICATION),
            RMContainerEventType.KILL);
      }
      attempt.stop(event.getFinalAttemptState());
      if (keeps) {
        endAttempt(id.getApplicationId());
      } else {
        finish(id.getApplicationId());
      }
      takeDecisions();
    } finally {
      writeLock.unlock();
    }
  }

  /** Ends an attempt of the engine, which may have ended with its master. */
  private void endAttempt(ApplicationId id) {
    try {
      running().endAttempt(id);
    } catch (EngineException ended) {
      LOG.debug("attempt of application {}: {}", id, ended.getMessage());
    }
  }

  /** Ends an application of the engine, which may have ended with its master. */
  private void finish(ApplicationId id) {
    try {
      running().finishApp(id);
    } catch (EngineException ended) {
      LOG.debug("application {}: {}", id, ended.getMessage());
    }
  }

  private void removeApplication(ApplicationId id, RMAppState state) {
    writeLock.lock();
    try {
      EngineApplication application = (EngineApplication) applications.remove(id);
      if (application == null) {
        LOG.debug("application {} is unknown, as one that ended before a restart", id);
        return;
      }
      EngineAttempt last = application.getCurrentAppAttempt();
      if (application.takeSubmitted() || last != null && !last.getLiveContainers().isEmpty()) {
        finish(id);
        takeDecisions();
      }
      early.keySet().removeIf(attempt -> attempt.getApplicationId().equals(id));
      application.stop(state);
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public String moveApplication(ApplicationId id, String target) throws YarnException {
    writeLock.lock();
    try {
      EngineApplication application = (EngineApplication) applications.get(id);
      if (application == null) {
        throw new YarnException("App to be moved " + id + " not found.");
      }
      EngineQueue queue = queues.at(running().moveApp(id, target));
      EngineAttempt attempt = application.getCurrentAppAttempt();
      if (attempt != null) {
        attempt.moveTo(queue);
      }
      application.setQueue(queue);
      return queue.getQueuePath();
    } catch (EngineException refused) {
      throw new YarnException(refused.getMessage(), refused);
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public void preValidateMoveApplication(ApplicationId id, String target) throws YarnException {
    if (applications.get(id) == null) {
      throw new YarnException("App to be moved " + id + " not found.");
    }
    if (!queues.isLeaf(target)) {
      throw new YarnException("There is no leaf queue " + target);
    }
  }

  @Override
  public Priority checkAndGetApplicationPriority(Priority wished, UserGroupInformation user,
      String queueName, ApplicationId id) throws YarnException {
    EngineQueue queue = queues.find(queueName);
    Priority priority = wished;
    if (priority == null) {
      priority = queue == null ? Priority.newInstance(0) : queue.getDefaultApplicationPriority();
    }
    int most = getMaxClusterLevelAppPriority().getPriority();
    return priority.getPriority() > most ? Priority.newInstance(most) : priority;
  }

  @Override
  public Priority updateApplicationPriority(Priority wished, ApplicationId id,
      SettableFuture<Object> stored, UserGroupInformation user) throws YarnException {
    writeLock.lock();
    try {
      EngineApplication application = (EngineApplication) applications.get(id);
      if (application == null) {
        throw new YarnException("Application '" + id + "' is not present.");
      }
      RMApp app = rmContext.getRMApps().get(id);
      Priority allowed = checkAndGetApplicationPriority(wished, user, app.getQueue(), id);
      Priority effective =
          Priority.newInstance(running().changePriority(id, allowed.getPriority()));
      app.getApplicationSubmissionContext().setPriority(effective);
      ApplicationStateData state = ApplicationStateData.newInstance(app.getSubmitTime(),
          app.getStartTime(), app.getApplicationSubmissionContext(), app.getUser(),
          app.getRealUser(), app.getCallerContext());
      state.setApplicationTimeouts(app.getApplicationTimeouts());
      state.setLaunchTime(app.getLaunchTime());
      rmContext.getStateStore().updateApplicationStateSynchronously(state, false, stored);
      application.setPriority(effective);
      return effective;
    } catch (EngineException refused) {
      throw new YarnException(refused.getMessage(), refused);
    } finally {
      writeLock.unlock();
    }
  }

  // Views.

  @Override
  public int getNumClusterNodes() {
    return nodeTracker.nodeCount();
  }

  @Override
  public ResourceCalculator getResourceCalculator() {
    return calculator;
  }

  @Override
  public QueueMetrics getRootQueueMetrics() {
    EngineQueues known = queues;
    return known == null ? null : known.root().getMetrics();
  }

  @Override
  public QueueInfo getQueueInfo(String name, boolean children, boolean recursive)
      throws IOException {
    QueueInfo info = queues.infoOf(name, children, recursive);
    if (info == null) {
      throw new IOException("Unknown queue: " + name);
    }
    return info;
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo() {
    List<QueueUserACLInfo> all = new ArrayList<>();
    try {
      UserGroupInformation user = UserGroupInformation.getCurrentUser();
      queues.all().forEach(queue -> all.addAll(queue.getQueueUserAclInfo(user)));
    } catch (IOException error) {
      LOG.warn("the caller is not known", error);
    }
    return all;
  }

  @Override
  public boolean checkAccess(UserGroupInformation user, QueueACL acl, String name) {
    EngineQueue queue = queues.find(name);
    return queue != null && queue.hasAccess(acl, user);
  }

  @Override
  public List<ApplicationAttemptId> getAppsInQueue(String name) {
    EngineQueue queue = queues.find(name);
    if (queue == null) {
      return null;
    }
    List<ApplicationAttemptId> attempts = new ArrayList<>();
    applications.values().forEach(application -> {
      EngineAttempt attempt = application.getCurrentAppAttempt();
      if (attempt != null && application.getQueue() == queue) {
        attempts.add(attempt.getApplicationAttemptId());
      }
    });
    return attempts;
  }

  @Override
  public EnumSet<SchedulerResourceTypes> getSchedulingResourceTypes() {
    return calculator instanceof DefaultResourceCalculator
        ? EnumSet.of(SchedulerResourceTypes.MEMORY)
        : EnumSet.of(SchedulerResourceTypes.MEMORY, SchedulerResourceTypes.CPU);
  }

  /** The largest allocation of a queue. */
  @Override
  public Resource getMaximumResourceCapability(String name) {
    NativeEngine.QueueFigures figures = name == null ? null : queues.figures(name);
    Resource largest = getMaximumResourceCapability();
    if (figures == null || figures.maximumAllocation().isEmpty()) {
      return largest;
    }
    Resource ofQueue = Resources.clone(largest);
    ResourceInformation[] types = ofQueue.getResources();
    for (int i = 0; i < types.length && i < figures.maximumAllocation().size(); i++) {
      ofQueue.setResourceValue(i, Math.min(types[i].getValue(), figures.maximumAllocation().get(i)));
    }
    return ofQueue;
  }

  @Override
  public boolean placementConstraintEnabled() {
    return true;
  }

  /** What the store has comes with the applications. */
  @Override
  public void recover(RMState state) {
  }
}
