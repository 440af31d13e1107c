package org.capsched.yarn;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.LogAggregationContext;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerUpdatesAcquiredEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeUpdateContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An attempt of an application: the ResourceManager's records of the containers that the engine placed. */
final class EngineAttempt extends SchedulerApplicationAttempt {
  private static final Logger LOG = LoggerFactory.getLogger(EngineAttempt.class);
  private final Map<Integer, RMContainer> byNumber = new ConcurrentHashMap<>();
  private final Set<ContainerId> askedBack = new HashSet<>();
  /** Containers that changed, by how, until their application is answered; in the order of the changes. */
  private final Map<ContainerUpdateType, Set<RMContainer>> changed =
      new EnumMap<>(ContainerUpdateType.class);
  private final Object calls = new Object();
  private volatile boolean open;
  private boolean ran;

  EngineAttempt(ApplicationAttemptId id, String user, EngineQueue queue, RMContext context,
      Priority priority, boolean recovering) {
    super(id, user, queue, queue.getAbstractUsersManager(), context);
    setPriority(priority);
    setAttemptRecovering(recovering);
    open = recovering || getUnmanagedAM();
  }

  /** Calls of the application follow one another, as the records of their answers do. */
  Object calls() {
    return calls;
  }

  /** Whether the ResourceManager has asked for the master, so that it may be given its container. */
  boolean isOpen() {
    return open;
  }

  void open() {
    open = true;
  }

  EngineQueue engineQueue() {
    return (EngineQueue) queue;
  }

  RMContainer byNumber(int number) {
    return byNumber.get(number);
  }

  /** Records a container that the engine placed. Nothing when the attempt has ended. */
  RMContainer place(Decision.Allocated placed, EngineNode node) {
    writeLock.lock();
    try {
      if (isStopped) {
        return null;
      }
      ContainerId id = Ids.newId(placed.container(), rmContext.getEpoch());
      Container container = Container.newInstance(id, node.getNodeID(), node.getHttpAddress(),
          placed.size(), Priority.newInstance(placed.priority()), null);
      container.setAllocationRequestId(placed.requestId());
      RMContainerImpl record = new RMContainerImpl(container,
          SchedulerRequestKey.extractFrom(container), getApplicationAttemptId(), node.getNodeID(),
          getUser(), rmContext, node.getPartition());
      record.setQueueName(engineQueue().getQueuePath());
      liveContainers.put(id, record);
      byNumber.put(placed.container().number(), record);
      charge(record);
      countRunning();
      node.allocateContainer(record);
      record.handle(new RMContainerEvent(id, RMContainerEventType.START));
      return record;
    } finally {
      writeLock.unlock();
    }
  }

  /** Takes over what an attempt left running. */
  void takeOver(EngineAttempt before) {
    writeLock.lock();
    try {
      liveContainers.putAll(before.liveContainers);
      byNumber.putAll(before.byNumber);
      attemptResourceUsage.copyAllUsed(before.attemptResourceUsage);
      setHeadroom(before.getHeadroom());
    } finally {
      writeLock.unlock();
    }
  }

  private void countRunning() {
    if (!ran) {
      ran = true;
      queue.getMetrics().runAppAttempt(getApplicationId(), getUser(), getUnmanagedAM());
    }
  }

  /** The reply to the application, or the start of its master, hands a container over. */
  void handOver(RMContainer container) {
    writeLock.lock();
    try {
      if (liveContainers.containsKey(container.getContainerId())) {
        newlyAllocatedContainers.add(container);
      }
    } finally {
      writeLock.unlock();
    }
  }

  /** Records the end of a container. Whether it was live. */
  boolean end(RMContainer container, ContainerStatus status, RMContainerEventType event,
      EngineNode node) {
    writeLock.lock();
    try {
      ContainerId id = container.getContainerId();
      if (liveContainers.remove(id) == null) {
        return false;
      }
      byNumber.remove(Ids.numberOf(id), container);
      newlyAllocatedContainers.remove(container);
      askedBack.remove(id);
      changed.values().forEach(containers -> containers.remove(container));
      container.handle(new RMContainerFinishedEvent(id, status, event));
      discharge(container);
      lastMemoryAggregateAllocationUpdateTime = -1;
      if (node != null) {
        node.releaseContainer(id, false);
      }
      return true;
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public boolean recoverContainer(SchedulerNode node, RMContainer container) {
    // The base class counts the attempt as running.
    ran = true;
    boolean recovered = super.recoverContainer(node, container);
    if (recovered) {
      if (container.getExecutionType() == ExecutionType.OPPORTUNISTIC) {
        // The base class has charged the queue with it, though not the attempt.
        queue.getMetrics().releaseResources(node.getPartition(), getUser(), 1,
            container.getContainer().getResource());
      }
      byNumber.put(Ids.numberOf(container.getContainerId()), container);
    }
    return recovered;
  }

  void askBack(List<Integer> numbers) {
    writeLock.lock();
    try {
      for (int number : numbers) {
        RMContainer container = byNumber.get(number);
        if (container != null) {
          askedBack.add(container.getContainerId());
        }
      }
    } finally {
      writeLock.unlock();
    }
  }

  void askBack(ContainerId container) {
    writeLock.lock();
    try {
      askedBack.add(container);
    } finally {
      writeLock.unlock();
    }
  }

  /** The queue and the attempt are charged with a guaranteed container. */
  private void charge(RMContainer container) {
    if (container.getExecutionType() == ExecutionType.GUARANTEED) {
      Resource size = container.getContainer().getResource();
      String partition = container.getNodeLabelExpression();
      queue.getMetrics().allocateResources(partition, getUser(), 1, size, false);
      attemptResourceUsage.incUsed(partition, size);
    }
  }

  private void discharge(RMContainer container) {
    if (container.getExecutionType() == ExecutionType.GUARANTEED) {
      Resource size = container.getContainer().getResource();
      String partition = container.getNodeLabelExpression();
      queue.getMetrics().releaseResources(partition, getUser(), 1, size);
      attemptResourceUsage.decUsed(partition, size);
    }
  }

  /** Records a change of a container; the next answer to the application carries it. */
  void change(RMContainer container, ContainerChange change, EngineNode node) {
    writeLock.lock();
    try {
      if (!liveContainers.containsKey(container.getContainerId())) {
        // It ended meanwhile.
        return;
      }
      Container before = container.getContainer();
      Container after = Container.newInstance(before.getId(), before.getNodeId(),
          before.getNodeHttpAddress(), change.size(), before.getPriority(), null,
          change.executionType(before.getExecutionType()));
      after.setAllocationRequestId(before.getAllocationRequestId());
      after.setExposedPorts(before.getExposedPorts());
      after.setAllocationTags(before.getAllocationTags());
      after.setVersion(change.version());
      RMContainerImpl record = (RMContainerImpl) container;
      discharge(record);
      if (node == null) {
        record.setContainer(after);
      } else {
        node.change(record, after);
      }
      charge(record);
      lastMemoryAggregateAllocationUpdateTime = -1;
      changed.computeIfAbsent(change.type(), type -> new LinkedHashSet<>()).add(record);
    } finally {
      writeLock.unlock();
    }
  }

  /** Refusals of the engine for the requests of a call. */
  void refuse(List<RefusedChange> refused, List<UpdateContainerRequest> requests) {
    for (RefusedChange change : refused) {
      for (UpdateContainerRequest request : requests) {
        if (Ids.numberOf(request.getContainerId()) == change.number()
            && request.getContainerUpdateType() == change.type()) {
          addToUpdateContainerErrors(UpdateContainerError.newInstance(change.reason(), request));
          break;
        }
      }
    }
  }

  /**
   * The containers that changed in a way, with new tokens. One for which there is no token waits for the next call.
   */
  // As SchedulerApplicationAttempt.pullNewlyUpdatedContainers.
  private List<Container> takeChanged(ContainerUpdateType type) {
    List<Container> taken = new ArrayList<>();
    Set<RMContainer> waiting = changed.remove(type);
    if (waiting == null) {
      return taken;
    }
    for (RMContainer record : waiting) {
      Container container = record.getContainer();
      try {
        container.setContainerToken(tokenOf(record));
        updateNMTokens(Collections.singletonList(container));
      } catch (IllegalArgumentException error) {
        // As for a new container: its host has no address at present.
        LOG.error("there is no token for the changed container {}", container.getId(), error);
        changed.computeIfAbsent(type, key -> new LinkedHashSet<>()).add(record);
        continue;
      }
      announce(record, type);
      taken.add(container);
    }
    return taken;
  }

  private Token tokenOf(RMContainer record) {
    Container container = record.getContainer();
    LogAggregationContext logs = rmContext.getRMApps().get(getApplicationId())
        .getApplicationSubmissionContext().getLogAggregationContext();
    return rmContext.getContainerTokenSecretManager().createContainerToken(container.getId(),
        container.getVersion(), container.getNodeId(), getUser(), container.getResource(),
        container.getPriority(), record.getCreationTime(), logs, record.getNodeLabelExpression(),
        ContainerType.TASK, container.getExecutionType(), container.getAllocationRequestId(),
        record.getAllocationTags());
  }

  /** A decrease goes to the node at once. The application carries the others there, unless the site has them go too. */
  @SuppressWarnings("unchecked")
  private void announce(RMContainer record, ContainerUpdateType type) {
    boolean toNode = type == ContainerUpdateType.DECREASE_RESOURCE
        || ((AbstractYarnScheduler<?, ?>) rmContext.getScheduler()).shouldContainersBeAutoUpdated();
    if (toNode) {
      rmContext.getDispatcher().getEventHandler().handle(new RMNodeUpdateContainerEvent(
          record.getNodeId(), Collections.singletonMap(record.getContainer(), type)));
    } else {
      record.handle(new RMContainerUpdatesAcquiredEvent(record.getContainerId(),
          type == ContainerUpdateType.INCREASE_RESOURCE));
    }
  }

  /** What the application is answered: new and changed containers with their tokens, and those asked back. */
  Allocation takeAllocation(ResourceCalculator calculator, Resource cluster, Resource minimum) {
    writeLock.lock();
    try {
      Set<ContainerId> wanted = new HashSet<>();
      Resource sum = Resources.createResource(0, 0);
      for (ContainerId id : askedBack) {
        RMContainer container = liveContainers.get(id);
        if (container != null && wanted.add(id)) {
          Resources.addTo(sum, container.getContainer().getResource());
        }
      }
      askedBack.clear();
      List<ResourceRequest> wantedSizes = Collections.emptyList();
      if (!wanted.isEmpty()) {
        int count = (int) Math.ceil(Resources.divide(calculator, cluster, sum, minimum));
        wantedSizes = Collections.singletonList(ResourceRequest.newBuilder()
            .priority(Priority.UNDEFINED).resourceName(ResourceRequest.ANY)
            .capability(minimum).numContainers(count).build());
      }
      List<Container> before = pullPreviousAttemptContainers();
      List<Container> allocated = pullNewlyAllocatedContainers();
      List<Container> increased = takeChanged(ContainerUpdateType.INCREASE_RESOURCE);
      List<Container> decreased = takeChanged(ContainerUpdateType.DECREASE_RESOURCE);
      List<Container> promoted = takeChanged(ContainerUpdateType.PROMOTE_EXECUTION_TYPE);
      List<Container> demoted = takeChanged(ContainerUpdateType.DEMOTE_EXECUTION_TYPE);
      List<NMToken> tokens = pullUpdatedNMTokens();
      Resource headroom = getHeadroom();
      setApplicationHeadroomForMetrics(headroom);
      return new Allocation(allocated, headroom, null, wanted, wantedSizes, tokens,
          increased, decreased, promoted, demoted, before, Collections.emptyList());
    } finally {
      writeLock.unlock();
    }
  }

  /** Ends the attempt; the base class counts its asks, which are the engine's. */
  @Override
  public void stop(RMAppAttemptState state) {
    writeLock.lock();
    try {
      if (!isStopped) {
        isStopped = true;
        queue.getMetrics().finishAppAttempt(getApplicationId(), !ran, getUser(),
            getUnmanagedAM());
      }
    } finally {
      writeLock.unlock();
    }
  }

  /** Moves the records to another queue. */
  void moveTo(EngineQueue target) {
    writeLock.lock();
    try {
      if (!isStopped) {
        queue.getMetrics().finishAppAttempt(getApplicationId(), !ran, getUser(),
            getUnmanagedAM());
        target.getMetrics().submitAppAttempt(getUser(), getUnmanagedAM());
        if (ran) {
          target.getMetrics().runAppAttempt(getApplicationId(), getUser(), getUnmanagedAM());
        }
      }
      for (RMContainer container : liveContainers.values()) {
        if (container.getExecutionType() != ExecutionType.GUARANTEED) {
          ((RMContainerImpl) container).setQueueName(target.getQueuePath());
          continue;
        }
        Resource size = container.getContainer().getResource();
        String partition = container.getNodeLabelExpression();
        ((RMContainerImpl) container).setQueueName(target.getQueuePath());
        queue.getMetrics().releaseResources(partition, getUser(), 1, size);
        target.getMetrics().allocateResources(partition, getUser(), 1, size, false);
      }
      queue = target;
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public String getQueueName() {
    return engineQueue().getQueuePath();
  }
}
