// What clients and masters ask: submissions, and calls for containers.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.ResourceSizing;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMServerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.constraint.PlacementConstraintParser;

/** Submissions and calls of a stage. */
final class Calls {
  private final Stage stage;
  private final RecordingScheduler scheduler;

  Calls(Stage stage) {
    this.stage = stage;
    scheduler = stage.scheduler;
  }

  void submit(JsonNode step, ObjectNode out) throws YarnException {
    ApplicationSubmissionContext context = context(step);
    String user = step.get("user").asText();
    ScriptedApp app;
    try {
      List<ResourceRequest> master = masterAsks(step, context);
      app = new ScriptedApp(step.get("app").asInt(), context, user, path(step), master,
          stage.context());
    } catch (InvalidResourceRequestException refused) {
      refuse(Errors.ofQueue(String.valueOf(refused.getMessage())), refused, out);
      return;
    }
    Priority priority = scheduler.checkAndGetApplicationPriority(context.getPriority(),
        UserGroupInformation.createRemoteUser(user), context.getQueue(), app.id());
    context.setPriority(priority);
    stage.context().getRMApps().put(app.id(), app.app);
    scheduler.handle(new AppAddedSchedulerEvent(user, context, false, priority, placement(step)));
    String rejection = rejection();
    if (rejection != null) {
      stage.context().getRMApps().remove(app.id());
      refuse(Errors.ofQueue(rejection), new YarnException(rejection), out);
      return;
    }
    start(app, out);
  }

  private void refuse(String code, Exception refused, ObjectNode out) {
    out.put("accepted", false);
    out.set("error", Errors.of(code, refused));
  }

  /** Why the scheduler rejected the application that was just added. */
  private String rejection() {
    for (Event<?> event : stage.around.events) {
      if (event instanceof RMAppEvent of && of.getType() == RMAppEventType.APP_REJECTED) {
        return of.getDiagnosticMsg();
      }
    }
    return null;
  }

  private void start(ScriptedApp app, ObjectNode out) {
    stage.submitted(app);
    Stage.nextMillisecond();
    scheduler.handle(new AppAttemptAddedSchedulerEvent(app.attempt, false));
    out.put("accepted", true);
    if (!app.unmanaged()) {
      out.set("am", stage.amounts.write(app.masterAsks.get(0).getCapability()));
      labelOfQueue(app);
      scheduler.allocate(app.attempt, app.masterAsks, null, new ArrayList<>(), new ArrayList<>(),
          new ArrayList<>(), new ContainerUpdates());
    }
    out.put("state", Stage.stageOf(scheduler.getApplicationAttempt(app.attempt)));
  }

  /** A master without a label runs on the default one of its queue, as the attempt sets it. */
  private void labelOfQueue(ScriptedApp app) {
    ResourceRequest ask = app.masterAsks.get(0);
    if (ask.getNodeLabelExpression() == null) {
      CSQueue queue = scheduler.getQueue(app.queue);
      ask.setNodeLabelExpression(queue == null ? "" : queue.getDefaultNodeLabelExpression());
    }
  }

  private ApplicationSubmissionContext context(JsonNode step) {
    ApplicationSubmissionContext context = Records.newRecord(ApplicationSubmissionContext.class);
    context.setApplicationId(ApplicationId.newInstance(1, step.get("app").asInt()));
    context.setApplicationName("job");
    context.setQueue(path(step));
    context.setUnmanagedAM(step.path("unmanaged").asBoolean(false));
    if (step.hasNonNull("priority")) {
      context.setPriority(Priority.newInstance(step.get("priority").asInt()));
    }
    if (step.hasNonNull("label")) {
      context.setNodeLabelExpression(step.get("label").asText());
    }
    return context;
  }

  private static String path(JsonNode step) {
    String queue = step.get("queue").asText();
    if (!step.hasNonNull("placement_parent")) {
      return queue;
    }
    return step.get("placement_parent").asText() + "." + lastPart(queue);
  }

  private static String lastPart(String queue) {
    return queue.substring(queue.lastIndexOf('.') + 1);
  }

  private static ApplicationPlacementContext placement(JsonNode step) {
    if (!step.hasNonNull("placement_parent")) {
      return null;
    }
    return new ApplicationPlacementContext(lastPart(step.get("queue").asText()),
        step.get("placement_parent").asText());
  }

  // As RMAppManager.validateAndCreateResourceRequest.
  private List<ResourceRequest> masterAsks(JsonNode step, ApplicationSubmissionContext context)
      throws InvalidResourceRequestException {
    List<ResourceRequest> asks = new ArrayList<>();
    if (context.getUnmanagedAM()) {
      return null;
    }
    Resource size = step.has("am") ? stage.amounts.read(step.get("am")) : Resource.newInstance(0, 0);
    ResourceRequest ask =
        ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, size, 1);
    ask.setExecutionTypeRequest(ExecutionTypeRequest.newInstance(ExecutionType.GUARANTEED));
    String label = step.path("am_label").asText(null);
    ask.setNodeLabelExpression(
        label == null || label.isEmpty() ? context.getNodeLabelExpression() : label);
    Resource largest = scheduler.getMaximumResourceCapability(context.getQueue());
    SchedulerUtils.normalizeAndValidateRequest(ask, largest, context.getQueue(), false,
        stage.context(), null, true);
    ask.setCapability(scheduler.getNormalizedResource(ask.getCapability(), largest));
    asks.add(ask);
    return asks;
  }

  void ask(JsonNode step, ObjectNode out) {
    ScriptedApp app = stage.apps.get(step.get("app").asInt());
    if (app == null || !app.mayAsk()) {
      out.put("skipped", "application master is not running");
      return;
    }
    Set<Integer> ended = new TreeSet<>(app.finished);
    List<ContainerId> release = release(step, app, out);
    try {
      List<ResourceRequest> asks = asks(step.path("requests"), app);
      RMServerUtils.normalizeAndValidateRequests(asks,
          scheduler.getMaximumResourceCapability(app.queue), app.queue, scheduler, stage.context(),
          true);
      List<SchedulingRequest> requests = requests(step.path("scheduling_requests"));
      Updates updates = new Updates(stage, app, step.path("updates"), out);
      ContainerUpdates accepted = updates.accepted();
      Allocation allocation = scheduler.allocate(app.attempt, asks, requests, release,
          texts(step.path("blacklist_add")), texts(step.path("blacklist_remove")), accepted);
      updates.answer(allocation);
      answer(app, allocation, out);
    } catch (Exception refused) {
      out.set("error", Errors.ofRequest(refused));
      return;
    }
    app.finished.removeAll(ended);
    ended.forEach(number -> out.withArray("finished").add(number));
  }

  private void answer(ScriptedApp app, Allocation allocation, ObjectNode out) {
    for (Container container : allocation.getContainers()) {
      out.withArray("allocated").add(app.number(container.getId()));
      stage.handOver(app, container);
    }
    out.set("headroom", stage.amounts.write(allocation.getResourceLimit()));
    numbers(app, allocation.getStrictContainerPreemptions(), "preempt_strict", out);
    numbers(app, allocation.getContainerPreemptions(), "preempt_negotiable", out);
  }

  private void numbers(ScriptedApp app, Set<ContainerId> ids, String name, ObjectNode out) {
    if (ids != null) {
      ids.stream().map(app::number).sorted().forEach(number -> out.withArray(name).add(number));
    }
  }

  private List<ContainerId> release(JsonNode step, ScriptedApp app, ObjectNode out) {
    List<Integer> numbers = new ArrayList<>();
    step.path("release").forEach(number -> numbers.add(number.asInt()));
    if (step.has("release_nth")) {
      numbers.removeIf(number -> !isLive(app, number));
      for (JsonNode position : step.get("release_nth")) {
        Integer number = app.nth(position.asInt(), numbers);
        if (number != null) {
          numbers.add(number);
        }
      }
      ArrayNode released = out.putArray("released");
      numbers.forEach(released::add);
    }
    List<ContainerId> ids = new ArrayList<>();
    for (Integer number : numbers) {
      if (isLive(app, number)) {
        ids.add(app.container(number));
      }
    }
    return ids;
  }

  private boolean isLive(ScriptedApp app, int number) {
    ContainerId id = app.container(number);
    return id != null && scheduler.getRMContainer(id) != null
        && scheduler.getApplicationAttempt(app.attempt).getLiveContainers()
            .contains(scheduler.getRMContainer(id));
  }

  private List<ResourceRequest> asks(JsonNode requests, ScriptedApp app) {
    List<ResourceRequest> asks = new ArrayList<>();
    for (JsonNode request : requests) {
      ResourceRequest ask = ResourceRequest.newInstance(
          Priority.newInstance(request.path("priority").asInt(1)),
          request.path("name").asText(ResourceRequest.ANY),
          stage.amounts.read(request.get("res")), request.path("count").asInt(1),
          request.path("relax").asBoolean(true));
      ask.setAllocationRequestId(request.path("id").asLong(0));
      if (request.hasNonNull("label")) {
        ask.setNodeLabelExpression(request.get("label").asText());
      } else if (ask.getResourceName().equals(ResourceRequest.ANY)) {
        ask.setNodeLabelExpression(app.submission.getNodeLabelExpression());
      }
      asks.add(ask);
    }
    return asks;
  }

  private List<SchedulingRequest> requests(JsonNode requests) throws Exception {
    List<SchedulingRequest> all = new ArrayList<>();
    for (JsonNode request : requests) {
      SchedulingRequest.SchedulingRequestBuilder builder = SchedulingRequest.newBuilder()
          .priority(Priority.newInstance(request.path("priority").asInt(1)))
          .allocationRequestId(request.path("id").asLong(0))
          .executionType(ExecutionTypeRequest.newInstance(ExecutionType.GUARANTEED))
          .allocationTags(new HashSet<>(texts(request.path("tags"))))
          .resourceSizing(ResourceSizing.newInstance(request.path("count").asInt(1),
              stage.amounts.read(request.get("res"))));
      if (request.hasNonNull("constraint")) {
        builder.placementConstraintExpression(PlacementConstraintParser
            .parseExpression(request.get("constraint").asText()).build());
      }
      all.add(builder.build());
    }
    return all;
  }

  private static List<String> texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    for (Iterator<JsonNode> at = list.elements(); at.hasNext();) {
      texts.add(at.next().asText());
    }
    return texts;
  }
}
