package io.tensorflowignite.plain;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.StreamLogsResponse;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A part of the output of one task. A position is {@code ATTEMPT.INCARNATION.BYTES}: the task's
 * processes write one after the other, so everything before it is read.
 */
final class PlainOutput {
  private static final Pattern TASK = Pattern.compile("([a-z][a-z0-9_]*):(\\d{1,9})");
  private static final Pattern POSITION = Pattern.compile("(\\d{1,9})\\.(\\d{1,9})\\.(\\d{1,18})");

  /** Those that each job may have. */
  private static final List<Role> ROLES =
      List.of(Role.ROLE_WORKER, Role.ROLE_PS, Role.ROLE_CLIENT, Role.ROLE_EVALUATOR);

  private final boolean isOver;
  private final String jobId;
  private final int newest;
  private final Role role;
  private final int index;
  private final int most;
  private int attempt = 1;
  private int incarnation;
  private long begin;

  private ByteString text = ByteString.EMPTY;
  private long dropped;
  private boolean isFull;

  /** The bytes of the process that the pieces so far have, and those that the answers have. */
  private long passed;

  private long seen;

  /**
   * @param task ROLE:INDEX
   * @param position empty: from the begin
   * @param most the most bytes
   * @throws TensorFlowIgniteException INVALID_REQUEST: the task or the position is none
   */
  PlainOutput(Job job, String task, String position, int most) {
    this.isOver = job.hasFinishedAt();
    this.jobId = job.getId();
    int attempts = job.getAttemptsCount();
    this.newest = attempts == 0 ? 0 : job.getAttempts(attempts - 1).getNumber();
    this.most = most;
    Matcher named = TASK.matcher(String.valueOf(task));
    if (!named.matches()) {
      throw wrong("The task", task, "ROLE:INDEX", "worker:0");
    }
    int number = Integer.parseInt(named.group(2));
    List<String> own = namedTasks(job);
    boolean isNamed = job.getSpec().getStrategy().containsRoles(named.group(1));
    this.role = isNamed ? Role.ROLE_NAMED : role(named.group(1));
    // A task that does not exist has no output.
    int place = own.indexOf(named.group(1) + ":" + number);
    this.index = !isNamed ? number : place < 0 ? own.size() : place;
    if (position != null && !position.isEmpty()) {
      Matcher at = POSITION.matcher(position);
      if (!at.matches()) {
        throw wrong("The position", position, "empty, or of an answer before", "1.0.0");
      }
      attempt = Math.max(1, Integer.parseInt(at.group(1)));
      incarnation = Integer.parseInt(at.group(2));
      begin = Long.parseLong(at.group(3));
    }
    seen = begin;
  }

  /** The tasks of all named roles, which the cluster counts together. */
  private static List<String> namedTasks(Job job) {
    List<String> tasks = new ArrayList<>();
    new TreeMap<>(job.getSpec().getStrategy().getRolesMap())
        .forEach(
            (name, count) -> {
              for (int number = 0; number < count; number++) {
                tasks.add(name + ":" + number);
              }
            });
    return tasks;
  }

  private static Role role(String name) {
    return ROLES.stream()
        .filter(role -> PlainValues.text(role.getValueDescriptor()).equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                wrong(
                    "The role",
                    name,
                    "worker, ps, client, evaluator, or one of the job",
                    "worker"));
  }

  private static TensorFlowIgniteException wrong(
      String what, String given, String rule, String example) {
    return invalidRequest(
        "%s is '%.200s'. It is %s. Give, for example, %s.", what, given, rule, example);
  }

  /** Whether the attempt of the position has begun. */
  boolean hasAttempt() {
    return attempt <= newest;
  }

  StreamLogsRequest request() {
    return StreamLogsRequest.newBuilder()
        .setJobId(jobId)
        .setAttempt(attempt)
        .setRole(role)
        .setIndex(index)
        .build();
  }

  /** Takes a piece; false: the part is full. */
  boolean add(StreamLogsResponse piece) {
    if (piece.getIncarnation() < incarnation) {
      return true;
    }
    if (piece.getIncarnation() > incarnation) {
      incarnation = piece.getIncarnation();
      begin = 0;
      seen = 0;
      passed = 0;
    }
    long start = passed + piece.getDroppedBytes();
    dropped += Math.max(0, start - Math.max(passed, begin));
    passed = start + piece.getData().size();
    long from = Math.max(start, begin);
    if (from < passed) {
      ByteString data = piece.getData().substring((int) (from - start));
      int room = most - text.size();
      isFull = data.size() > room;
      ByteString part = isFull ? data.substring(0, characters(data, room)) : data;
      text = text.concat(part);
      from += part.size();
    }
    seen = isFull ? from : Math.max(seen, passed);
    return !isFull;
  }

  /** The largest number of bytes, up to a limit, that ends no character of UTF-8 in its middle. */
  private static int characters(ByteString data, int limit) {
    int size = limit;
    while (size > 0 && limit - size < 3 && (data.byteAt(size) & 0xC0) == 0x80) {
      size--;
    }
    return size;
  }

  /** The bytes of a character of UTF-8 that has begun at the end of the data, and does not end. */
  private static int begun(ByteString data) {
    for (int back = 1; back <= Math.min(3, data.size()); back++) {
      int lead = data.byteAt(data.size() - back) & 0xFF;
      if ((lead & 0xC0) != 0x80) {
        int whole = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        return whole > back ? back : 0;
      }
    }
    return 0;
  }

  Map<String, Object> answer() {
    boolean isRead = hasAttempt() && !isFull;
    boolean hasNext = isRead && attempt < newest;
    // The process may write the rest of a character later.
    int begun = isOver || isFull || hasNext ? 0 : (int) Math.min(begun(text), seen);
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("text", text.substring(0, text.size() - begun).toStringUtf8());
    answer.put(
        "position",
        hasNext ? attempt + 1 + ".0.0" : attempt + "." + incarnation + "." + (seen - begun));
    answer.put("droppedBytes", dropped);
    answer.put("complete", isOver && !isFull && !hasNext);
    return answer;
  }
}
