package org.capsched.demo;

import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import com.google.gson.JsonObject;
import org.capsched.yarn.CapschedScheduler;

/**
 * Runs scenes on a ResourceManager with capsched's scheduler: {@code Demo WORK SETTINGS SCENE...}. Each prints a line of JSON
 * on standard output; logs go to standard error. Exit 0 when all succeed.
 */
public final class Demo {
  private Demo() {
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream results = System.out;
    System.setOut(System.err);
    Path work = Files.createDirectories(Path.of(arguments[0]).toAbsolutePath());
    Path settings = Path.of(arguments[1]).toAbsolutePath();
    List<String> scenes = Arrays.asList(arguments).subList(2, arguments.length);
    int exit = 2;
    String scheduler = System.getProperty("demo.scheduler", CapschedScheduler.class.getName());
    try (Cluster cluster = new Cluster(work, settings, scheduler)) {
      exit = 0;
      for (String scene : scenes) {
        if (!show(new Scenes(cluster), scene, results)) {
          exit = 1;
        }
      }
    } catch (Exception error) {
      error.printStackTrace();
      exit = 2;
    }
    // Threads of Hadoop's own would keep the process.
    System.exit(exit);
  }

  private static boolean show(Scenes scenes, String scene, PrintStream results) {
    JsonObject line = new JsonObject();
    line.addProperty("scene", scene);
    long begin = System.nanoTime();
    boolean succeeded = true;
    String text;
    try {
      text = scenes.run(scene);
    } catch (Exception error) {
      error.printStackTrace();
      succeeded = false;
      text = error.toString();
    }
    line.addProperty("succeeded", succeeded);
    line.addProperty("seconds", (System.nanoTime() - begin) / 100_000_000L / 10.0);
    line.addProperty("text", text);
    results.println(line);
    results.flush();
    return succeeded;
  }
}
