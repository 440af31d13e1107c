// The resource manager around the scheduler: carries out the steps of a scenario.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeAttribute;
import org.apache.hadoop.yarn.api.records.NodeAttributeType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.event.RMAppAttemptContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeResourceUpdateEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAttributesUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.SimpleCandidateNodeSet;
import org.apache.hadoop.yarn.util.resource.Resources;

/** One scenario on one scheduler. */
final class Stage {
  static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  final RecordingScheduler scheduler;
  final Surroundings around;
  final Amounts amounts;
  /** Live applications by number. */
  final Map<Integer, ScriptedApp> apps = new TreeMap<>();
  private final Map<ApplicationId, ScriptedApp> known = new TreeMap<>();
  private final Map<NodeId, Machine> machines = new TreeMap<>();
  private final Calls calls;
  /** Whether containers are compared by the time of their creation. */
  private final boolean spaced;
  private final Rounds rounds;
  private final List<Integer> started = new ArrayList<>();
  private final List<Integer> lost = new ArrayList<>();

  Stage(JsonNode scenario) throws Exception {
    // Vectors are sized when they are made: the types come first.
    Configuration site = Surroundings.site(scenario);
    List<String> done = scenario.findValuesAsText("do");
    // Preemption and overcommitted nodes end the newest containers first.
    spaced = done.contains("preempt") || done.contains("decommission")
        || !scenario.findValues("overcommit_timeout").isEmpty();
    amounts = new Amounts(scenario.get("resource_types"));
    scheduler = new RecordingScheduler(amounts);
    scheduler.stage(this);
    around = new Surroundings(scenario, site, scheduler);
    calls = new Calls(this);
    rounds = new Rounds(this);
  }

  void close() {
    around.close();
  }

  /** Where times are compared, no two containers are created in the same millisecond. */
  void tick() {
    if (spaced) {
      nextMillisecond();
    }
  }

  /** Waits until the clock shows another millisecond. */
  static void nextMillisecond() {
    long now = System.currentTimeMillis();
    while (System.currentTimeMillis() == now) {
      Thread.onSpinWait();
    }
  }

  /** Carries out a step; what it came to. */
  JsonNode step(JsonNode step) throws Exception {
    if (step.get("do").asText().equals("state")) {
      return new StateWriter(scheduler, around.labels, amounts, apps.values()).write();
    }
    ObjectNode out = JSON.objectNode();
    carryOut(step, out);
    settle();
    ArrayNode decisions = scheduler.take();
    if (!decisions.isEmpty()) {
      out.set("decisions", decisions);
    }
    started.forEach(app -> out.withArray("am_started").add(app));
    started.clear();
    lost.forEach(app -> out.withArray("am_lost").add(app));
    lost.clear();
    noteStages(out);
    return out;
  }

  private void carryOut(JsonNode step, ObjectNode out) throws Exception {
    switch (step.get("do").asText()) {
      case "submit" -> calls.submit(step, out);
      case "ask" -> calls.ask(step, out);
      case "complete" -> complete(step, step.get("container").asInt(), out);
      case "complete_nth" -> {
        ScriptedApp app = apps.get(step.get("app").asInt());
        complete(step, app == null ? null : app.nth(step.get("nth").asInt(), List.of()), out);
      }
      case "finish_app", "kill_app" -> {
        ScriptedApp app = apps.get(step.get("app").asInt());
        if (app == null) {
          out.put("skipped", "no such application");
        } else {
          finish(app);
        }
      }
      case "change_priority" -> changePriority(step, out);
      case "move_app" -> move(step, out);
      case "reconfigure" -> reconfigure(step, out);
      case "refresh" -> refresh(step, out);
      case "preempt" -> rounds.preempt(out);
      case "advance_clock" -> rounds.advance(step.get("ms").asLong());
      case "schedule_partition" -> attemptPartition(step, out);
      case "add_node" -> addNode(step, out);
      default -> nodeStep(step, out);
    }
  }

  private void nodeStep(JsonNode step, ObjectNode out) throws Exception {
    Machine machine = machines.get(NodeId.fromString(step.get("node").asText()));
    if (machine == null) {
      out.put("skipped", "no such node");
      return;
    }
    switch (step.get("do").asText()) {
      case "heartbeat" -> heartbeat(machine, out);
      case "schedule_node" -> attemptNode(machine, out);
      case "remove_node" -> removeNode(machine);
      case "update_node_resource" -> {
        machine.total = amounts.read(step.get("res"));
        int timeout = step.path("overcommit_timeout").asInt(-1);
        scheduler.handle(new NodeResourceUpdateSchedulerEvent(machine.node,
            ResourceOption.newInstance(machine.total, timeout)));
      }
      case "update_node_labels" ->
          around.labels.replaceLabelsOnNode(Map.of(machine.id, labels(step)));
      case "update_node_attributes" -> attributes(machine, step);
      case "decommission" -> machine.state = NodeState.DECOMMISSIONING;
      default -> throw new IllegalArgumentException("unknown step " + step);
    }
  }

  private static Set<String> labels(JsonNode step) {
    JsonNode labels = step.path("labels");
    return labels.isEmpty() ? Set.of() : Set.of(labels.get(0).asText());
  }

  private void addNode(JsonNode step, ObjectNode out) throws Exception {
    NodeId id = NodeId.fromString(step.get("node").asText());
    if (machines.containsKey(id)) {
      out.put("skipped", "node is already registered");
      return;
    }
    // Tokens name the node by an address, and there is no name service for it.
    NetUtils.addStaticResolution(id.getHost(), "127.0.0.1");
    Set<String> labels = labels(step);
    // A node that comes again has the labels of before, unless the step names others.
    if (step.has("labels") && !labels.equals(around.labels.getLabelsOnNode(id))) {
      around.labels.replaceLabelsOnNode(Map.of(id, labels));
    }
    Machine machine = new Machine(id, step.path("rack").asText("/default-rack"),
        amounts.read(step.get("res")), around.labels.getLabelsOnNode(id), around.context);
    machines.put(id, machine);
    around.context.getRMNodes().put(id, machine.node);
    scheduler.handle(new NodeAddedSchedulerEvent(machine.node));
    if (step.has("attributes")) {
      attributes(machine, step);
    }
  }

  /** Replaces all attributes of a node, as the manager of attributes says them to the scheduler. */
  private void attributes(Machine machine, JsonNode step) {
    Set<NodeAttribute> attributes = new HashSet<>();
    step.path("attributes").fields().forEachRemaining(pair -> {
      String[] name = pair.getKey().split("/", 2);
      attributes.add(NodeAttribute.newInstance(name[0], name[1], NodeAttributeType.STRING,
          pair.getValue().asText()));
    });
    scheduler.handle(new NodeAttributesUpdateSchedulerEvent(
        Map.of(machine.id.getHost(), attributes)));
  }

  private void removeNode(Machine machine) {
    FiCaSchedulerNode node = scheduler.getNode(machine.id);
    List<RMContainer> running = new ArrayList<>(node.getCopiedListOfRunningContainers());
    running.sort(Comparator.comparing(RMContainer::getContainerId));
    // The scheduler does so before it ends the containers, which it would take in hash order.
    around.labels.deactivateNode(machine.id);
    for (RMContainer container : running) {
      kill(container, SchedulerUtils.LOST_CONTAINER);
      node.releaseContainer(container.getContainerId(), true);
    }
    if (node.getReservedContainer() != null) {
      kill(node.getReservedContainer(), SchedulerUtils.LOST_CONTAINER);
    }
    machines.remove(machine.id);
    around.context.getRMNodes().remove(machine.id);
    scheduler.handle(new NodeRemovedSchedulerEvent(machine.node));
  }

  private void heartbeat(Machine machine, ObjectNode out) {
    List<ContainerStatus> launched = new ArrayList<>();
    machine.toLaunch.sort(null);
    for (ContainerId id : machine.toLaunch) {
      ScriptedApp app = known.get(id.getApplicationAttemptId().getApplicationId());
      if (scheduler.getRMContainer(id) != null) {
        launched.add(status(id, ContainerState.RUNNING));
        out.withArray("launched").addArray().add(app.number).add(app.number(id));
      }
    }
    List<ContainerStatus> completed = new ArrayList<>();
    machine.exited.sort(null);
    for (ContainerId id : machine.exited) {
      ScriptedApp app = known.get(id.getApplicationAttemptId().getApplicationId());
      completed.add(status(id, ContainerState.COMPLETE));
      out.withArray("exited").addArray().add(app.number).add(app.number(id));
    }
    machine.toLaunch.clear();
    machine.exited.clear();
    machine.reports(launched, completed);
    scheduler.handle(new NodeUpdateSchedulerEvent(machine.node));
  }

  private static ContainerStatus status(ContainerId id, ContainerState state) {
    return ContainerStatus.newInstance(id, state, "", ContainerExitStatus.SUCCESS);
  }

  private void attemptNode(Machine machine, ObjectNode out) {
    if (machine.state != NodeState.RUNNING) {
      out.put("skipped", "node is not running");
      return;
    }
    FiCaSchedulerNode node = scheduler.getNode(machine.id);
    CSAssignment assignment =
        scheduler.allocateContainersToNode(new SimpleCandidateNodeSet<>(node), false);
    out.put("assigned", proposed(assignment));
  }

  private void attemptPartition(JsonNode step, ObjectNode out) {
    String partition = step.path("partition").asText("");
    CSAssignment assignment = null;
    for (int i = 0; i < step.path("times").asInt(1); i++) {
      SimpleCandidateNodeSet<FiCaSchedulerNode> candidates = candidates(partition);
      if (candidates == null) {
        out.put("skipped", "no running node in the partition");
        return;
      }
      assignment = scheduler.allocateContainersToNode(candidates, false);
    }
    out.put("assigned", proposed(assignment));
  }

  /**
   * The running nodes that the scheduler lists for a partition, by name. A list may lack nodes that
   * lost their label, and hold nodes that got another one. One without a node of the partition counts
   * as empty.
   */
  private SimpleCandidateNodeSet<FiCaSchedulerNode> candidates(String partition) {
    List<FiCaSchedulerNode> listed = scheduler.getNodeTracker().getNodesPerPartition(partition);
    Map<NodeId, FiCaSchedulerNode> nodes = new TreeMap<>();
    boolean any = false;
    for (FiCaSchedulerNode node : listed == null ? List.<FiCaSchedulerNode>of() : listed) {
      if (node.getRMNode().getState() == NodeState.RUNNING) {
        nodes.put(node.getNodeID(), node);
        any |= node.getPartition().equals(partition);
      }
    }
    return any ? new SimpleCandidateNodeSet<>(nodes, partition) : null;
  }

  private boolean proposed(CSAssignment assignment) {
    return assignment != null && Resources.greaterThan(scheduler.getResourceCalculator(),
        scheduler.getClusterResource(), assignment.getResource(), Resources.none());
  }

  private void complete(JsonNode step, Integer number, ObjectNode out) {
    ScriptedApp app = apps.get(step.get("app").asInt());
    if (app == null || number == null || !app.handed.contains(number)) {
      out.put("skipped", "no such container");
      return;
    }
    ContainerId id = app.container(number);
    out.putArray("container").add(app.number).add(number);
    RMContainer container = scheduler.getRMContainer(id);
    scheduler.completedContainer(container, status(id, ContainerState.COMPLETE),
        RMContainerEventType.FINISHED);
    scheduler.getNode(container.getNodeId()).releaseContainer(id, true);
  }

  /** Ends an application: containers, then reservations, then itself. */
  private void finish(ScriptedApp app) {
    FiCaSchedulerApp attempt = scheduler.getApplicationAttempt(app.attempt);
    List<RMContainer> live = new ArrayList<>(attempt.getLiveContainers());
    live.sort(Comparator.comparing(RMContainer::getContainerId));
    live.forEach(container -> kill(container, SchedulerUtils.COMPLETED_APPLICATION));
    List<RMContainer> reserved = new ArrayList<>(attempt.getReservedContainers());
    reserved.sort(Comparator.comparing(RMContainer::getContainerId));
    reserved.forEach(container -> kill(container, "Application Complete"));
    scheduler.handle(new AppAttemptRemovedSchedulerEvent(app.attempt, RMAppAttemptState.FINISHED,
        false));
    scheduler.handle(new AppRemovedSchedulerEvent(app.id(), RMAppState.FINISHED));
    around.context.getRMApps().remove(app.id());
    apps.remove(app.number);
  }

  private void kill(RMContainer container, String why) {
    scheduler.completedContainer(container,
        SchedulerUtils.createAbnormalContainerStatus(container.getContainerId(), why),
        RMContainerEventType.KILL);
  }

  /** A container ended; one that ran keeps its space until its node reports it. */
  void ended(RMContainer container, boolean staysOnNode) {
    ContainerId id = container.getContainerId();
    ScriptedApp app = app(id.getApplicationAttemptId().getApplicationId());
    app.handed.remove(app.number(id));
    Machine machine = machines.get(container.getNodeId());
    if (machine != null && staysOnNode) {
      machine.exited.add(id);
    }
  }

  private void changePriority(JsonNode step, ObjectNode out) throws YarnException {
    ScriptedApp app = apps.get(step.get("app").asInt());
    if (app == null) {
      out.put("skipped", "no such application");
      return;
    }
    Priority changed = scheduler.updateApplicationPriority(
        Priority.newInstance(step.get("priority").asInt()), app.id(), SettableFuture.create(),
        UserGroupInformation.createRemoteUser(app.user));
    out.put("priority", changed.getPriority());
  }

  private void move(JsonNode step, ObjectNode out) {
    ScriptedApp app = apps.get(step.get("app").asInt());
    if (app == null) {
      out.put("skipped", "no such application");
      return;
    }
    String queue = step.get("queue").asText();
    try {
      scheduler.preValidateMoveApplication(app.id(), queue);
      scheduler.moveApplication(app.id(), queue);
      CSQueue target = scheduler.getQueue(queue);
      app.queue = target == null ? queue : target.getQueuePath();
      out.put("moved", true);
    } catch (YarnException refused) {
      out.put("moved", false);
      out.set("error", Errors.of(Errors.ofQueue(String.valueOf(refused.getMessage())), refused));
    }
  }

  private void reconfigure(JsonNode step, ObjectNode out) {
    Map<String, String> before = around.queues();
    Map<String, String> changed = new TreeMap<>(before);
    step.path("remove").forEach(key -> changed.remove(key.asText()));
    step.path("set").fields()
        .forEachRemaining(pair -> changed.put(pair.getKey(), pair.getValue().asText()));
    around.queues(changed);
    try {
      scheduler.reinitialize(around.conf, around.context);
      out.put("accepted", true);
    } catch (Exception refused) {
      around.queues(before);
      out.put("accepted", false);
      out.set("error", Errors.of("invalid_configuration", refused));
    }
    ObjectNode order = out.putObject("child_order");
    childOrder(scheduler.getRootQueue(), order);
  }

  /** Replaces the whole configuration file. */
  private void refresh(JsonNode step, ObjectNode out) {
    around.text(step.get("xml"));
    try {
      scheduler.reinitialize(around.conf, around.context);
      out.put("accepted", true);
      out.set("after", settings());
    } catch (Exception refused) {
      out.put("accepted", false);
      out.set("error", Errors.ofConfiguration(refused));
    }
  }

  /** The settings with what they came to on the nodes of now. */
  ObjectNode settings() {
    ObjectNode state = new StateWriter(scheduler, around.labels, amounts, apps.values()).write();
    state.remove("nodes");
    new SettingsWriter(scheduler, amounts).into(state);
    return state;
  }

  private static void childOrder(CSQueue queue, ObjectNode order) {
    if (queue.getChildQueues() == null || queue.getChildQueues().isEmpty()) {
      return;
    }
    ArrayNode names = order.putArray(queue.getQueuePath());
    queue.getChildQueues().forEach(child -> names.add(child.getQueueShortName()));
    queue.getChildQueues().forEach(child -> childOrder(child, order));
  }

  /** Carries out what the scheduler asked of the resource manager, in order. */
  void settle() {
    while (!around.events.isEmpty()) {
      Event<?> event = around.events.poll();
      if (event instanceof SchedulerEvent of) {
        scheduler.handle(of);
      } else if (event instanceof RMAppAttemptContainerFinishedEvent of) {
        containerFinished(of);
      } else if (event instanceof RMNodeResourceUpdateEvent of) {
        Machine machine = machines.get(of.getNodeId());
        if (machine != null) {
          machine.total = of.getResourceOption().getResource();
          scheduler.handle(
              new NodeResourceUpdateSchedulerEvent(machine.node, of.getResourceOption()));
        }
      } else if (event.getType() == RMAppAttemptEventType.CONTAINER_ALLOCATED) {
        ApplicationId id = ((RMAppAttemptEvent) event).getApplicationAttemptId().getApplicationId();
        startMaster(known.get(id));
      }
    }
  }

  private void containerFinished(RMAppAttemptContainerFinishedEvent event) {
    ContainerId id = event.getContainerStatus().getContainerId();
    ScriptedApp app = known.get(id.getApplicationAttemptId().getApplicationId());
    if (apps.get(app.number) != app) {
      return;
    }
    app.finished.add(app.number(id));
    if (app.master != null && app.master.getId().equals(id)) {
      lost.add(app.number);
      finish(app);
    }
  }

  private void startMaster(ScriptedApp app) {
    if (app.mayAsk() || apps.get(app.number) != app) {
      return;
    }
    List<Container> containers = scheduler.allocate(app.attempt, new ArrayList<>(), null,
        new ArrayList<>(), null, null, new ContainerUpdates()).getContainers();
    if (containers.isEmpty()) {
      return;
    }
    RMContainer container = scheduler.getRMContainer(containers.get(0).getId());
    if (container != null) {
      app.master = containers.get(0);
      ((RMContainerImpl) container).setAMContainer(true);
      handOver(app, app.master);
      started.add(app.number);
    }
  }

  /** A container reached its master, who launches it at once. */
  void handOver(ScriptedApp app, Container container) {
    app.handed.add(app.number(container.getId()));
    Machine machine = machines.get(container.getNodeId());
    if (machine != null) {
      machine.toLaunch.add(container.getId());
    }
  }

  void submitted(ScriptedApp app) {
    apps.put(app.number, app);
    known.put(app.id(), app);
  }

  ScriptedApp app(ApplicationId id) {
    return known.get(id);
  }

  RMContext context() {
    return around.context;
  }

  Collection<ScriptedApp> live() {
    return apps.values();
  }

  private void noteStages(ObjectNode out) {
    for (ScriptedApp app : apps.values()) {
      String stage = stageOf(scheduler.getApplicationAttempt(app.attempt));
      if (stage.equals("active") && !stage.equals(app.stage)) {
        out.withArray("activated").add(app.number);
      }
      if ("non_runnable".equals(app.stage) && !stage.equals(app.stage)) {
        out.withArray("made_runnable").add(app.number);
      }
      app.stage = stage;
    }
  }

  /** Where an application stands; a fair order may take in one that waits. */
  static String stageOf(FiCaSchedulerApp attempt) {
    AbstractLeafQueue leaf = (AbstractLeafQueue) attempt.getQueue();
    if (leaf.getApplications().contains(attempt)) {
      return "active";
    }
    return leaf.getPendingApplications().contains(attempt) ? "pending" : "non_runnable";
  }
}
