package org.capsched.yarn;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** A container as the engine names it: its number counts within the attempt. */
record EngineContainer(ApplicationId application, int attempt, int number) {
  ApplicationAttemptId attemptId() {
    return ApplicationAttemptId.newInstance(application, attempt);
  }
}
