// Groups of users as a recording lists them.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.GroupMappingServiceProvider;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;

/** The source of groups for the whole process. */
public final class ScriptedGroups implements GroupMappingServiceProvider {
  private static final Map<String, List<String>> GROUPS = new HashMap<>();
  /** The user of this process, which no recording names. */
  private static final String SELF = "judge";

  /** From now on users have these groups; others have none. */
  static void use(JsonNode groups, Configuration conf) {
    GROUPS.clear();
    groups.fields().forEachRemaining(pair -> {
      List<String> names = new ArrayList<>();
      pair.getValue().forEach(name -> names.add(name.asText()));
      GROUPS.put(pair.getKey(), names);
    });
    conf.setClass("hadoop.security.group.mapping", ScriptedGroups.class,
        GroupMappingServiceProvider.class);
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(conf);
    UserGroupInformation.reset();
    UserGroupInformation.setConfiguration(conf);
    UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser(SELF));
  }

  @Override
  public List<String> getGroups(String user) {
    return GROUPS.getOrDefault(user, List.of());
  }

  @Override
  public Set<String> getGroupsSet(String user) {
    return new LinkedHashSet<>(getGroups(user));
  }

  @Override
  public void cacheGroupsRefresh() {
    // Nothing is kept.
  }

  @Override
  public void cacheGroupsAdd(List<String> groups) {
    // Nothing is kept.
  }
}
