package org.apache.hadoop.yarn.sls.scheduler;

import java.io.IOException;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.capsched.demo.Measures;
import org.capsched.yarn.CapschedScheduler;

/** capsched's scheduler under Hadoop's load simulator, which expects a wrapper of this form, measured at its two entries. */
public class SLSCapschedScheduler extends CapschedScheduler implements SchedulerWrapper {
  private final SLSSchedulerCommons commons = new SLSSchedulerCommons(this);
  private SLSRunner runner;

  @Override
  public void setConf(Configuration conf) {
    super.setConf(conf);
    // The simulator's own figures are those that it has for the Capacity Scheduler.
    commons.initMetrics(CapacityScheduler.class, conf);
  }

  @Override
  public Allocation allocate(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<SchedulingRequest> constrained, List<ContainerId> release, List<String> additions,
      List<String> removals, ContainerUpdates updates) {
    return commons.allocate(id, asks, constrained, release, additions, removals, updates);
  }

  @Override
  public Allocation allocatePropagated(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<SchedulingRequest> constrained, List<ContainerId> release, List<String> additions,
      List<String> removals, ContainerUpdates updates) {
    return Measures.THE.allocate(id, asks, () -> super.allocate(id, asks, constrained, release,
        additions, removals, updates));
  }

  @Override
  public void handle(SchedulerEvent event) {
    commons.handle(event);
  }

  @Override
  public void propagatedHandle(SchedulerEvent event) {
    Measures.THE.handle(event, () -> super.handle(event));
  }

  @Override
  public void serviceStop() throws Exception {
    commons.stopMetrics();
    super.serviceStop();
  }

  @Override
  public String getRealQueueName(String queue) throws YarnException {
    try {
      return getQueueInfo(queue, false, false).getQueuePath();
    } catch (IOException error) {
      throw new YarnException("Can't find the queue by the given name: " + queue, error);
    }
  }

  @Override
  public SchedulerMetrics getSchedulerMetrics() {
    return commons.getSchedulerMetrics();
  }

  @Override
  public Tracker getTracker() {
    return commons.getTracker();
  }

  @Override
  public void setSLSRunner(SLSRunner simulator) {
    runner = simulator;
  }

  @Override
  public SLSRunner getSLSRunner() {
    return runner;
  }
}
