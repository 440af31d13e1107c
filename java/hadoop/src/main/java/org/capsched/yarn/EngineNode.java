package org.capsched.yarn;

import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** A node with what it reported since its last heartbeat to the engine. Guarded by the scheduler's write lock. */
final class EngineNode extends SchedulerNode {
  private List<ContainerId> launched = new ArrayList<>();
  private List<ContainerId> exited = new ArrayList<>();

  EngineNode(RMNode node, boolean usePortForNodeName) {
    super(node, usePortForNodeName);
  }

  void noteLaunched(ContainerId container) {
    launched.add(container);
  }

  /** A container that ended before, by the scheduler or its application, has stopped now. */
  void noteExited(ContainerId container) {
    exited.add(container);
  }

  /** A container is from now on what {@code changed} says; the node's amounts follow. */
  synchronized void change(RMContainerImpl record, Container changed) {
    boolean running = record.getState() == RMContainerState.RUNNING;
    updateResourceForReleasedContainer(record.getContainer());
    record.setContainer(changed);
    allocateContainer(record, running);
  }

  List<ContainerId> takeLaunched() {
    List<ContainerId> taken = launched;
    launched = new ArrayList<>();
    return taken;
  }

  List<ContainerId> takeExited() {
    List<ContainerId> taken = exited;
    exited = new ArrayList<>();
    return taken;
  }

  /** Reservations are the engine's. */
  @Override
  public void reserveResource(SchedulerApplicationAttempt attempt, SchedulerRequestKey key,
      RMContainer container) {
    throw new UnsupportedOperationException("reservations are the engine's");
  }

  /** Reservations are the engine's. */
  @Override
  public void unreserveResource(SchedulerApplicationAttempt attempt) {
    throw new UnsupportedOperationException("reservations are the engine's");
  }
}
