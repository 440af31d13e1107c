// An application as the resource manager knows it: submission, master, numbers of its containers.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;

/** One application. */
final class ScriptedApp {
  final int number;
  final ApplicationAttemptId attempt;
  final ApplicationSubmissionContext submission;
  final List<ResourceRequest> masterAsks;
  final String user;
  final RMApp app;
  /** Containers handed to the master and not ended. */
  final TreeSet<Integer> handed = new TreeSet<>();
  /** Containers of whose end the master does not know. */
  final TreeSet<Integer> finished = new TreeSet<>();
  /** The stage after the last step; nothing before the first. */
  String stage;
  String queue;
  Container master;
  private final Map<ContainerId, Integer> numbers = new HashMap<>();
  private final Map<Integer, ContainerId> ids = new TreeMap<>();
  private final RMAppAttempt current;
  private final RMAppAttemptMetrics metrics;
  /** No two applications share it. */
  private final long submitted = System.currentTimeMillis();

  ScriptedApp(int number, ApplicationSubmissionContext submission, String user, String queue,
      List<ResourceRequest> masterAsks, RMContext context) {
    this.number = number;
    this.submission = submission;
    this.user = user;
    this.queue = queue;
    this.masterAsks = masterAsks;
    attempt = ApplicationAttemptId.newInstance(submission.getApplicationId(), 1);
    metrics = new RMAppAttemptMetrics(attempt, context);
    current = attemptView();
    app = appView();
  }

  ApplicationId id() {
    return attempt.getApplicationId();
  }

  boolean unmanaged() {
    return submission.getUnmanagedAM();
  }

  boolean mayAsk() {
    return unmanaged() || master != null;
  }

  /** The number of a container, given at its first allocation or reservation. */
  int number(ContainerId id) {
    return numbers.computeIfAbsent(id, fresh -> {
      int next = numbers.size() + 1;
      ids.put(next, fresh);
      return next;
    });
  }

  ContainerId container(int of) {
    return ids.get(of);
  }

  /** The container at a position among those handed over, without the master's and these. */
  Integer nth(int position, List<Integer> without) {
    List<Integer> candidates = new ArrayList<>(handed);
    candidates.removeAll(without);
    if (master != null) {
      candidates.remove(numbers.get(master.getId()));
    }
    return candidates.isEmpty() ? null : candidates.get(position % candidates.size());
  }

  private RMAppAttempt attemptView() {
    Class<?>[] kind = {RMAppAttempt.class};
    return (RMAppAttempt) Proxy.newProxyInstance(RMAppAttempt.class.getClassLoader(), kind,
        (self, method, arguments) -> switch (method.getName()) {
          case "getMasterContainer" -> master;
          case "getAppAttemptId" -> attempt;
          case "getRMAppAttemptMetrics" -> metrics;
          case "getSubmissionContext" -> submission;
          case "getAppAttemptState", "getState" -> RMAppAttemptState.RUNNING;
          case "hashCode" -> System.identityHashCode(self);
          case "equals" -> self == arguments[0];
          default -> nothing(method.getReturnType());
        });
  }

  private RMApp appView() {
    Class<?>[] kind = {RMApp.class};
    Map<String, String> environment = new HashMap<>();
    return (RMApp) Proxy.newProxyInstance(RMApp.class.getClassLoader(), kind,
        (self, method, arguments) -> switch (method.getName()) {
          case "getApplicationId" -> id();
          case "getApplicationSubmissionContext" -> submission;
          case "getApplicationSchedulingEnvs" -> environment;
          case "getCurrentAppAttempt", "getRMAppAttempt" -> current;
          case "getAMResourceRequests" -> masterAsks;
          case "getQueue" -> queue;
          case "getUser" -> user;
          case "getSubmitTime", "getStartTime" -> submitted;
          case "getState" -> RMAppState.RUNNING;
          case "getApplicationTags" -> Collections.emptySet();
          case "getApplicationTimeouts" -> Collections.emptyMap();
          case "setQueue" -> {
            queue = (String) arguments[0];
            yield null;
          }
          case "hashCode" -> System.identityHashCode(self);
          case "equals" -> self == arguments[0];
          default -> nothing(method.getReturnType());
        });
  }

  /** What a method of this type returns when there is nothing to say. */
  static Object nothing(Class<?> type) {
    if (type == boolean.class) {
      return false;
    } else if (type == int.class) {
      return 0;
    } else if (type == long.class) {
      return 0L;
    } else if (type == float.class) {
      return 0f;
    }
    return null;
  }
}
