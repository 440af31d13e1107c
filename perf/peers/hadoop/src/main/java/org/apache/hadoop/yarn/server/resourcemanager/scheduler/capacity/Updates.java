// Changes of running containers that a call of a master asks for.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.server.resourcemanager.RMServerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.util.resource.Resources;

/** The changes of one call. */
final class Updates {
  private final Stage stage;
  private final ScriptedApp app;
  private final ObjectNode out;
  private final List<UpdateContainerRequest> requests = new ArrayList<>();
  private final List<UpdateContainerError> errors = new ArrayList<>();
  /** Numbers of containers that never were, by the ids that stand for them. */
  private final Map<ContainerId, Integer> unknown = new HashMap<>();

  Updates(Stage stage, ScriptedApp app, JsonNode lines, ObjectNode out) {
    this.stage = stage;
    this.app = app;
    this.out = out;
    lines.forEach(this::add);
  }

  /** Adds a change, unless the scheduler is known to fail at it. */
  private void add(JsonNode line) {
    Integer number = line.has("container") ? Integer.valueOf(line.get("container").asInt())
        : app.nth(line.get("nth").asInt(), List.of());
    if (number == null) {
      out.withArray("updates").add("no such container");
      return;
    }
    ContainerId id = app.container(number);
    RMContainer held = id == null ? null : stage.scheduler.getRMContainer(id);
    Resource size = stage.amounts.read(line.get("res"));
    ContainerUpdateType type = line.get("change").asText().equals("increase")
        ? ContainerUpdateType.INCREASE_RESOURCE : ContainerUpdateType.DECREASE_RESOURCE;
    boolean grows = type == ContainerUpdateType.DECREASE_RESOURCE && held != null
        && !Resources.fitsIn(size, held.getContainer().getResource());
    if (grows || isGranted(id)) {
      out.withArray("updates").add(grows ? "a decrease to more" : "granted and not fetched");
      return;
    }
    out.withArray("updates").add(number);
    if (id == null) {
      id = ContainerId.newContainerId(app.attempt, Long.MAX_VALUE - number);
      unknown.put(id, number);
    }
    int version = held == null ? 0 : held.getContainer().getVersion();
    requests.add(UpdateContainerRequest.newInstance(line.path("version").asInt(version), id, type,
        size, null));
  }

  /** Whether a change of a container was granted that the master has not fetched. */
  private boolean isGranted(ContainerId id) {
    return id != null && stage.scheduler.getApplicationAttempt(app.attempt).getLiveContainers()
        .stream().anyMatch(live -> live.getAllocatedSchedulerKey() != null
            && id.equals(live.getAllocatedSchedulerKey().getContainerToUpdate()));
  }

  /** The changes that pass the checks of the service. */
  ContainerUpdates accepted() {
    AllocateRequest request =
        AllocateRequest.newBuilder().updateRequests(requests).build();
    return RMServerUtils.validateAndSplitUpdateResourceRequests(stage.context(), request,
        stage.scheduler.getMaximumResourceCapability(app.queue), errors);
  }

  /** Notes what changed and what was refused. */
  void answer(Allocation allocation) {
    numberAuxiliary();
    changed("increase", allocation.getIncreasedContainers());
    changed("decrease", allocation.getDecreasedContainers());
    errors.addAll(stage.scheduler.getApplicationAttempt(app.attempt).pullUpdateContainerErrors());
    for (UpdateContainerError error : errors) {
      ContainerId id = error.getUpdateContainerRequest().getContainerId();
      Integer number = unknown.get(id);
      out.withArray("update_errors").addArray()
          .add(number == null ? app.number(id) : number).add(error.getReason());
    }
  }

  /** Auxiliary containers have their numbers in the order in which they were made. */
  private void numberAuxiliary() {
    TreeSet<ContainerId> made = new TreeSet<>();
    for (Event<?> event : stage.around.events) {
      if (event instanceof ReleaseContainerEvent of) {
        made.add(of.getContainer().getContainerId());
      }
    }
    made.forEach(app::number);
  }

  private void changed(String change, List<Container> containers) {
    if (containers == null) {
      return;
    }
    for (Container container : containers) {
      ObjectNode line = out.withArray("updated").addObject();
      line.put("container", app.number(container.getId())).put("change", change);
      line.set("res", stage.amounts.write(container.getResource()));
      line.put("version", container.getVersion());
    }
  }
}
