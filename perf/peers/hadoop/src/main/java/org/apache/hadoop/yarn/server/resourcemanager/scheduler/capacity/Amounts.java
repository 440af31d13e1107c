// Resources as arrays of numbers in the order of a scenario's resource types.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.Resources;

/** The resource types of a scenario. */
final class Amounts {
  private final List<String> names = new ArrayList<>();

  Amounts(JsonNode types) {
    types.forEach(name -> names.add(name.asText()));
  }

  Resource read(JsonNode values) {
    Resource resource = Resource.newInstance(0, 0);
    for (int i = 0; i < values.size(); i++) {
      resource.setResourceValue(names.get(i), values.get(i).asLong());
    }
    return resource;
  }

  ArrayNode write(Resource resource) {
    ArrayNode values = JsonNodeFactory.instance.arrayNode();
    for (String name : names) {
      values.add(resource.getResourceValue(name));
    }
    return values;
  }

  boolean isNone(Resource resource) {
    return resource == null || Resources.equals(resource, Resources.none());
  }
}
