package org.capsched.yarn;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.factory.providers.RecordFactoryProvider;

/** The queues of the engine, found by path or unambiguous name. */
final class EngineQueues {
  /** Figures of a queue are asked of the engine no more often. */
  private static final long FRESH_MS = 1000;
  private static final String PREFIX = "yarn.scheduler.capacity.";

  private final NativeEngine engine;
  private final Map<String, EngineQueue> byPath = new ConcurrentSkipListMap<>();
  private final Map<String, Shown> shown = new ConcurrentHashMap<>();
  private volatile Configuration conf;

  private record Shown(NativeEngine.QueueFigures figures, long atMs) {
  }

  EngineQueues(NativeEngine engine, Configuration conf) {
    this.engine = engine;
    this.conf = conf;
    takeOver();
  }

  /** Takes over another configuration, which the engine has. */
  void refresh(Configuration changed) {
    conf = changed;
    takeOver();
    byPath.values().forEach(queue -> queue.readAccess(changed));
  }

  private synchronized void takeOver() {
    shown.clear();
    List<String> paths = engine.queues();
    paths.forEach(this::at);
    byPath.keySet().retainAll(paths);
  }

  /** The queue of a path that the engine answered with; it may have been created by a submission. */
  synchronized EngineQueue at(String path) {
    EngineQueue known = byPath.get(path);
    if (known != null) {
      return known;
    }
    int dot = path.lastIndexOf('.');
    EngineQueue parent = dot < 0 ? null : at(path.substring(0, dot));
    EngineQueue queue = new EngineQueue(this, path, parent, conf);
    byPath.put(path, queue);
    return queue;
  }

  EngineQueue root() {
    return at("root");
  }

  Collection<EngineQueue> all() {
    return byPath.values();
  }

  /** A queue by path or unambiguous name; nothing when there is none. */
  EngineQueue find(String name) {
    EngineQueue queue = byPath.get(name);
    if (queue != null) {
      return queue;
    }
    NativeEngine.QueueFigures figures = figures(name);
    return figures == null ? null : at(figures.path());
  }

  NativeEngine.QueueFigures figures(String name) {
    long now = Time.monotonicNow();
    Shown last = shown.get(name);
    if (last == null || now - last.atMs > FRESH_MS) {
      NativeEngine.QueueFigures figures = engine.queue(name);
      if (figures == null) {
        shown.remove(name);
        return null;
      }
      last = new Shown(figures, now);
      shown.put(name, last);
    }
    return last.figures;
  }

  boolean isLeaf(String name) {
    NativeEngine.QueueFigures figures = figures(name);
    return figures != null && figures.leaf();
  }

  Priority defaultPriority(String path) {
    return Priority.newInstance(conf.getInt(PREFIX + path + ".default-application-priority", 0));
  }

  /** What clients see of a queue; nothing when there is none. */
  QueueInfo infoOf(String name, boolean children, boolean recursive) {
    NativeEngine.QueueFigures figures = figures(name);
    if (figures == null) {
      return null;
    }
    QueueInfo info = RecordFactoryProvider.getRecordFactory(null).newRecordInstance(QueueInfo.class);
    String path = figures.path();
    info.setQueueName(path.substring(path.lastIndexOf('.') + 1));
    info.setQueuePath(path);
    info.setCapacity(figures.capacity());
    info.setMaximumCapacity(figures.maximum());
    info.setCurrentCapacity(figures.used());
    info.setQueueState(QueueState.valueOf(figures.state()));
    info.setAccessibleNodeLabels(Collections.singleton("*"));
    info.setDefaultNodeLabelExpression(conf.get(PREFIX + path + ".default-node-label-expression"));
    info.setApplications(new ArrayList<>());
    info.setChildQueues(children ? childrenOf(path, recursive) : new ArrayList<>());
    return info;
  }

  private List<QueueInfo> childrenOf(String path, boolean recursive) {
    List<QueueInfo> infos = new ArrayList<>();
    for (String other : byPath.keySet()) {
      if (other.startsWith(path + ".") && other.indexOf('.', path.length() + 1) < 0) {
        QueueInfo info = infoOf(other, recursive, recursive);
        if (info != null) {
          infos.add(info);
        }
      }
    }
    return infos;
  }
}
