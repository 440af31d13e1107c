package org.capsched.demo;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.LongAdder;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;

/**
 * What a scheduler costs, measured from outside in the same way whichever it is: time and CPU in its two entries, {@code handle}
 * and {@code allocate}, and how long containers are waited for.
 */
public final class Measures {
  /** Those of the only scheduler of this process. */
  public static final Measures THE = new Measures();

  private final LongAdder heartbeats = new LongAdder();
  private final LongAdder heartbeatNs = new LongAdder();
  private final LongAdder otherNs = new LongAdder();
  private final LongAdder calls = new LongAdder();
  private final LongAdder callNs = new LongAdder();
  /** CPU of the calling threads in both entries. */
  private final LongAdder cpuNs = new LongAdder();
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final LongAdder containers = new LongAdder();
  private final Map<String, Deque<Long>> waiting = new HashMap<>();
  private final List<Double> delaysMs = new ArrayList<>();

  private Measures() {
  }

  /** Runs what handles an event. */
  public void handle(SchedulerEvent event, Runnable work) {
    boolean heartbeat = event.getType() == SchedulerEventType.NODE_UPDATE;
    long cpu = threads.getCurrentThreadCpuTime();
    long begin = System.nanoTime();
    work.run();
    long time = System.nanoTime() - begin;
    cpuNs.add(threads.getCurrentThreadCpuTime() - cpu);
    if (heartbeat) {
      heartbeats.increment();
      heartbeatNs.add(time);
    } else {
      otherNs.add(time);
    }
  }

  /** Runs a call of an application. */
  public Allocation allocate(ApplicationAttemptId id, List<ResourceRequest> asks,
      Callable<Allocation> work) {
    noteAsks(id, asks, System.nanoTime());
    long cpu = threads.getCurrentThreadCpuTime();
    long begin = System.nanoTime();
    Allocation allocation;
    try {
      allocation = work.call();
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
    long end = System.nanoTime();
    cpuNs.add(threads.getCurrentThreadCpuTime() - cpu);
    calls.increment();
    callNs.add(end - begin);
    noteContainers(id, allocation, end);
    return allocation;
  }

  /** An ask replaces the one before: what it adds waits from now on. */
  private synchronized void noteAsks(ApplicationAttemptId id, List<ResourceRequest> asks, long now) {
    if (asks == null) {
      return;
    }
    for (ResourceRequest ask : asks) {
      if (ResourceRequest.isAnyLocation(ask.getResourceName())) {
        Deque<Long> since = waiting.computeIfAbsent(id + "/" + ask.getPriority(),
            key -> new ArrayDeque<>());
        while (since.size() < ask.getNumContainers()) {
          since.addLast(now);
        }
        while (since.size() > ask.getNumContainers()) {
          since.removeLast();
        }
      }
    }
  }

  private synchronized void noteContainers(ApplicationAttemptId id, Allocation allocation, long now) {
    if (allocation == null) {
      return;
    }
    for (Container container : allocation.getContainers()) {
      containers.increment();
      Deque<Long> since = waiting.get(id + "/" + container.getPriority());
      Long begin = since == null ? null : since.pollFirst();
      if (begin != null) {
        delaysMs.add((now - begin) / 1e6);
      }
    }
  }

  long containers() {
    return containers.sum();
  }

  long heartbeats() {
    return heartbeats.sum();
  }

  double heartbeatSeconds() {
    return heartbeatNs.sum() / 1e9;
  }

  double otherSeconds() {
    return otherNs.sum() / 1e9;
  }

  long calls() {
    return calls.sum();
  }

  double callSeconds() {
    return callNs.sum() / 1e9;
  }

  double cpuSeconds() {
    return cpuNs.sum() / 1e9;
  }

  /** The delay that so large a part of the containers stayed below, in ms; nothing when there was none. */
  synchronized Double delay(double part) {
    if (delaysMs.isEmpty()) {
      return null;
    }
    List<Double> sorted = new ArrayList<>(delaysMs);
    Collections.sort(sorted);
    int at = (int) Math.min(sorted.size() - 1L, Math.round(part * (sorted.size() - 1)));
    return sorted.get(at);
  }
}
