// Words for what the scheduler refuses, from the kind and the text of its exceptions.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** The stable words of recordings. */
final class Errors {
  private static final String[][] SUBMISSIONS = {
      {"Maximum system application limit reached", "max_system_applications"},
      {"to ambiguous queue", "ambiguous_queue"},
      {"to unknown queue", "unknown_queue"},
      {"to non-leaf queue", "not_a_leaf"},
      {"is not a Leaf Queue", "not_a_leaf"},
      {"doesn't exist", "unknown_queue"},
      {" failed : ", "unknown_queue"},
      {"is STOPPED", "queue_stopped"},
      {"already has", "max_applications"},
      {"is prohibited. Verify automatic queue mapping", "auto_created_queue_without_mapping"},
      {"does not have permission to submit/update", "priority_acl"},
  };
  private static final String[][] REQUESTS = {
      {"permission to access all labels", "label_access"},
      {"satisfy following apps label expressions", "label_access"},
      {"cluster do not contain", "label_access"},
      {"label=", "label_access"},
      {"more than one node label", "label_expression"},
      {"specified node label expression in a resource", "label_on_location"},
      {"Cannot allocate containers as requested resource", "resource_out_of_range"},
  };
  /** Parts of texts with the words for them; the first that occurs counts. */
  private static final String[][] CONFIGURATIONS = {
      {"Fetch fail on include", "xml_include"},
      {"com.ctc.wstx.exc", "xml_syntax"},
      {"Variable substitution depth too large", "substitution_cycle"},
      {"Illegal capacity sum", "capacity_sum"},
      {"have children queue used mixed", "mixed_capacity_modes"},
      {"either percentage based capacity configuration or absolute", "mixed_capacity_modes"},
      {"When absolute minResource is used", "absolute_below_relative_parent"},
      {"is less than to its children", "children_exceed_parent"},
      {"missing child queue names", "root_without_children"},
      {"cannot be deleted from the capacity scheduler", "queue_not_stopped"},
      {"Can not convert the leaf queue", "queue_not_stopped"},
      {"Cannot convert auto create enabled parent queue", "queue_kind_change"},
      {"Can not convert the parent queue", "queue_kind_change"},
      {"maximum allocation size can not be decreased", "maximum_allocation_decreased"},
      {"is greater than parents max", "maximum_above_parent"},
      {"Min resource configuration", "minimum_above_maximum"},
      {"Only Leaf Queues can be reservable", "reservable_parent"},
      {"Invalid queue state configuration", "state_unknown"},
      {"No enum constant org.apache.hadoop.yarn.api.records.QueueState", "state_unknown"},
      {"cannot be STOPPED as the child queue", "state_of_parent"},
      {") for user \"", "user_weight"},
      {"can't exceed maximum lifetime", "lifetime"},
      {"is not a valid resource type/amount pair", "maximum_allocation_syntax"},
      {"cannot be larger than the cluster setting", "maximum_allocation"},
      {"Illegal call to setMaxCapacity", "maximum_capacity_out_of_range"},
      {"Acceptable units are M/G", "maximum_allocation_syntax"},
      {"Invalid resource scheduler", "scheduler_allocation_limits"},
      {"uses DefaultResourceCalculator which used only memory", "calculator_for_types"},
      {"ResourceCalculator not found", "calculator_class"},
      {"not org.apache.hadoop.yarn.util.resource.ResourceCalculator", "calculator_class"},
      {"MultiNodeLookupPolicy", "multi_node_policy"},
      {"AppPriorityACL", "priority_acl"},
      {"Illegal queue mapping format", "mapping_format"},
      {"Illegal queue mapping ", "mapping_syntax"},
      {"Illegal capacity of", "capacity_out_of_range"},
      {"For input string", "not_a_number"},
      {"NumberFormatException", "not_a_number"},
  };

  private static final String[][] ADMISSIONS = {
      {"rejected by a mapping rule", "mapping_rejected"},
      {"does not have permission to submit/update", "priority_acl"},
      {"does not have permission to submit", "submit_acl"},
  };
  private static final String[][] TARGETS = {
      {"No eligible parent found", "mapping_target"},
      {"is invalid", "mapping_target"},
      {"not a leaf queue", "mapping_target"},
      {"does not exist", "mapping_target"},
      {"is ambiguous", "mapping_target"},
  };

  private Errors() {
  }

  /** A configuration file that is refused, at the start or at a refresh. */
  static ObjectNode ofConfiguration(Throwable fault) {
    Throwable first = fault;
    while (first.getCause() != null && first.getCause() != first) {
      first = first.getCause();
    }
    String word = find(CONFIGURATIONS, classesAndTexts(fault), "other");
    if (word.equals("other")) {
      word = thrownBy(first);
    }
    ObjectNode error = of(word, fault);
    if (first != fault) {
      error.put("cause", first.getClass().getSimpleName());
      error.put("cause_message", String.valueOf(first.getMessage()));
    }
    return error;
  }

  /** The word for a fault whose text says nothing of its kind: who threw it does. */
  private static String thrownBy(Throwable first) {
    for (StackTraceElement frame : first.getStackTrace()) {
      if (frame.getClassName().contains("MappingRuleValidation")) {
        return "mapping_target";
      } else if (frame.getClassName().contains("MappingRuleCreator")) {
        return "mapping_json";
      } else if (frame.getClassName().contains("AppPriorityACL")) {
        return "priority_acl";
      }
    }
    return first instanceof ClassNotFoundException || first instanceof ClassCastException
        ? "ordering_policy" : "other";
  }

  private static String classesAndTexts(Throwable fault) {
    StringBuilder all = new StringBuilder();
    for (Throwable at = fault; at != null; at = at.getCause()) {
      all.append(at).append('\n');
    }
    return all.toString();
  }

  /** A refused start. */
  static ObjectNode ofStart(Throwable fault) {
    String text = texts(fault);
    String code = "other";
    if (text.contains("Illegal capacity sum")) {
      code = "capacity_sum";
    } else if (text.contains("have children queue used mixed")) {
      code = "mixed_capacity_modes";
    } else if (text.contains("Failed to initialize queues")) {
      code = find(TARGETS, text, "other");
    }
    return of(code, fault);
  }

  /** A submission that the resource manager refuses. */
  static ObjectNode ofAdmission(Throwable fault) {
    // Priorities of groups without a default end in a null pointer.
    String otherwise = fault instanceof NullPointerException ? "priority_acl" : "other";
    return of(find(ADMISSIONS, texts(fault), otherwise), fault);
  }

  /** A refused submission or move. */
  static String ofQueue(String text) {
    String request = find(REQUESTS, text, "");
    return request.isEmpty() ? find(SUBMISSIONS, text, "other") : request;
  }

  /** A refused call of an application. */
  static ObjectNode ofRequest(Throwable fault) {
    return of(find(REQUESTS, texts(fault), "scheduling_request"), fault);
  }

  static ObjectNode of(String code, Throwable fault) {
    ObjectNode error = JsonNodeFactory.instance.objectNode();
    error.put("code", code);
    error.put("class", fault.getClass().getSimpleName());
    error.put("message", String.valueOf(fault.getMessage()));
    return error;
  }

  private static String find(String[][] table, String text, String otherwise) {
    for (String[] row : table) {
      if (text.contains(row[0])) {
        return row[1];
      }
    }
    return otherwise;
  }

  private static String texts(Throwable fault) {
    StringBuilder all = new StringBuilder();
    for (Throwable at = fault; at != null; at = at.getCause()) {
      all.append(at.getMessage()).append('\n');
    }
    return all.toString();
  }
}
