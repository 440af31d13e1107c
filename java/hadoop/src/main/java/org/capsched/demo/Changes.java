package org.capsched.demo;

import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.util.Records;

/** A master in this process that changes its container: the calls of YARN's own clients to both managers. */
final class Changes {
  private final Cluster cluster;
  private final AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient();
  private final NMClient nodes = NMClient.createNMClient();
  private Container container;

  Changes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Submits the application, and runs its master to its end. What was seen. */
  String run() throws Exception {
    ApplicationId id = submit();
    UserGroupInformation user =
        UserGroupInformation.createRemoteUser(UserGroupInformation.getCurrentUser().getUserName());
    user.addToken(cluster.client().getAMRMToken(id));
    return user.doAs((PrivilegedExceptionAction<String>) this::runMaster);
  }

  private ApplicationId submit() throws Exception {
    ApplicationSubmissionContext context =
        cluster.client().createApplication().getApplicationSubmissionContext();
    context.setApplicationName("changes");
    context.setQueue("a");
    context.setUnmanagedAM(true);
    context.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
    context.setResource(Resource.newInstance(128, 1));
    ApplicationId id = cluster.client().submitApplication(context);
    Cluster.await("the attempt waits for its master", 60, () -> {
      RMApp app = cluster.manager().getRMContext().getRMApps().get(id);
      return app.getCurrentAppAttempt() != null
          && app.getCurrentAppAttempt().getState() == RMAppAttemptState.LAUNCHED;
    });
    return id;
  }

  private String runMaster() throws Exception {
    master.init(cluster.conf());
    master.start();
    nodes.init(cluster.conf());
    nodes.start();
    try {
      master.registerApplicationMaster("localhost", 0, "");
      startContainer();
      refusals();
      grow(512);
      expectAllocated(512);
      change(ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(256, 1), null);
      Cluster.await("the node has the smaller size", 60, () -> memoryOnNode() == 256);
      expectAllocated(256);
      executionTypes();
      grow(384);
      restart();
      master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
      expectAllocated(0);
      return "a master had its container grow to 512 MiB, shrink, become opportunistic and guaranteed again, and grow"
          + " to 384 MiB; a restart of the ResourceManager kept the size, and it shrank again; 2 changes that make no"
          + " sense were refused";
    } finally {
      nodes.stop();
      master.stop();
    }
  }

  private void startContainer() throws Exception {
    master.addContainerRequest(
        new ContainerRequest(Resource.newInstance(256, 1), null, null, Priority.newInstance(1)));
    Cluster.await("a container", 60, () -> {
      List<Container> allocated = master.allocate(0).getAllocatedContainers();
      container = allocated.isEmpty() ? null : allocated.get(0);
      return container != null;
    });
    ContainerLaunchContext launch = Records.newRecord(ContainerLaunchContext.class);
    launch.setCommands(List.of("sleep 300"));
    nodes.startContainer(container, launch);
    Cluster.await("the container runs", 60, () -> record().getState() == RMContainerState.RUNNING);
  }

  private RMContainer record() {
    return cluster.scheduler().getRMContainer(container.getId());
  }

  private long memoryOnNode() throws Exception {
    return nodes.getContainerStatus(container.getId(), container.getNodeId()).getCapability()
        .getMemorySize();
  }

  private void expectAllocated(long mb) throws Exception {
    Cluster.await("the queues hold " + mb + " MiB", 30,
        () -> cluster.scheduler().getRootQueueMetrics().getAllocatedMB() == mb);
    Cluster.await("the node of the container has " + mb + " MiB allocated", 30,
        () -> cluster.scheduler().getNodeReport(container.getNodeId()).getUsedResource()
            .getMemorySize() == mb);
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("expected: " + what);
    }
  }

  private void ask(int version, ContainerUpdateType type, Resource size, ExecutionType execution) {
    master.requestContainerUpdate(container, UpdateContainerRequest.newInstance(version,
        container.getId(), type, size, execution));
  }

  /** Asks for a change and fetches it; the container is then what the answer says. */
  private void change(ContainerUpdateType type, Resource size, ExecutionType execution)
      throws Exception {
    int before = container.getVersion();
    ask(before, type, size, execution);
    Cluster.await(type + " is answered", 60, () -> {
      AllocateResponse answer = master.allocate(0);
      check(answer.getUpdateErrors().isEmpty(), "no error, got " + answer.getUpdateErrors());
      for (UpdatedContainer updated : answer.getUpdatedContainers()) {
        check(updated.getUpdateType() == type, type + ", got " + updated);
        container = updated.getContainer();
      }
      return container.getVersion() > before;
    });
    check(container.getVersion() == before + 1, "version " + (before + 1));
    check(size == null || container.getResource().equals(size), size + ", got " + container);
    check(execution == null || container.getExecutionType() == execution,
        execution + ", got " + container);
  }

  private void grow(int mb) throws Exception {
    Resource size = Resource.newInstance(mb, 1);
    change(ContainerUpdateType.INCREASE_RESOURCE, size, null);
    nodes.updateContainerResource(container);
    Cluster.await("the node confirms " + mb + " MiB", 60,
        () -> record().getLastConfirmedResource().equals(size));
    check(memoryOnNode() == mb, "the node has " + mb + " MiB");
  }

  private void executionTypes() throws Exception {
    change(ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC);
    nodes.updateContainerResource(container);
    expectAllocated(0);
    change(ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null, ExecutionType.GUARANTEED);
    nodes.updateContainerResource(container);
    expectAllocated(256);
  }

  private void refusals() throws Exception {
    Resource larger = Resource.newInstance(512, 1);
    Container old = Container.newInstance(container.getId(), container.getNodeId(),
        container.getNodeHttpAddress(), container.getResource(), container.getPriority(), null);
    // The client sends the version of the container that it is given.
    old.setVersion(9);
    refused("INCORRECT_CONTAINER_VERSION_ERROR", old, larger);
    refused("RESOURCE_OUTSIDE_ALLOWED_RANGE", container, Resource.newInstance(1 << 20, 1));
    expectAllocated(256);
  }

  private void refused(String reason, Container known, Resource size) throws Exception {
    master.requestContainerUpdate(known, UpdateContainerRequest.newInstance(known.getVersion(),
        known.getId(), ContainerUpdateType.INCREASE_RESOURCE, size, null));
    List<String> reasons = new ArrayList<>();
    Cluster.await("a refusal", 60, () -> {
      for (UpdateContainerError error : master.allocate(0).getUpdateErrors()) {
        reasons.add(error.getReason());
      }
      return !reasons.isEmpty();
    });
    check(reasons.equals(List.of(reason)), reason + ", got " + reasons);
  }

  /** The container comes back from its node as it was changed. */
  private void restart() throws Exception {
    ContainerId id = container.getId();
    cluster.restartManager();
    Cluster.await("the nodes are back", 60,
        () -> cluster.scheduler().getNumClusterNodes() == cluster.nodes());
    Cluster.await("the container is back", 60, () -> record() != null);
    Container back = record().getContainer();
    check(back.getResource().equals(container.getResource())
        && back.getExecutionType() == container.getExecutionType(),
        container + " after the restart, got " + back);
    // Node managers report the version that a container was started with.
    container.setVersion(back.getVersion());
    expectAllocated(container.getResource().getMemorySize());
    check(master.allocate(0).getCompletedContainersStatuses().isEmpty(), id + " runs on");
    change(ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(256, 1), null);
  }
}
