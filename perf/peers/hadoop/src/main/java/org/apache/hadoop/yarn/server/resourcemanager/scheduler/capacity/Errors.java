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
  };
  private static final String[][] REQUESTS = {
      {"permission to access all labels", "label_access"},
      {"cluster do not contain", "label_access"},
      {"label=", "label_access"},
      {"more than one node label", "label_expression"},
      {"specified node label expression in a resource", "label_on_location"},
      {"Cannot allocate containers as requested resource", "resource_out_of_range"},
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
