// The settings of the scheduler and of each queue, as recordings of configurations hold them.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.apache.hadoop.yarn.security.AccessType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.policy.QueueOrderingPolicy;

/** Writes what an accepted configuration came to. */
final class SettingsWriter {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private final CapacityScheduler scheduler;
  private final Amounts amounts;

  SettingsWriter(CapacityScheduler scheduler, Amounts amounts) {
    this.scheduler = scheduler;
    this.amounts = amounts;
  }

  /** Puts the settings into a state, beside what it holds of each queue. */
  void into(ObjectNode state) {
    state.set("scheduler", scheduler());
    for (JsonNode shown : state.get("queues")) {
      CSQueue queue = scheduler.getQueue(shown.get("path").asText());
      ((ObjectNode) shown).set("settings", queue(queue));
    }
  }

  private ObjectNode scheduler() {
    CapacitySchedulerConfiguration conf = scheduler.getConfiguration();
    ObjectNode out = JSON.objectNode();
    out.put("calculator", scheduler.getResourceCalculator().getClass().getSimpleName());
    out.set("minimum_allocation", amounts.write(scheduler.getMinimumResourceCapability()));
    out.set("maximum_allocation", amounts.write(scheduler.getMaximumResourceCapability()));
    out.put("legacy_queue_mode", conf.isLegacyQueueMode());
    out.put("assign_multiple", conf.getAssignMultipleEnabled());
    out.put("max_assign_per_heartbeat", conf.getMaxAssignPerHeartbeat());
    out.put("offswitch_per_heartbeat", conf.getOffSwitchPerHeartbeatLimit());
    out.put("maximum_system_applications", conf.getMaximumSystemApplications());
    out.put("asynchronous", conf.getScheduleAynschronously());
    out.put("lazy_preemption", conf.getLazyPreemptionEnabled());
    out.put("multi_node_placement", conf.getMultiNodePlacementEnabled());
    out.put("override_with_queue_mappings", conf.getOverrideWithQueueMappings());
    return out;
  }

  private ObjectNode queue(CSQueue queue) {
    AbstractCSQueue of = (AbstractCSQueue) queue;
    ObjectNode out = JSON.objectNode();
    out.put("class", of.getClass().getSimpleName());
    out.put("ordering", ordering(of));
    out.put("capacity_type", of.getCapacityConfigType().toString());
    out.set("configured_capacity", vectors(of, of::getConfiguredCapacityVector));
    out.set("configured_max_capacity", vectors(of, of::getConfiguredMaxCapacityVector));
    out.set("max_alloc", amounts.write(of.getMaximumAllocation()));
    limits(of, out);
    flag(out, "preemption_disabled", of.getPreemptionDisabled());
    flag(out, "intra_queue_preemption_disabled", of.getIntraQueuePreemptionDisabled());
    flag(out, "intra_queue_preemption_disabled_in_hierarchy",
        of.getIntraQueuePreemptionDisabledInHierarchy());
    String sorting = sortingPolicy(of);
    if (sorting != null && !sorting.isEmpty()) {
      out.put("multi_node_policy", sorting);
    }
    Map<String, Float> weights = weights(of.getUserWeights());
    if (!weights.isEmpty()) {
      ObjectNode all = out.putObject("user_weights");
      weights.forEach((user, weight) -> StateWriter.fraction(all, user, weight));
    }
    if (of.getAccessibleNodeLabels() != null && !of.getAccessibleNodeLabels().isEmpty()) {
      ArrayNode labels = out.putArray("accessible_labels");
      new TreeSet<>(of.getAccessibleNodeLabels()).forEach(labels::add);
    }
    if (of.getDefaultNodeLabelExpression() != null) {
      out.put("default_label", of.getDefaultNodeLabelExpression());
    }
    ObjectNode lists = out.putObject("acls");
    for (AccessType type : new AccessType[] {AccessType.SUBMIT_APP, AccessType.ADMINISTER_QUEUE}) {
      lists.put(type.toString(), of.getACLs().get(type).getAclString());
    }
    if (of instanceof AbstractLeafQueue leaf) {
      leaf(leaf, out);
    } else {
      creation((AbstractParentQueue) of, out);
    }
    return out;
  }

  private static String ordering(AbstractCSQueue queue) {
    if (queue instanceof AbstractLeafQueue leaf) {
      return leaf.getOrderingPolicy().getClass().getSimpleName();
    }
    QueueOrderingPolicy policy = ((AbstractParentQueue) queue).getQueueOrderingPolicy();
    return policy.getClass().getSimpleName() + " " + policy.getConfigName();
  }

  private static ObjectNode vectors(AbstractCSQueue queue,
      Function<String, QueueCapacityVector> of) {
    ObjectNode all = JSON.objectNode();
    for (String label : new TreeSet<>(queue.getConfiguredNodeLabels())) {
      all.put(label, String.valueOf(of.apply(label)));
    }
    return all;
  }

  private static void limits(AbstractCSQueue queue, ObjectNode out) {
    if (queue.getMaxParallelApps() != Integer.MAX_VALUE) {
      out.put("max_parallel_apps", queue.getMaxParallelApps());
    }
    if (queue.getMaximumApplicationLifetime() != -1) {
      out.put("max_lifetime", queue.getMaximumApplicationLifetime());
    }
    if (queue.getDefaultApplicationLifetime() != -1) {
      out.put("default_lifetime", queue.getDefaultApplicationLifetime());
    }
  }

  private static void leaf(AbstractLeafQueue leaf, ObjectNode out) {
    StateWriter.fraction(out, "user_limit", leaf.getUserLimit());
    StateWriter.fraction(out, "user_limit_factor", leaf.getUserLimitFactor());
    StateWriter.fraction(out, "max_am_percent", leaf.getMaxAMResourcePerQueuePercent());
    out.put("node_locality_delay", leaf.getNodeLocalityDelay());
    if (leaf.getRackLocalityAdditionalDelay() != -1) {
      out.put("rack_locality_additional_delay", leaf.getRackLocalityAdditionalDelay());
    }
    if (!leaf.getRackLocalityFullReset()) {
      out.put("rack_locality_full_reset", false);
    }
    if (!leaf.isReservationsContinueLooking()) {
      out.put("reservations_continue_looking", false);
    }
    int priority = leaf.getDefaultApplicationPriority().getPriority();
    if (priority != 0) {
      out.put("default_application_priority", priority);
    }
    if (leaf.getPriorityACLs() == null || leaf.getPriorityACLs().isEmpty()) {
      return;
    }
    ArrayNode groups = out.putArray("priority_acls");
    for (AppPriorityACLGroup group : leaf.getPriorityACLs()) {
      ObjectNode one = groups.addObject();
      one.put("acl", group.getACLList().getAclString());
      one.put("max", group.getMaxPriority().getPriority());
      if (group.getDefaultPriority() != null) {
        one.put("default", group.getDefaultPriority().getPriority());
      }
    }
  }

  private void creation(AbstractParentQueue parent, ObjectNode out) {
    // The method that answers this takes another type in each release.
    String key = CapacitySchedulerConfiguration.PREFIX + parent.getQueuePath()
        + ".auto-queue-creation-v2.enabled";
    if (!scheduler.getConfiguration().getBoolean(key, false)) {
      return;
    }
    out.put("auto_creation_v2", true);
    AutoCreatedQueueTemplate template = parent.getAutoCreatedQueueTemplate();
    if (template != null) {
      entries(out, "template", template.getTemplateProperties());
      entries(out, "leaf_template", template.getLeafOnlyProperties());
      entries(out, "parent_template", template.getParentOnlyProperties());
    }
  }

  private static void entries(ObjectNode out, String name, Map<String, String> all) {
    if (all != null && !all.isEmpty()) {
      ObjectNode into = out.putObject(name);
      new TreeMap<>(all).forEach(into::put);
    }
  }

  private static void flag(ObjectNode out, String name, boolean value) {
    if (value) {
      out.put(name, true);
    }
  }

  /** The method that answers this has another name in each release. */
  private static String sortingPolicy(AbstractCSQueue queue) {
    for (java.lang.reflect.Method method : AbstractCSQueue.class.getMethods()) {
      if (method.getName().matches("getMultiNodeSortingPolicy(Class)?Name")) {
        try {
          return (String) method.invoke(queue);
        } catch (ReflectiveOperationException other) {
          throw new IllegalStateException("another release of AbstractCSQueue", other);
        }
      }
    }
    throw new IllegalStateException("another release of AbstractCSQueue");
  }

  /** The class shows a weight by user alone. */
  @SuppressWarnings("unchecked")
  private static Map<String, Float> weights(UserWeights of) {
    try {
      java.lang.reflect.Field data = UserWeights.class.getDeclaredField("data");
      data.setAccessible(true);
      return new TreeMap<>((Map<String, Float>) data.get(of));
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("another release of UserWeights", other);
    }
  }
}
