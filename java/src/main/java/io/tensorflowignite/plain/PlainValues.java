package io.tensorflowignite.plain;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** A job as a map, with the names and forms of {@code tensorflow-ignite describe --json}. */
final class PlainValues {
  private static final DateTimeFormatter SECONDS =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss");

  /** For nodes; Python shows none of them. */
  private static final Set<String> INTERNAL =
      Set.of(
          "Job.request_id",
          "Job.layout",
          "Job.early_failures",
          "Job.members",
          "Job.logs_stored",
          "Job.early_exception",
          "Job.save_requested",
          "Job.idle_causes",
          "Job.process_node_id",
          "Attempt.moved_at",
          "Attempt.moved_digest",
          "Attempt.moved_checkpoint_step",
          "Attempt.planned_end",
          "Task.abandoned",
          "TaskStatus.token_digest",
          "TaskStatus.end_requested",
          "TaskStatus.failure",
          "Progress.busy_until_nanos",
          "Progress.end");

  /** Numbers of which 0 means that there is none. */
  private static final Set<String> UNKNOWN_IF_ZERO =
      Set.of(
          "Attempt.resumed_from_step",
          "TaskStatus.pid",
          "Progress.total_steps",
          "Progress.resumed_from_step",
          "Progress.checkpoint_step",
          "Publication.earlier_version",
          "Publication.version");

  private PlainValues() {}

  static Map<String, Object> of(Job job) {
    Map<String, Object> plain = map(job);
    if (!job.hasFinishedAt()) {
      plain.remove("exit_code");
    }
    return plain;
  }

  private static boolean hasEnded(TaskStatus task) {
    return task.getState().getNumber() >= TaskState.TASK_STATE_SUCCEEDED_VALUE;
  }

  /** A value of an enum as people write it: node-left. */
  static String text(EnumValueDescriptor value) {
    String unspecified = value.getType().getValues().get(0).getName();
    String prefix = unspecified.substring(0, unspecified.length() - "UNSPECIFIED".length());
    String name = value.getName();
    return value.getIndex() < 0
        ? "unknown-" + value.getNumber()
        : name.substring(prefix.length()).replace('_', '-').toLowerCase(Locale.ROOT);
  }

  private static Map<String, Object> map(MessageOrBuilder message) {
    Map<String, Object> plain = new LinkedHashMap<>();
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      String name = field.getContainingType().getName() + "." + field.getName();
      Object value = message.getField(field);
      if (INTERNAL.contains(name) || isUnset(message, field, name, value)) {
        continue;
      }
      plain.put(field.getName(), value(field, value));
    }
    return plain;
  }

  private static boolean isUnset(
      MessageOrBuilder message, FieldDescriptor field, String name, Object value) {
    if (field.hasPresence() && !message.hasField(field)) {
      return true;
    }
    if (name.equals("TaskStatus.exit_code") && !hasEnded((TaskStatus) message)) {
      return true;
    }
    boolean isZero = value instanceof Number && ((Number) value).longValue() == 0;
    boolean isUnspecified =
        value instanceof EnumValueDescriptor && ((EnumValueDescriptor) value).getNumber() == 0;
    return isUnspecified || (isZero && UNKNOWN_IF_ZERO.contains(name));
  }

  private static Object value(FieldDescriptor field, Object value) {
    if (field.isMapField()) {
      Map<String, Object> entries = new LinkedHashMap<>();
      for (Object entry : (List<?>) value) {
        Message pair = (Message) entry;
        FieldDescriptor key = pair.getDescriptorForType().findFieldByName("key");
        FieldDescriptor each = pair.getDescriptorForType().findFieldByName("value");
        entries.put(String.valueOf(pair.getField(key)), single(pair.getField(each)));
      }
      return entries;
    }
    if (field.isRepeated()) {
      List<Object> all = new ArrayList<>();
      ((List<?>) value).forEach(each -> all.add(single(each)));
      return all;
    }
    return single(value);
  }

  private static Object single(Object value) {
    if (value instanceof Integer) {
      return ((Integer) value).longValue();
    }
    if (value instanceof EnumValueDescriptor) {
      return text((EnumValueDescriptor) value);
    }
    if (value instanceof Timestamp) {
      return time((Timestamp) value);
    }
    if (value instanceof Duration) {
      return Durations.toMicros((Duration) value) / 1e6;
    }
    return value instanceof Message ? map((Message) value) : value;
  }

  /** As Python's isoformat in UTC: microseconds, if there are some. */
  private static String time(Timestamp at) {
    int micros = at.getNanos() / 1_000;
    return Instant.ofEpochSecond(at.getSeconds()).atOffset(ZoneOffset.UTC).format(SECONDS)
        + (micros == 0 ? "" : String.format(Locale.ROOT, ".%06d", micros))
        + "+00:00";
  }
}
