package org.capsched.yarn;

import org.apache.hadoop.yarn.api.records.ContainerId;

/**
 * Numbers of containers. YARN puts the epoch of the ResourceManager above the number that counts within the attempt; the
 * engine knows the latter alone.
 */
final class Ids {
  private static final int EPOCH_SHIFT = 40;

  private Ids() {
  }

  /** The number within the attempt. */
  static int numberOf(ContainerId id) {
    return (int) (id.getContainerId() & Integer.MAX_VALUE);
  }

  /** The id that a new container gets. */
  static ContainerId newId(EngineContainer container, long epoch) {
    return ContainerId.newContainerId(container.attemptId(),
        (epoch << EPOCH_SHIFT) | container.number());
  }
}
