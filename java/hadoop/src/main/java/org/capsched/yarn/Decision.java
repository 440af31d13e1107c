package org.capsched.yarn;

import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;

/** Something that the engine decided. */
interface Decision {
  /** A container was placed. */
  record Allocated(EngineContainer container, NodeId node, Resource size, int priority,
      long requestId) implements Decision {
  }

  /** A container ended. */
  record Ended(EngineContainer container, String cause, boolean released, int exitStatus)
      implements Decision {
  }

  /** An application ended though nobody called for that. */
  record ApplicationEnded(ApplicationId application, String cause) implements Decision {
  }

  /** All decisions of an answer, in their order. */
  static List<Decision> readAll(Answer answer) {
    int length = answer.number();
    List<Decision> decisions = new ArrayList<>(length);
    for (int i = 0; i < length; i++) {
      decisions.add(read(answer));
    }
    return decisions;
  }

  private static Decision read(Answer answer) {
    byte kind = answer.kind();
    return switch (kind) {
      case 1 -> new Allocated(answer.container(), answer.node(), answer.amounts(),
          answer.number(), answer.longNumber());
      case 2 -> new Ended(answer.container(), answer.text(), answer.flag(), answer.number());
      case 3 -> new ApplicationEnded(answer.application(), answer.text());
      default -> throw new EngineException("answer", "there is no decision " + kind);
    };
  }
}
