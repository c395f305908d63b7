package io.tensorflowignite.job;

import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** How things are written in messages. */
public final class Texts {
  private static final int SHORT_ID = 8;
  private static final int MAX_LISTED = 10;

  private Texts() {}

  public static String role(Role role) {
    return role.name().toLowerCase(Locale.ROOT);
  }

  public static String state(JobState state) {
    return state.name().toLowerCase(Locale.ROOT);
  }

  /** Enough of a node's id, or of a digest, to know it by. */
  public static String shortId(String id) {
    return id.length() <= SHORT_ID ? id : id.substring(0, SHORT_ID);
  }

  /** The first few of a list of numbers, and how many more there are. */
  static String some(List<Integer> numbers) {
    String shown =
        numbers.stream().limit(MAX_LISTED).map(String::valueOf).collect(Collectors.joining(", "));
    int more = numbers.size() - MAX_LISTED;
    return more > 0 ? shown + " and " + more + " more" : shown;
  }

  static String name(Task task) {
    return role(task.getRole()) + " " + task.getIndex();
  }
}
