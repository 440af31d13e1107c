package org.capsched.yarn;

import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * The engine: calls that cross to native code. Calls may come from any number of threads. What the engine refuses is an
 * {@link EngineException}, and so is a call after {@link #stop}.
 */
final class NativeEngine {
  /** Path of the native library; by default it is looked for as {@code System.loadLibrary} does. */
  static final String LIBRARY = "yarn.scheduler.capsched.native-library";

  // The numbers of `Call` in java/native/src/calls.rs.
  private static final int STOP = 0;
  private static final int REFRESH = 1;
  private static final int REGISTER_NODE = 2;
  private static final int REMOVE_NODE = 3;
  private static final int UPDATE_NODE = 4;
  private static final int HEARTBEAT = 5;
  private static final int SUBMIT = 6;
  private static final int RECOVER = 7;
  private static final int FINISH_APP = 8;
  private static final int ASK = 9;
  private static final int KILL_CONTAINER = 11;
  private static final int EVENTS = 12;
  private static final int AWAIT_EVENTS = 13;
  private static final int QUEUES = 14;
  private static final int QUEUE = 15;
  private static final int CHANGE_PRIORITY = 16;
  private static final int MOVE_APP = 17;
  private static final int CONTAINER_EXITED = 18;
  private static final int END_ATTEMPT = 19;
  private static final int START_ATTEMPT = 20;

  private final long handle;

  /** What a node registers with. */
  record Recovered(List<EngineContainer> taken, List<EngineContainer> toStop) {
  }

  /** The answer to a call of an application. */
  record Reply(List<EngineContainer> allocated, List<Integer> askedBack, List<Integer> unknown,
      Resource headroom, List<ContainerChange> changes, List<RefusedChange> refused) {
  }

  /** A queue as it is now; fractions are those of the default partition. */
  record QueueFigures(String path, boolean leaf, String state, float capacity, float maximum,
      float absolute, float absoluteMaximum, float used, List<Long> pending,
      List<Long> maximumAllocation, int applications) {
  }

  private NativeEngine(long handle) {
    this.handle = handle;
  }

  private static native byte[] start(byte[] request);

  private static native byte[] call(long handle, int call, byte[] request);

  /** Loads the library and starts an engine; {@code warnings} gets those of its configuration. */
  static NativeEngine start(Configuration conf, Request request, List<String> warnings) {
    load(conf.get(LIBRARY));
    Answer answer = new Answer(start(request.bytes()));
    NativeEngine engine = new NativeEngine(answer.longNumber());
    warnings.addAll(answer.list(Answer::text));
    return engine;
  }

  private static void load(String library) {
    try {
      if (library == null) {
        System.loadLibrary("capsched_java");
      } else {
        System.load(library);
      }
    } catch (UnsatisfiedLinkError error) {
      String text = "the native library of the scheduler cannot be loaded: " + error.getMessage()
          + "; set " + LIBRARY + " to its absolute path";
      throw (EngineException) new EngineException("library", text).initCause(error);
    }
  }

  private Answer call(int call, Request request) {
    return new Answer(call(handle, call, request.bytes()));
  }

  /** Ends the engine. */
  void stop() {
    call(STOP, new Request());
  }

  /** Takes over another configuration, as a whole or not at all; returns warnings. */
  List<String> refresh(Request files) {
    return call(REFRESH, files).list(Answer::text);
  }

  Recovered registerNode(Request node) {
    Answer answer = call(REGISTER_NODE, node);
    return new Recovered(answer.list(Answer::container), answer.list(Answer::container));
  }

  void removeNode(NodeId node) {
    call(REMOVE_NODE, new Request().node(node));
  }

  void updateNode(Request node) {
    call(UPDATE_NODE, node);
  }

  /** A node reports; in heartbeat mode it is scheduled. */
  void heartbeat(NodeId node, List<ContainerId> launched, List<ContainerId> exited) {
    call(HEARTBEAT, new Request().node(node)
        .list(launched, Request::container).list(exited, Request::container));
  }

  /** Submits an application; returns the path of its queue. */
  String submit(Request submission) {
    return call(SUBMIT, submission).text();
  }

  /** Takes over an application, or starts another attempt of it; returns the path of its queue. */
  String recover(Request submission) {
    return call(RECOVER, submission).text();
  }

  void finishApp(ApplicationId application) {
    call(FINISH_APP, new Request().application(application));
  }

  Reply ask(Request request) {
    Answer answer = call(ASK, request);
    return new Reply(answer.list(Answer::container), answer.list(Answer::number),
        answer.list(Answer::number), answer.amounts(), answer.list(ContainerChange::read),
        answer.list(RefusedChange::read));
  }

  boolean containerExited(ContainerId container, int status) {
    return call(CONTAINER_EXITED, new Request().container(container).number(status)).flag();
  }

  /** Ends the attempt of an application, which keeps the containers that run. */
  void endAttempt(ApplicationId application) {
    call(END_ATTEMPT, new Request().application(application));
  }

  /** Starts the next attempt of an application; returns its number. */
  int startAttempt(ApplicationId application) {
    return call(START_ATTEMPT, new Request().application(application)).number();
  }

  boolean killContainer(ContainerId container) {
    return call(KILL_CONTAINER, new Request().container(container)).flag();
  }

  /** The decisions since the last call, in their order. */
  List<Decision> events() {
    return Decision.readAll(call(EVENTS, new Request()));
  }

  /** Waits for decisions without taking them; whether the engine runs. */
  boolean awaitEvents(long milliseconds) {
    return call(AWAIT_EVENTS, new Request().number(milliseconds)).flag();
  }

  List<String> queues() {
    return call(QUEUES, new Request()).list(Answer::text);
  }

  /** One queue by its path or unambiguous name; nothing when there is none. */
  QueueFigures queue(String name) {
    Answer answer = call(QUEUE, new Request().text(name));
    if (!answer.flag()) {
      return null;
    }
    return new QueueFigures(answer.text(), answer.flag(), answer.text(), answer.fraction(),
        answer.fraction(), answer.fraction(), answer.fraction(), answer.fraction(),
        answer.list(Answer::longNumber), answer.list(Answer::longNumber), answer.number());
  }

  int changePriority(ApplicationId application, int priority) {
    return call(CHANGE_PRIORITY, new Request().application(application).number(priority)).number();
  }

  /** Moves an application; returns the path of its new queue. */
  String moveApp(ApplicationId application, String queue) {
    return call(MOVE_APP, new Request().application(application).text(queue)).text();
  }
}
