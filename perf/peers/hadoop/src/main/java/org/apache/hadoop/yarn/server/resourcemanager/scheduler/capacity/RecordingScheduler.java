// The real scheduler, which commits at once and notes what it decides.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerAllocationProposal;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.SchedulerContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** The scheduler under judgement. */
final class RecordingScheduler extends CapacityScheduler {
  /** A step in which so many proposals in a row change nothing never ends. */
  private static final int ENDLESS = 10_000;

  private final Amounts amounts;
  private Stage stage;
  private ArrayNode decisions = JsonNodeFactory.instance.arrayNode();
  private int refusedInRow;

  RecordingScheduler(Amounts amounts) {
    this.amounts = amounts;
  }

  void stage(Stage around) {
    stage = around;
  }

  /** What was decided since this was last asked. */
  ArrayNode take() {
    ArrayNode taken = decisions;
    decisions = JsonNodeFactory.instance.arrayNode();
    refusedInRow = 0;
    return taken;
  }

  @Override
  public void submitResourceCommitRequest(Resource cluster, CSAssignment assignment) {
    ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> request =
        createResourceCommitRequest(assignment);
    boolean accepted = request != null && tryCommit(cluster, request, true);
    refusedInRow = accepted ? 0 : refusedInRow + 1;
    if (refusedInRow >= ENDLESS) {
      // A heartbeat proposes on as long as what was proposed last was no OFF_SWITCH container.
      throw new IllegalStateException("the heartbeat never ends: each proposal is refused");
    }
  }

  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public boolean tryCommit(Resource cluster, ResourceCommitRequest raw, boolean pending) {
    ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> request = raw;
    List<Ending> excess = endings(request.getContainersToRelease());
    ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal =
        request.anythingAllocatedOrReserved() ? request.getFirstAllocatedOrReservedContainer()
            : null;
    List<Ending> exchanged = proposal == null ? List.of() : endings(proposal.getToRelease());
    boolean again = proposal != null && isReserved(proposal);
    boolean accepted = super.tryCommit(cluster, request, pending);
    if (accepted) {
      stage.tick();
      excess.forEach(ending -> ending.note("excess"));
      exchanged.forEach(ending -> ending.note("exchange"));
      if (proposal != null) {
        decisions.add(placed(proposal, isAllocation(request), again));
      }
    } else if (proposal != null) {
      reject(proposal, isAllocation(request), again);
    }
    return accepted;
  }

  private static boolean isAllocation(
      ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> request) {
    return request.getContainersToAllocate() != null
        && !request.getContainersToAllocate().isEmpty();
  }

  private static boolean isReserved(
      ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal) {
    return proposal.getAllocatedOrReservedContainer().getRmContainer().getState()
        == RMContainerState.RESERVED;
  }

  private List<Ending> endings(
      List<SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode>> released) {
    List<Ending> endings = new ArrayList<>();
    if (released != null) {
      released.forEach(one -> endings.add(new Ending(one.getRmContainer())));
    }
    return endings;
  }

  private ObjectNode basics(String kind, RMContainer container, NodeId node) {
    ScriptedApp app = stage.app(container.getApplicationAttemptId().getApplicationId());
    ObjectNode decision = JsonNodeFactory.instance.objectNode();
    decision.put("kind", kind).put("app", app.number);
    decision.put("container", app.number(container.getContainerId()));
    decision.put("node", node.toString());
    decision.set("res", amounts.write(container.getContainer().getResource()));
    return decision;
  }

  private ObjectNode placed(
      ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal,
      boolean allocated, boolean again) {
    SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> of =
        proposal.getAllocatedOrReservedContainer();
    String kind = allocated ? "allocate" : again ? "re_reserve" : "reserve";
    ObjectNode decision = basics(kind, of.getRmContainer(), of.getSchedulerNode().getNodeID());
    SchedulerRequestKey key = of.getSchedulerRequestKey();
    decision.put("priority", key.getPriority().getPriority());
    decision.put("id", key.getAllocationRequestId());
    if (key.getContainerToUpdate() != null) {
      decision.put("increases",
          stage.app(of.getRmContainer().getApplicationAttemptId().getApplicationId())
              .number(key.getContainerToUpdate()));
    }
    decision.put("locality", String.valueOf(proposal.getAllocationLocalityType()));
    decision.put("requested", String.valueOf(proposal.getRequestLocalityType()));
    if (!of.getNodePartition().isEmpty()) {
      decision.put("partition", of.getNodePartition());
    }
    if (proposal.getSchedulingMode() == SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY) {
      decision.put("borrowed_partition", true);
    }
    if (allocated && proposal.getAllocateFromReservedContainer() != null) {
      decision.put("from_reservation", true);
    }
    return decision;
  }

  private void reject(ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal,
      boolean allocated, boolean again) {
    SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> of =
        proposal.getAllocatedOrReservedContainer();
    RMContainer container = of.getRmContainer();
    ScriptedApp app = stage.app(container.getApplicationAttemptId().getApplicationId());
    ObjectNode rejected = JsonNodeFactory.instance.objectNode();
    rejected.put("kind", "reject").put("app", app.number);
    rejected.put("node", of.getSchedulerNode().getNodeID().toString());
    rejected.set("res", amounts.write(container.getContainer().getResource()));
    rejected.put("what", allocated ? "allocate" : again ? "re_reserve" : "reserve");
    ObjectNode last = decisions.isEmpty() ? null : (ObjectNode) decisions.get(decisions.size() - 1);
    if (last != null) {
      ObjectNode single = last.deepCopy();
      single.remove("times");
      if (single.equals(rejected)) {
        last.put("times", last.path("times").asInt(1) + 1);
        return;
      }
    }
    decisions.add(rejected);
  }

  @Override
  protected void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    Ending ending = new Ending(container);
    super.completedContainerInternal(container, status, event);
    ending.note(switch (event) {
      case FINISHED -> "FINISHED";
      case RELEASED -> "RELEASED";
      default -> "KILL";
    });
  }

  @Override
  public boolean moveReservedContainer(RMContainer container, FiCaSchedulerNode target) {
    NodeId from = container.getReservedNode();
    boolean moved = super.moveReservedContainer(container, target);
    if (moved) {
      ObjectNode decision = basics("move_reservation", container, target.getNodeID());
      decisions.add(decision.put("from", from.toString()));
    }
    return moved;
  }

  /** A container that may end in a call: what it was before. */
  private final class Ending {
    private final RMContainer container;
    private final FiCaSchedulerApp app;
    private final boolean reserved;
    private final boolean live;
    private final boolean waited;
    private final boolean running;
    private final NodeId node;

    Ending(RMContainer container) {
      this.container = container;
      app = getApplicationAttempt(container.getApplicationAttemptId());
      reserved = container.getState() == RMContainerState.RESERVED;
      live = !reserved && isLive();
      waited = reserved && isWaiting();
      running = container.getState() == RMContainerState.RUNNING;
      node = reserved ? container.getReservedNode() : container.getNodeId();
    }

    private boolean isWaiting() {
      return app != null && app.getReservedContainers().contains(container);
    }

    private boolean isLive() {
      // The id of what a decrease gives back stands for the container that gets smaller.
      return app != null && app.getRMContainer(container.getContainerId()) != null;
    }

    /** Notes the end, if it came. */
    void note(String reason) {
      if (reserved) {
        if (waited && !isWaiting()) {
          decisions.add(basics("unreserve", container, node).put("reason", reason));
        }
      } else if (live && !isLive()) {
        String why = reason.equals("exchange") ? "KILL" : reason;
        decisions.add(basics("complete", container, node).put("reason", why));
        stage.ended(container, running && !why.equals("FINISHED"));
      }
    }
  }
}
