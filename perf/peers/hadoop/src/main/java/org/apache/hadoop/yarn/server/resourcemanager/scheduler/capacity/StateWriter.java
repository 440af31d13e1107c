// The state of the scheduler as recordings hold it.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;

/** Writes one state. */
final class StateWriter {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private final CapacityScheduler scheduler;
  private final RMNodeLabelsManager manager;
  private final Amounts amounts;
  private final Collection<ScriptedApp> apps;
  /** The default partition and all labels. */
  private final Set<String> labels = new TreeSet<>();

  StateWriter(CapacityScheduler scheduler, RMNodeLabelsManager manager, Amounts amounts,
      Collection<ScriptedApp> apps) {
    this.scheduler = scheduler;
    this.manager = manager;
    this.amounts = amounts;
    this.apps = apps;
    labels.add("");
    labels.addAll(manager.getClusterNodeLabelNames());
  }

  ObjectNode write() {
    ObjectNode state = JSON.objectNode();
    Resource cluster = scheduler.getClusterResource();
    state.set("cluster", amounts.write(cluster));
    if (labels.size() > 1) {
      ObjectNode partitions = state.putObject("partitions");
      for (String label : labels) {
        partitions.set(label, amounts.write(manager.getResourceByLabel(label, cluster)));
      }
    }
    queues(scheduler.getRootQueue(), state.putArray("queues"));
    ArrayNode nodes = state.putArray("nodes");
    Map<String, FiCaSchedulerNode> byName = new TreeMap<>();
    scheduler.getAllNodes().forEach(node -> byName.put(node.getNodeID().toString(), node));
    byName.values().forEach(node -> nodes.add(node(node)));
    ArrayNode live = state.putArray("apps");
    apps.forEach(app -> live.add(app(app)));
    return state;
  }

  private void queues(CSQueue queue, ArrayNode into) {
    into.add(queue(queue));
    if (queue.getChildQueues() != null) {
      queue.getChildQueues().forEach(child -> queues(child, into));
    }
  }

  private ObjectNode queue(CSQueue queue) {
    ObjectNode out = JSON.objectNode();
    boolean leaf = queue instanceof AbstractLeafQueue;
    out.put("path", queue.getQueuePath()).put("type", leaf ? "leaf" : "parent");
    if (queue instanceof AbstractCSQueue of && of.isDynamicQueue()) {
      out.put("dynamic", true);
    }
    if (queue.getState() != QueueState.RUNNING) {
      out.put("state", queue.getState().toString());
    }
    if (queue.getPriority().getPriority() != 0) {
      out.put("priority", queue.getPriority().getPriority());
    }
    if (leaf) {
      leaf((AbstractLeafQueue) queue, out);
    } else {
      out.put("num_apps", queue.getNumApplications());
    }
    ObjectNode parts = out.putObject("labels");
    for (String label : labels) {
      if (isShown(queue, label)) {
        parts.set(label, partition(queue, label, leaf));
      }
    }
    return out;
  }

  private boolean isShown(CSQueue queue, String label) {
    ResourceUsage usage = queue.getQueueResourceUsage();
    return queue.getQueueCapacities().getExistingNodeLabels().contains(label)
        || !amounts.isNone(usage.getUsed(label)) || !amounts.isNone(usage.getPending(label));
  }

  private void leaf(AbstractLeafQueue leaf, ObjectNode out) {
    out.put("active_apps", leaf.getNumActiveApplications());
    out.put("pending_apps", leaf.getNumPendingApplications());
    if (leaf.getNumNonRunnableApps() > 0) {
      out.put("non_runnable_apps", leaf.getNumNonRunnableApps());
    }
    out.put("max_apps", leaf.getMaxApplications());
    out.put("max_apps_per_user", leaf.getMaxApplicationsPerUser());
    out.set("max_alloc", amounts.write(leaf.getMaximumAllocation()));
    out.put("num_active_users", leaf.getUsersManager().getNumActiveUsers());
    ObjectNode users = out.putObject("users");
    new TreeMap<>(leaf.getUsersManager().getUsers())
        .forEach((name, user) -> users.set(name, user(user)));
  }

  private ObjectNode user(UsersManager.User user) {
    ObjectNode out = JSON.objectNode();
    out.set("used", byLabel(user::getUsed));
    out.set("am_used", byLabel(user::getConsumedAMResources));
    fraction(out, "weight", user.getWeight());
    out.put("active_apps", user.getActiveApplications());
    out.put("pending_apps", user.getPendingApplications());
    amount(out, "last_limit", user.getUserResourceLimit());
    return out;
  }

  private ObjectNode partition(CSQueue queue, String label, boolean leaf) {
    ObjectNode out = JSON.objectNode();
    QueueCapacities capacities = queue.getQueueCapacities();
    fraction(out, "cap", capacities.getCapacity(label));
    fraction(out, "abs_cap", capacities.getAbsoluteCapacity(label));
    fraction(out, "max_cap", capacities.getMaximumCapacity(label));
    fraction(out, "abs_max_cap", capacities.getAbsoluteMaximumCapacity(label));
    fraction(out, "used_cap", capacities.getUsedCapacity(label));
    fraction(out, "abs_used_cap", capacities.getAbsoluteUsedCapacity(label));
    float weight = capacities.getWeight(label);
    float normalized = capacities.getNormalizedWeight(label);
    if (weight != -1 || normalized != 0) {
      fraction(out, "weight", weight);
      fraction(out, "norm_weight", normalized);
    }
    out.set("eff_min",
        amounts.write(queue.getQueueResourceQuotas().getEffectiveMinResource(label)));
    out.set("eff_max",
        amounts.write(queue.getQueueResourceQuotas().getEffectiveMaxResource(label)));
    ResourceUsage usage = queue.getQueueResourceUsage();
    amount(out, "used", usage.getUsed(label));
    amount(out, "reserved", usage.getReserved(label));
    amount(out, "pending", usage.getPending(label));
    if (leaf) {
      amount(out, "am_used", usage.getAMUsed(label));
      amount(out, "am_limit", usage.getAMLimit(label));
      amount(out, "user_am_limit", usage.getUserAMLimit(label));
    }
    return out;
  }

  private ObjectNode node(FiCaSchedulerNode node) {
    ObjectNode out = JSON.objectNode();
    out.put("node", node.getNodeID().toString());
    if (!node.getPartition().isEmpty()) {
      out.put("partition", node.getPartition());
    }
    out.set("total", amounts.write(node.getTotalResource()));
    out.set("allocated", amounts.write(node.getAllocatedResource()));
    out.set("available", amounts.write(node.getUnallocatedResource()));
    out.put("containers", node.getNumContainers());
    if (node.getReservedContainer() != null) {
      out.set("reserved", pair(node.getReservedContainer()));
    }
    Collection<RMContainer> killable = node.getKillableContainers().values();
    if (!killable.isEmpty()) {
      ArrayNode all = out.putArray("killable");
      killable.stream().map(this::pair).sorted(PAIRS).forEach(all::add);
    }
    return out;
  }

  private static final Comparator<ArrayNode> PAIRS =
      Comparator.<ArrayNode>comparingInt(pair -> pair.get(0).asInt())
          .thenComparingInt(pair -> pair.get(1).asInt());

  private ArrayNode pair(RMContainer container) {
    for (ScriptedApp app : apps) {
      if (app.attempt.equals(container.getApplicationAttemptId())) {
        return JSON.arrayNode().add(app.number).add(app.number(container.getContainerId()));
      }
    }
    return JSON.arrayNode();
  }

  private ObjectNode app(ScriptedApp app) {
    FiCaSchedulerApp attempt = scheduler.getApplicationAttempt(app.attempt);
    ResourceUsage usage = attempt.getAppAttemptResourceUsage();
    ObjectNode out = JSON.objectNode();
    out.put("app", app.number).put("state", Stage.stageOf(attempt));
    out.put("queue", ((CSQueue) attempt.getQueue()).getQueuePath());
    out.put("priority", attempt.getPriority().getPriority());
    out.set("pending", byLabel(usage::getPending));
    out.set("used", byLabel(usage::getUsed));
    ObjectNode reserved = byLabel(usage::getReserved);
    if (!reserved.isEmpty()) {
      out.set("reserved", reserved);
    }
    ArrayNode live = out.putArray("live");
    attempt.getLiveContainers().stream().map(of -> app.number(of.getContainerId())).sorted()
        .forEach(live::add);
    List<RMContainer> waiting = attempt.getReservedContainers();
    if (!waiting.isEmpty()) {
      Map<Integer, String> places = new TreeMap<>();
      waiting.forEach(
          of -> places.put(app.number(of.getContainerId()), of.getReservedNode().toString()));
      ArrayNode all = out.putArray("reserved_containers");
      places.forEach((number, node) -> all.addArray().add(number).add(node));
    }
    return out;
  }

  private ObjectNode byLabel(Function<String, Resource> of) {
    ObjectNode out = JSON.objectNode();
    labels.forEach(label -> amount(out, label, of.apply(label)));
    return out;
  }

  private void amount(ObjectNode out, String name, Resource resource) {
    if (!amounts.isNone(resource)) {
      out.set(name, amounts.write(resource));
    }
  }

  static void fraction(ObjectNode out, String name, float value) {
    if (Float.isFinite(value)) {
      out.put(name, value);
    } else {
      out.put(name, String.valueOf(value));
    }
  }
}
