package org.capsched.yarn;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.function.BiConsumer;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;

/** Writes the bytes of a call, in the form that {@code java/native/src/wire.rs} describes. */
final class Request {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
  private final DataOutputStream out = new DataOutputStream(bytes);

  /** A writer that may fail, as those of streams in memory never do. */
  private interface Write {
    void run() throws IOException;
  }

  private Request write(Write write) {
    try {
      write.run();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return this;
  }

  byte[] bytes() {
    return bytes.toByteArray();
  }

  Request number(int number) {
    return write(() -> out.writeInt(number));
  }

  Request number(long number) {
    return write(() -> out.writeLong(number));
  }

  Request flag(boolean flag) {
    return write(() -> out.writeBoolean(flag));
  }

  Request blob(byte[] blob) {
    return write(() -> {
      out.writeInt(blob.length);
      out.write(blob);
    });
  }

  Request text(String text) {
    return blob(text.getBytes(StandardCharsets.UTF_8));
  }

  /** A value that may be missing. */
  <T> Request optional(T value, BiConsumer<Request, T> item) {
    flag(value != null);
    if (value != null) {
      item.accept(this, value);
    }
    return this;
  }

  /** A list; nothing counts as an empty one. */
  <T> Request list(Collection<T> items, BiConsumer<Request, T> item) {
    if (items == null) {
      return number(0);
    }
    number(items.size());
    for (T one : items) {
      item.accept(this, one);
    }
    return this;
  }

  Request texts(Collection<String> texts) {
    return list(texts, Request::text);
  }

  Request application(ApplicationId id) {
    return number(id.getClusterTimestamp()).number(id.getId());
  }

  Request container(ContainerId id) {
    ApplicationAttemptId attempt = id.getApplicationAttemptId();
    return application(attempt.getApplicationId())
        .number(attempt.getAttemptId()).number(Ids.numberOf(id));
  }

  Request node(NodeId node) {
    return text(node.getHost()).number(node.getPort());
  }

  Request amounts(Resource resource) {
    ResourceInformation[] types = resource.getResources();
    number(types.length);
    for (ResourceInformation type : types) {
      number(type.getValue());
    }
    return this;
  }
}
