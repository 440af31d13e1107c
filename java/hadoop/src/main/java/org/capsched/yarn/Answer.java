package org.capsched.yarn;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;

/** Reads the bytes that the engine answers with. A refusal becomes an {@link EngineException}. */
final class Answer {
  private static final byte DONE = 0;

  private final ByteBuffer in;

  Answer(byte[] bytes) {
    in = ByteBuffer.wrap(bytes);
    if (in.get() != DONE) {
      throw new EngineException(text(), text());
    }
  }

  byte kind() {
    return in.get();
  }

  int number() {
    return in.getInt();
  }

  long longNumber() {
    return in.getLong();
  }

  float fraction() {
    return in.getFloat();
  }

  boolean flag() {
    return in.get() != 0;
  }

  String text() {
    byte[] bytes = new byte[in.getInt()];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  <T> List<T> list(Function<Answer, T> item) {
    int length = in.getInt();
    List<T> items = new ArrayList<>(length);
    for (int i = 0; i < length; i++) {
      items.add(item.apply(this));
    }
    return items;
  }

  ApplicationId application() {
    return ApplicationId.newInstance(in.getLong(), in.getInt());
  }

  EngineContainer container() {
    return new EngineContainer(application(), in.getInt(), in.getInt());
  }

  NodeId node() {
    return NodeId.newInstance(text(), in.getInt());
  }

  Resource amounts() {
    Resource resource = Resource.newInstance(0, 0);
    ResourceInformation[] types = resource.getResources();
    int length = in.getInt();
    for (int i = 0; i < length; i++) {
      long value = in.getLong();
      if (i < types.length) {
        resource.setResourceValue(i, value);
      }
    }
    return resource;
  }
}
