package org.capsched.yarn;

import java.io.IOException;
import java.util.Collections;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Applications and their asks in the form that the engine reads. */
final class Submissions {
  private static final Logger LOG = LoggerFactory.getLogger(Submissions.class);

  private Submissions() {
  }

  /** An application for the queue that it names. */
  static Request application(RMApp app, String user, String queue, Priority priority) {
    ApplicationSubmissionContext context = app.getApplicationSubmissionContext();
    ResourceRequest master = master(app);
    Request request = new Request().application(app.getApplicationId()).text(user).text(queue)
        .optional(priority, (to, wished) -> to.number(wished.getPriority()))
        .optional(master, (to, ask) -> to.amounts(ask.getCapability()))
        .optional(label(master == null ? null : master.getNodeLabelExpression()), Request::text)
        .optional(label(context.getNodeLabelExpression()), Request::text);
    boolean keeps = context.getKeepContainersAcrossApplicationAttempts()
        && !context.getUnmanagedAM();
    return request.texts(app.getApplicationTags()).flag(keeps);
  }

  private static ResourceRequest master(RMApp app) {
    List<ResourceRequest> requests = app.getAMResourceRequests();
    boolean unmanaged = app.getApplicationSubmissionContext().getUnmanagedAM();
    if (unmanaged || requests == null || requests.isEmpty()) {
      return null;
    }
    for (ResourceRequest request : requests) {
      if (ResourceRequest.isAnyLocation(request.getResourceName())) {
        return request;
      }
    }
    return requests.get(0);
  }

  /** The engine knows the defaults of queues: no label and an empty one are the same. */
  private static String label(String expression) {
    return expression == null || expression.isBlank() ? null : expression.trim();
  }

  /** The groups of a user, if anything in the configuration asks for them. */
  static List<String> groups(Configuration conf, String user) {
    String mappings = conf.get("yarn.scheduler.capacity.queue-mappings", "")
        + conf.get("yarn.scheduler.capacity.mapping-rule-json", "")
        + conf.get("yarn.scheduler.capacity.mapping-rule-json-file", "");
    boolean wanted = conf.getBoolean(YarnConfiguration.YARN_ACL_ENABLE, false)
        || mappings.contains("g:") || mappings.contains("group") || mappings.contains("/");
    if (!wanted) {
      return Collections.emptyList();
    }
    try {
      return Groups.getUserToGroupsMappingService(conf).getGroups(user);
    } catch (IOException error) {
      LOG.info("the groups of {} are not known: {}", user, error.toString());
      return Collections.emptyList();
    }
  }

  /** A call of an application. */
  static Request ask(EngineAttempt attempt, List<ResourceRequest> asks,
      List<SchedulingRequest> constrained, List<Integer> release, List<String> blacklistAdditions,
      List<String> blacklistRemovals, List<UpdateContainerRequest> updates) {
    return new Request().application(attempt.getApplicationId())
        .list(asks, Submissions::writeAsk)
        .list(constrained, Submissions::writeConstrained)
        .list(release, Request::number)
        .texts(blacklistAdditions).texts(blacklistRemovals)
        .list(updates, Submissions::writeUpdate);
  }

  /** A call of an application that changes containers and nothing else. */
  static Request change(EngineAttempt attempt, List<UpdateContainerRequest> updates) {
    return ask(attempt, null, null, null, null, null, updates);
  }

  private static void writeUpdate(Request to, UpdateContainerRequest update) {
    ContainerUpdateType type = update.getContainerUpdateType();
    to.number(Ids.numberOf(update.getContainerId())).number(update.getContainerVersion())
        .number(ContainerChange.numberOf(type));
    if (ContainerChange.isSized(type)) {
      to.amounts(update.getCapability());
    }
  }

  private static void writeAsk(Request to, ResourceRequest ask) {
    to.number(ask.getPriority().getPriority()).number(ask.getAllocationRequestId())
        .text(ask.getResourceName()).amounts(ask.getCapability()).number(ask.getNumContainers())
        .flag(ask.getRelaxLocality())
        .optional(label(ask.getNodeLabelExpression()), Request::text);
  }

  private static void writeConstrained(Request to, SchedulingRequest ask) {
    to.number(ask.getPriority().getPriority()).number(ask.getAllocationRequestId())
        .amounts(ask.getResourceSizing().getResources())
        .number(ask.getResourceSizing().getNumAllocations())
        .texts(ask.getAllocationTags())
        .optional(ask.getPlacementConstraint(), (request, constraint) ->
            request.text(constraint.toString()));
  }
}
