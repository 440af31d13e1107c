// Plays scenarios on the real Capacity Scheduler and prints what it did, in the form of the recordings.
//
// The classes of the judge lie in the scheduler's own package for what it shows to no other.

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.util.VersionInfo;

/**
 * The command: one scenario, set of submissions or set of checks per file, or with {@code --lines}
 * one per line of standard input.
 */
public final class Judge {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Whether what fails in Hadoop is printed with its stack; the recording names it in any case. */
  private static boolean traces;

  private Judge() {
  }

  public static void main(String[] arguments) throws IOException {
    // What Hadoop logs on standard output must not stand among the recordings.
    PrintStream out = System.out;
    System.setOut(System.err);
    quiet();
    traces = arguments.length == 2 && arguments[1].equals("--traces");
    if (arguments.length > 0 && arguments[0].equals("--lines")) {
      lines(out);
    } else if (arguments.length > 0) {
      for (String name : arguments) {
        shown(recorded(JSON.readTree(new File(name))), out);
      }
    } else {
      System.err.println("usage: run.sh --judge [VERSION] --lines [--traces] | SCENARIO.json...");
      System.exit(2);
    }
    // Threads that Hadoop started would keep the process.
    System.exit(0);
  }

  private static void lines(PrintStream out) throws IOException {
    BufferedReader in = new BufferedReader(
        new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (!line.isBlank()) {
        out.println(JSON.writeValueAsString(recorded(JSON.readTree(line))));
        out.flush();
      }
    }
  }

  /** The scenario with what the scheduler did under {@code expect}; a fault of the judge as error. */
  private static ObjectNode recorded(JsonNode scenario) {
    ObjectNode recording = scenario.deepCopy();
    recording.put("recorded_with", "Apache Hadoop " + VersionInfo.getVersion());
    try {
      if (scenario.has("submissions") || scenario.has("checks")) {
        new Admissions(scenario).record(recording);
      } else if (scenario.has("steps")) {
        steps(scenario, recording.putArray("steps"));
      } else {
        recording.set("expect", configuration(scenario));
      }
    } catch (Exception | LinkageError fault) {
      recording.put("fault", fault.toString());
      recording.put("fault_kind", kind(fault));
      if (traces) {
        fault.printStackTrace();
      }
    }
    return recording;
  }

  /** The innermost exception, and the method of Hadoop or of the judge that threw it. */
  private static String kind(Throwable fault) {
    Throwable first = fault;
    while (first.getCause() != null && first.getCause() != first) {
      first = first.getCause();
    }
    String name = first.getClass().getSimpleName();
    for (StackTraceElement frame : first.getStackTrace()) {
      String of = frame.getClassName();
      if (of.startsWith("org.apache.hadoop.")) {
        return name + " in " + of.substring(of.lastIndexOf('.') + 1) + "." + frame.getMethodName();
      }
    }
    return name;
  }

  /** The verdict on a configuration file, and what an accepted one comes to. */
  private static ObjectNode configuration(JsonNode scenario) throws Exception {
    ObjectNode expect = JSON.createObjectNode();
    Stage stage;
    try {
      stage = new Stage(scenario);
    } catch (Exception refused) {
      expect.put("accepted", false).set("error", Errors.ofConfiguration(refused));
      return expect;
    }
    try {
      for (JsonNode node : scenario.path("nodes")) {
        ObjectNode step = node.deepCopy();
        stage.step(step.put("do", "add_node"));
      }
      expect.put("accepted", true);
      expect.setAll(stage.settings());
      expect.remove("apps");
      return expect;
    } finally {
      stage.close();
    }
  }

  /** Plays the steps up to one at which the scheduler fails; a resource manager ends there too. */
  private static void steps(JsonNode scenario, ArrayNode steps) throws Exception {
    Stage stage;
    try {
      stage = new Stage(scenario);
    } catch (Exception refused) {
      ObjectNode expect = JSON.createObjectNode().put("accepted", false);
      expect.set("error", scenario.has("xml") ? Errors.ofConfiguration(refused)
          : Errors.ofStart(refused));
      steps.addObject().put("do", "start").set("expect", expect);
      return;
    }
    try {
      for (JsonNode step : scenario.get("steps")) {
        if (step.get("do").asText().equals("start")) {
          continue;
        }
        ObjectNode played = step.deepCopy();
        played.set("expect", stage.step(step));
        steps.add(played);
      }
    } finally {
      stage.close();
    }
  }

  /** Prints a recording with one step per line. */
  private static void shown(ObjectNode recording, PrintStream out) throws IOException {
    String list = recording.has("submissions") ? "submissions"
        : recording.has("checks") ? "checks" : "steps";
    JsonNode steps = recording.remove(list);
    String header = JSON.writeValueAsString(recording);
    out.println(header.substring(0, header.length() - 1) + ",\n\"" + list + "\": [");
    for (int i = 0; steps != null && i < steps.size(); i++) {
      out.println(JSON.writeValueAsString(steps.get(i)) + (i + 1 < steps.size() ? "," : ""));
    }
    out.println("]}");
    out.flush();
  }

  private static void quiet() {
    org.apache.log4j.Logger root = org.apache.log4j.Logger.getRootLogger();
    root.removeAllAppenders();
    root.addAppender(new org.apache.log4j.varia.NullAppender());
    root.setLevel(org.apache.log4j.Level.OFF);
  }
}
