package org.capsched.yarn;

import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;

/** An application, and whether the engine has an attempt of it that the ResourceManager has not added yet. */
final class EngineApplication extends SchedulerApplication<EngineAttempt> {
  private boolean submitted;

  EngineApplication(EngineQueue queue, String user, Priority priority, boolean unmanaged,
      boolean submitted) {
    super(queue, user, priority, unmanaged);
    this.submitted = submitted;
  }

  /** Whether the next attempt is the one that the submission began. */
  boolean takeSubmitted() {
    boolean taken = submitted;
    submitted = false;
    return taken;
  }
}
