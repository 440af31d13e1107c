package org.apache.hadoop.yarn.sls.scheduler;

import java.util.List;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.capsched.demo.Measures;

/** Hadoop's Capacity Scheduler under its load simulator, measured at its two entries. */
public class MeasuredCapacityScheduler extends SLSCapacityScheduler {
  @Override
  public Allocation allocatePropagated(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<SchedulingRequest> constrained, List<ContainerId> release, List<String> additions,
      List<String> removals, ContainerUpdates updates) {
    return Measures.THE.allocate(id, asks, () -> super.allocatePropagated(id, asks, constrained,
        release, additions, removals, updates));
  }

  @Override
  public void propagatedHandle(SchedulerEvent event) {
    Measures.THE.handle(event, () -> super.propagatedHandle(event));
  }
}
