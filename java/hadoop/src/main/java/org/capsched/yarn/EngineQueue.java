package org.capsched.yarn;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;

/** A queue of the engine as the ResourceManager's records refer to it: name, metrics, access lists. */
final class EngineQueue implements Queue {
  private final EngineQueues directory;
  private final String path;
  private final EngineQueue parent;
  private final QueueMetrics metrics;
  private final ActiveUsersManager users;
  private volatile Map<QueueACL, AccessControlList> access = Collections.emptyMap();

  EngineQueue(EngineQueues directory, String path, EngineQueue parent, Configuration conf) {
    this.directory = directory;
    this.path = path;
    this.parent = parent;
    this.metrics = QueueMetrics.forQueue(path, parent, false, conf);
    this.users = new ActiveUsersManager(metrics);
    readAccess(conf);
  }

  /** Reads the access lists; a queue without one has that of its parent. */
  void readAccess(Configuration conf) {
    Map<QueueACL, AccessControlList> lists = new EnumMap<>(QueueACL.class);
    for (QueueACL acl : QueueACL.values()) {
      String key = "yarn.scheduler.capacity." + path + ".acl_" + acl.toString().toLowerCase();
      // Nobody by default but for the root, whose list admits everybody.
      String list = conf.get(key, parent == null ? "*" : " ");
      lists.put(acl, new AccessControlList(list));
    }
    access = lists;
  }

  String getQueuePath() {
    return path;
  }

  @Override
  public String getQueueName() {
    return path;
  }

  @Override
  public QueueMetrics getMetrics() {
    return metrics;
  }

  @Override
  public QueueInfo getQueueInfo(boolean includeChildQueues, boolean recursive) {
    return directory.infoOf(path, includeChildQueues, recursive);
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo(UserGroupInformation user) {
    List<QueueACL> allowed = new ArrayList<>();
    for (QueueACL acl : QueueACL.values()) {
      if (hasAccess(acl, user)) {
        allowed.add(acl);
      }
    }
    return Collections.singletonList(QueueUserACLInfo.newInstance(path, allowed));
  }

  /** As {@code ConfiguredYarnAuthorizer}: a list of the queue or of any above it admits the user. */
  @Override
  public boolean hasAccess(QueueACL acl, UserGroupInformation user) {
    AccessControlList list = access.get(acl);
    boolean admitted = list != null && list.isUserAllowed(user);
    return admitted || parent != null && parent.hasAccess(acl, user);
  }

  @Override
  public AbstractUsersManager getAbstractUsersManager() {
    return users;
  }

  /** The engine recovers its own books. */
  @Override
  public void recoverContainer(Resource cluster, SchedulerApplicationAttempt attempt,
      RMContainer container) {
  }

  /** Every label: the engine judges each ask by the queue's own list. */
  @Override
  public Set<String> getAccessibleNodeLabels() {
    return Collections.singleton("*");
  }

  @Override
  public String getDefaultNodeLabelExpression() {
    return null;
  }

  @Override
  public void incPendingResource(String label, Resource resource) {
  }

  @Override
  public void decPendingResource(String label, Resource resource) {
  }

  @Override
  public Priority getDefaultApplicationPriority() {
    return directory.defaultPriority(path);
  }

  @Override
  public void incReservedResource(String partition, Resource resource) {
  }

  @Override
  public void decReservedResource(String partition, Resource resource) {
  }
}
