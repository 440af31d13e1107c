// Rounds of the preemption policy, on a clock that the scenario moves.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;
import org.apache.hadoop.yarn.util.Clock;

/** The preemption policy of a stage. */
final class Rounds {
  private final Stage stage;
  private ProportionalCapacityPreemptionPolicy policy;
  private long now;

  Rounds(Stage stage) {
    this.stage = stage;
  }

  void advance(long ms) {
    now += ms;
  }

  /** One round; its verdicts take effect in ascending order, marks before kills. */
  void preempt(ObjectNode out) {
    if (!stage.context().getYarnConfiguration()
        .getBoolean("yarn.resourcemanager.scheduler.monitor.enable", false)) {
      return;
    }
    if (policy == null) {
      Clock clock = () -> now;
      policy = new ProportionalCapacityPreemptionPolicy(stage.context(), stage.scheduler, clock);
    }
    stage.settle();
    policy.editSchedule();
    List<ContainerPreemptEvent> verdicts = new ArrayList<>();
    List<Event<?>> others = new ArrayList<>();
    for (Event<?> event : stage.around.events) {
      if (event instanceof ContainerPreemptEvent verdict) {
        verdicts.add(verdict);
      } else {
        others.add(event);
      }
    }
    stage.around.events.clear();
    stage.around.events.addAll(others);
    verdicts.sort(Comparator.comparing(Rounds::isKill)
        .thenComparing(verdict -> verdict.getContainer().getContainerId()));
    for (ContainerPreemptEvent verdict : verdicts) {
      note(verdict, out);
      stage.scheduler.handle(verdict);
    }
  }

  private static boolean isKill(ContainerPreemptEvent verdict) {
    return verdict.getType() != SchedulerEventType.MARK_CONTAINER_FOR_PREEMPTION;
  }

  private void note(ContainerPreemptEvent verdict, ObjectNode out) {
    RMContainer container = verdict.getContainer();
    ScriptedApp app = stage.app(container.getApplicationAttemptId().getApplicationId());
    ArrayNode told = out.withArray(isKill(verdict) ? "kill" : "mark").addArray();
    told.add(app.number).add(app.number(container.getContainerId()));
    boolean plain = verdict.getType() == SchedulerEventType.MARK_CONTAINER_FOR_PREEMPTION
        || verdict.getType() == SchedulerEventType.MARK_CONTAINER_FOR_KILLABLE;
    if (!plain) {
      told.add(verdict.getType().toString());
    }
  }
}
