package org.capsched.yarn;

import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Resource;

/** A container that the engine changed: its number within the attempt, its size and its version from now on. */
record ContainerChange(int number, ContainerUpdateType type, Resource size, int version) {
  // In the order of KINDS in java/native/src/records.rs.
  private static final ContainerUpdateType[] TYPES = {ContainerUpdateType.INCREASE_RESOURCE,
      ContainerUpdateType.DECREASE_RESOURCE, ContainerUpdateType.PROMOTE_EXECUTION_TYPE,
      ContainerUpdateType.DEMOTE_EXECUTION_TYPE};

  static ContainerChange read(Answer answer) {
    return new ContainerChange(answer.number(), readType(answer), answer.amounts(),
        answer.number());
  }

  static ContainerUpdateType readType(Answer answer) {
    int number = answer.number();
    if (number < 0 || number >= TYPES.length) {
      throw new EngineException("answer", "there is no change " + number);
    }
    return TYPES[number];
  }

  /** The number that stands for a type in a request. */
  static int numberOf(ContainerUpdateType type) {
    for (int number = 0; number < TYPES.length; number++) {
      if (TYPES[number] == type) {
        return number;
      }
    }
    throw new EngineException("request", "the change " + type + " is not known");
  }

  /** Whether a change of a type names a size. */
  static boolean isSized(ContainerUpdateType type) {
    return type == ContainerUpdateType.INCREASE_RESOURCE
        || type == ContainerUpdateType.DECREASE_RESOURCE;
  }

  /** How the container runs from now on. */
  ExecutionType executionType(ExecutionType before) {
    return switch (type) {
      case PROMOTE_EXECUTION_TYPE -> ExecutionType.GUARANTEED;
      case DEMOTE_EXECUTION_TYPE -> ExecutionType.OPPORTUNISTIC;
      default -> before;
    };
  }
}
