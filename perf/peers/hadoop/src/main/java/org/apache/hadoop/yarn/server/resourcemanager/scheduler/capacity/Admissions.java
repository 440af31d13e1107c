// Submissions as the resource manager takes them, and questions about access.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.apache.hadoop.yarn.server.resourcemanager.RMAppManager;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.security.CapacityQueueACLsManager;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;
import org.apache.hadoop.yarn.util.Records;

/** One configuration, with submissions to it or questions about it. */
final class Admissions {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  /** The user that the resource manager runs as. */
  private static final String DAEMON = "yarn";
  private final JsonNode scenario;
  private final Configuration site;
  private final Amounts amounts;
  private final CapacityScheduler scheduler = new CapacityScheduler();
  private Surroundings around;
  private Manager manager;
  private ApplicationACLsManager applications;
  private int submitted;

  Admissions(JsonNode scenario) {
    this.scenario = scenario;
    site = Surroundings.site(scenario);
    amounts = new Amounts(scenario.get("resource_types"));
  }

  /** The manager of applications, which places and checks them. */
  private static final class Manager extends RMAppManager {
    Manager(Surroundings around, CapacityScheduler scheduler, ApplicationACLsManager acls) {
      super(around.context, scheduler, null, acls, around.conf);
    }

    void submit(ApplicationSubmissionContext context, UserGroupInformation user)
        throws YarnException {
      submitApplication(context, System.currentTimeMillis(), user);
    }
  }

  /** Fills in what happens. */
  void record(ObjectNode recording) throws Exception {
    ScriptedGroups.use(scenario.path("groups"), site);
    // Permissions and administrators live in one object of the whole process.
    YarnAuthorizationProvider.destroy();
    ObjectNode start = recording.putObject("start");
    try {
      around = new Surroundings(scenario, site, scheduler);
    } catch (Exception refused) {
      start.put("accepted", false);
      start.set("error", Errors.ofStart(refused));
      recording.putArray(recording.has("checks") ? "checks" : "submissions");
      return;
    }
    try {
      start.put("accepted", true);
      open();
      record(recording, "submissions");
      record(recording, "checks");
    } finally {
      around.close();
    }
  }

  private void open() throws Exception {
    // As AdminService: the daemon's own user is one of the administrators.
    AccessControlList admins = new AccessControlList(
        site.get("yarn.admin.acl", "*"));
    UserGroupInformation daemon = UserGroupInformation.createRemoteUser(DAEMON);
    admins.addUser(daemon.getShortUserName());
    YarnAuthorizationProvider.getInstance(site).setAdmins(admins, daemon);
    applications = new ApplicationACLsManager(site);
    manager = new Manager(around, scheduler, applications);
    for (JsonNode node : scenario.path("nodes")) {
      Set<String> labels = new HashSet<>();
      node.path("labels").forEach(label -> labels.add(label.asText()));
      Machine machine = new Machine(NodeId.fromString(node.get("node").asText()),
          "/default-rack", amounts.read(node.get("res")), labels, around.context);
      around.context.getRMNodes().put(machine.id, machine.node);
      scheduler.handle(new NodeAddedSchedulerEvent(machine.node));
    }
    around.events.clear();
  }

  private void record(ObjectNode recording, String list) throws Exception {
    if (!scenario.has(list)) {
      return;
    }
    ArrayNode answers = recording.putArray(list);
    for (JsonNode question : scenario.get(list)) {
      ObjectNode answered = question.deepCopy();
      answered.set("expect", answer(question));
      answers.add(answered);
    }
  }

  private ObjectNode answer(JsonNode question) throws Exception {
    if (question.has("refresh")) {
      return refresh(question.get("refresh"));
    }
    UserGroupInformation user =
        UserGroupInformation.createRemoteUser(question.get("user").asText());
    if (question.hasNonNull("real_user")) {
      user = UserGroupInformation.createProxyUser(user.getUserName(),
          UserGroupInformation.createRemoteUser(question.get("real_user").asText()));
    }
    ObjectNode out = JSON.objectNode();
    switch (question.path("check").asText("submit")) {
      case "submit" -> submit(question, user, out);
      case "queue_acl" -> out.put("allowed", scheduler.checkAccess(user,
          QueueACL.valueOf(question.get("acl").asText()), question.get("queue").asText()));
      case "modify_app" -> out.put("allowed", mayModify(question, user));
      case "cluster_admin" ->
          out.put("allowed", YarnAuthorizationProvider.getInstance(site).isAdmin(user));
      default -> throw new IllegalArgumentException("unknown check " + question);
    }
    return out;
  }

  /** Replaces the configuration file. */
  private ObjectNode refresh(JsonNode xml) {
    ObjectNode out = JSON.objectNode();
    around.text(xml);
    try {
      scheduler.reinitialize(around.conf, around.context);
      out.put("accepted", true);
    } catch (Exception refused) {
      out.put("accepted", false);
      out.set("error", Errors.ofConfiguration(refused));
    }
    around.events.clear();
    return out;
  }

  // As ClientRMService.checkAccess.
  private boolean mayModify(JsonNode question, UserGroupInformation user) {
    ApplicationId id = ApplicationId.newInstance(1, 1_000_000);
    String queue = question.get("queue").asText();
    Class<?>[] kind = {RMApp.class};
    RMApp app = (RMApp) Proxy.newProxyInstance(RMApp.class.getClassLoader(), kind,
        (self, method, arguments) -> switch (method.getName()) {
          case "getApplicationId" -> id;
          case "getQueue" -> queue;
          case "getName" -> "job";
          default -> ScriptedApp.nothing(method.getReturnType());
        });
    return applications.checkAccess(user, ApplicationAccessType.MODIFY_APP,
        question.get("owner").asText(), id)
        || new CapacityQueueACLsManager(scheduler, site).checkAccess(user,
            QueueACL.ADMINISTER_QUEUE, app, null, null);
  }

  private void submit(JsonNode job, UserGroupInformation user, ObjectNode out) throws IOException {
    submitted++;
    Set<String> before = paths();
    ApplicationSubmissionContext context = context(job);
    try {
      manager.submit(context, user);
    } catch (YarnException | RuntimeException refused) {
      refuse("resource manager", Errors.ofAdmission(refused), out);
      return;
    }
    RMApp app = around.context.getRMApps().get(context.getApplicationId());
    ApplicationPlacementContext placed = app.getApplicationPlacementContext();
    if (placed != null) {
      out.putObject("placed").put("queue", placed.getQueue())
          .put("parent", placed.getParentQueue());
    }
    out.put("queue_of_submission", context.getQueue());
    around.events.clear();
    scheduler.handle(new AppAddedSchedulerEvent(app.getUser(), context, false,
        app.getApplicationPriority(), placed));
    conclude(app, job, out);
    ArrayNode created = JSON.arrayNode();
    paths().stream().filter(path -> !before.contains(path)).forEach(created::add);
    if (!created.isEmpty()) {
      out.set("created", created);
    }
    around.events.clear();
  }

  private void conclude(RMApp app, JsonNode job, ObjectNode out) {
    for (Event<?> event : around.events) {
      if (event instanceof RMAppEvent of && of.getType() == RMAppEventType.APP_REJECTED) {
        around.context.getRMApps().remove(app.getApplicationId());
        ObjectNode error = JSON.objectNode();
        error.put("code", Errors.ofQueue(String.valueOf(of.getDiagnosticMsg())));
        refuse("scheduler", error.put("message", of.getDiagnosticMsg()), out);
        return;
      }
    }
    out.put("accepted", true);
    CSQueue leaf = (CSQueue) scheduler.getSchedulerApplications().get(app.getApplicationId())
        .getQueue();
    out.put("queue", leaf.getQueuePath());
    int priority = app.getApplicationPriority().getPriority();
    if (job.has("check") && priority != 0) {
      out.put("priority", priority);
    }
  }

  private static void refuse(String by, ObjectNode error, ObjectNode out) {
    out.put("accepted", false).put("refused_by", by);
    out.set("error", error);
  }

  private ApplicationSubmissionContext context(JsonNode job) {
    ApplicationSubmissionContext context = Records.newRecord(ApplicationSubmissionContext.class);
    context.setApplicationId(ApplicationId.newInstance(1, submitted));
    context.setApplicationName(job.path("name").asText("job"));
    context.setQueue(job.get("queue").asText());
    context.setResource(Resource.newInstance(1024, 1));
    context.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
    Set<String> tags = new HashSet<>();
    job.path("tags").forEach(tag -> tags.add(tag.asText()));
    context.setApplicationTags(tags);
    if (job.hasNonNull("priority")) {
      context.setPriority(Priority.newInstance(job.get("priority").asInt()));
    }
    return context;
  }

  private Set<String> paths() {
    Set<String> all = new TreeSet<>();
    List<CSQueue> open = new ArrayList<>(List.of(scheduler.getRootQueue()));
    while (!open.isEmpty()) {
      CSQueue queue = open.remove(open.size() - 1);
      all.add(queue.getQueuePath());
      if (queue.getChildQueues() != null) {
        open.addAll(queue.getChildQueues());
      }
    }
    return all;
  }
}
