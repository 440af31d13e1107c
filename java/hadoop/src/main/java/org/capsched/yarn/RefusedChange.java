package org.capsched.yarn;

import org.apache.hadoop.yarn.api.records.ContainerUpdateType;

/** A change of a container that the engine refused, and YARN's word for the reason. */
record RefusedChange(int number, ContainerUpdateType type, String reason) {
  static RefusedChange read(Answer answer) {
    return new RefusedChange(answer.number(), ContainerChange.readType(answer), answer.text());
  }
}
