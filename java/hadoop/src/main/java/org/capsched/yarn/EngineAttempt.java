package org.capsched.yarn;

import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;

/** An attempt of an application: the ResourceManager's records of the containers that the engine placed. */
final class EngineAttempt extends SchedulerApplicationAttempt {
  private final Map<Integer, RMContainer> byNumber = new ConcurrentHashMap<>();
  private final Set<ContainerId> askedBack = new HashSet<>();
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
      attemptResourceUsage.incUsed(node.getPartition(), placed.size());
      countRunning();
      queue.getMetrics().allocateResources(node.getPartition(), getUser(), 1, placed.size(), false);
      node.allocateContainer(record);
      record.handle(new RMContainerEvent(id, RMContainerEventType.START));
      return record;
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
      container.handle(new RMContainerFinishedEvent(id, status, event));
      Resource size = container.getContainer().getResource();
      String partition = container.getNodeLabelExpression();
      queue.getMetrics().releaseResources(partition, getUser(), 1, size);
      attemptResourceUsage.decUsed(partition, size);
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

  void refuseUpdates(List<UpdateContainerRequest> requests) {
    for (UpdateContainerRequest request : requests) {
      UpdateContainerError error =
          UpdateContainerError.newInstance("CONTAINER_UPDATES_NOT_SUPPORTED", request);
      addToUpdateContainerErrors(error);
    }
  }

  /** What the application is answered: new containers with their tokens, and those asked back. */
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
      List<NMToken> tokens = pullUpdatedNMTokens();
      Resource headroom = getHeadroom();
      setApplicationHeadroomForMetrics(headroom);
      return new Allocation(allocated, headroom, null, wanted, wantedSizes, tokens,
          Collections.emptyList(), Collections.emptyList(), Collections.emptyList(),
          Collections.emptyList(), before, Collections.emptyList());
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
