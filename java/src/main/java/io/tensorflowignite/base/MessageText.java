package io.tensorflowignite.base;

import com.google.protobuf.ProtocolMessageEnum;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Names of roles, states, ids and tasks in messages. */
public final class MessageText {
  private static final int SHORT_ID = 8;
  private static final int MAX_LISTED = 10;
  private static final int MAX_CAUSES = 32;
  private static final int MAX_REASON = 300;
  private static final String UNSPECIFIED = "UNSPECIFIED";

  /** From the first bracket or line break on. */
  private static final Pattern DETAILS = Pattern.compile("(\\s*\\[|\\R).*", Pattern.DOTALL);

  /** The name of an exception before its message. */
  private static final Pattern PREFIX =
      Pattern.compile("(?:class )?\\b(?:[a-z_]\\w*\\.)+[A-Z][\\w$]*: ");

  /** A class with its package; the class remains. */
  private static final Pattern CLASS_NAME = Pattern.compile("\\b(?:[a-z_]\\w*\\.)+([A-Z][\\w$]*)");

  private MessageText() {}

  public static String role(Role role) {
    return name(role).toLowerCase(Locale.ROOT);
  }

  public static String state(JobState state) {
    return name(state).toLowerCase(Locale.ROOT);
  }

  /** A value of the contract's enums without its enum's prefix: WORKER for ROLE_WORKER. */
  public static <E extends Enum<E> & ProtocolMessageEnum> String name(E value) {
    String unspecified = value.getDescriptorForType().getValues().get(0).getName();
    String prefix = unspecified.substring(0, unspecified.length() - UNSPECIFIED.length());
    return value.name().startsWith(prefix) ? value.name().substring(prefix.length()) : value.name();
  }

  /** The first characters of a node's id or a digest. */
  public static String shortId(String id) {
    return id.length() <= SHORT_ID ? id : id.substring(0, SHORT_ID);
  }

  /** The first ten numbers of a list, and the count of the others. */
  public static String some(List<Integer> numbers) {
    String shown =
        numbers.stream().limit(MAX_LISTED).map(String::valueOf).collect(Collectors.joining(", "));
    int more = numbers.size() - MAX_LISTED;
    return more > 0 ? shown + " and " + more + " more" : shown;
  }

  /**
   * The reason that an exception of a library gives: the first line of its innermost message,
   * without class names and without the details that Ignite appends in brackets.
   */
  public static String reason(Throwable error) {
    Throwable cause = error;
    String text = "";
    for (int depth = 0; depth < MAX_CAUSES && error != null; depth++) {
      String message = String.valueOf(error.getMessage());
      String line = PREFIX.matcher(DETAILS.matcher(message).replaceFirst("")).replaceAll("");
      String plain = CLASS_NAME.matcher(line).replaceAll("$1").trim();
      cause = error;
      text = error.getMessage() == null || plain.isEmpty() ? text : plain;
      error = error.getCause();
    }
    // The classes of Java are known to readers.
    String name = cause.getClass().getName().startsWith("java.") ? simpleName(cause) + ": " : "";
    String reason = text.isEmpty() ? simpleName(cause) : text.startsWith(name) ? text : name + text;
    return reason.length() <= MAX_REASON ? reason : reason.substring(0, MAX_REASON) + "…";
  }

  private static String simpleName(Throwable error) {
    return error.getClass().getSimpleName();
  }

  public static String name(TaskKey task) {
    return String.format(
        "task %s %d of job %s (attempt %d)",
        role(task.getRole()), task.getIndex(), task.getJobId(), task.getAttempt());
  }

  public static String name(Task task) {
    return task.getRoleName().isEmpty()
        ? role(task.getRole()) + " " + task.getIndex()
        : task.getRoleName() + " " + task.getRoleIndex();
  }
}
