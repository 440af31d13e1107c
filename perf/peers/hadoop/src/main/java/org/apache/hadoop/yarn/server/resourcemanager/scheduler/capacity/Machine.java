// A node as the resource manager knows it: its total, its state, and what it reports next.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.UpdatedContainerInfo;

/** One node. */
final class Machine {
  final NodeId id;
  final RMNode node;
  final String rack;
  Resource total;
  NodeState state = NodeState.RUNNING;
  /** Containers handed over since the last heartbeat. */
  final List<ContainerId> toLaunch = new ArrayList<>();
  /** Launched containers that were ended since the last heartbeat. */
  final List<ContainerId> exited = new ArrayList<>();
  private final RMContext context;
  private final Set<String> labels;
  private List<UpdatedContainerInfo> report = List.of();

  Machine(NodeId id, String rack, Resource total, Set<String> labels, RMContext context) {
    this.id = id;
    this.rack = rack;
    this.total = total;
    this.labels = labels;
    this.context = context;
    node = view();
  }

  /** Sets what the next heartbeat reports. */
  void reports(List<ContainerStatus> launched, List<ContainerStatus> completed) {
    report = List.of(new UpdatedContainerInfo(launched, completed, List.of()));
  }

  private RMNode view() {
    Class<?>[] kind = {RMNode.class};
    return (RMNode) Proxy.newProxyInstance(RMNode.class.getClassLoader(), kind,
        (self, method, arguments) -> switch (method.getName()) {
          case "getNodeID" -> id;
          case "getHostName" -> id.getHost();
          case "getCommandPort" -> id.getPort();
          case "getNodeAddress", "toString" -> id.toString();
          case "getHttpAddress" -> id.getHost() + ":8042";
          case "getTotalCapability", "getPhysicalResource" -> total;
          case "getRackName" -> rack;
          case "getState" -> state;
          case "getNodeLabels" -> labels;
          case "getRMContext" -> context;
          case "getContainersToCleanUp", "getAppsToCleanup", "getRunningApps",
              "pullNewlyIncreasedContainers" -> List.of();
          case "getAllNodeAttributes" -> Set.of();
          case "getAllocationTagsWithCount" -> java.util.Map.of();
          case "pullContainerUpdates" -> {
            List<UpdatedContainerInfo> pulled = report;
            report = List.of();
            yield pulled;
          }
          case "hashCode" -> id.hashCode();
          case "equals" -> self == arguments[0];
          default -> ScriptedApp.nothing(method.getReturnType());
        });
  }
}
