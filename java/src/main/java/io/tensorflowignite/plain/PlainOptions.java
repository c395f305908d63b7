package io.tensorflowignite.plain;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobOuterClass;
import io.tensorflowignite.v1.JobSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The options of a job by their names, as in a job file. Only names and types are checked here: the
 * rules of values stand in job.proto, and the node API checks them. An option is a field with a
 * help.
 */
final class PlainOptions {
  private static final Pattern WHOLE = Pattern.compile("[+-]?\\d{1,18}");
  private static final Pattern NUMBER = Pattern.compile("(\\d{1,12}(?:\\.\\d+)?)([smhd]?)");
  private static final Map<String, Integer> UNIT_SECONDS =
      Map.of("", 1, "s", 1, "m", 60, "h", 3_600, "d", 86_400);

  /** Ten years. */
  private static final double MAX_SECONDS = 315_360_000;

  private static final String STRATEGY = "strategy";

  private final JobSpec.Builder spec = JobSpec.newBuilder();
  private final Set<String> given = new TreeSet<>();

  private PlainOptions() {}

  /**
   * The specification with these options.
   *
   * @throws TensorFlowIgniteException INVALID_REQUEST: a name is unknown or given twice, or a value
   *     is of another type
   */
  static JobSpec.Builder read(Map<String, ?> options) {
    PlainOptions read = new PlainOptions();
    read.spec.getStrategyBuilder().setKind(JobKind.JOB_KIND_MULTI_WORKER_MIRRORED);
    options.forEach((name, value) -> read.add(String.valueOf(name), value));
    return read.spec;
  }

  private void add(String name, Object value) {
    String[] parts = name.split("\\.", 3);
    FieldDescriptor first = option(JobSpec.getDescriptor(), parts[0], name);
    boolean isGroup = isGroup(first);
    if (value == null) {
      return;
    }
    if (!isGroup) {
      require(parts.length == 1, unknown(name));
      once(name);
      set(spec, first, name, value);
    } else if (parts.length == 1) {
      addGroup(first, name, value);
    } else {
      addOfGroup(first, parts, name, value);
    }
  }

  private void addGroup(FieldDescriptor group, String name, Object value) {
    if (name.equals(STRATEGY) && value instanceof String) {
      add("strategy.kind", value);
      return;
    }
    if (!(value instanceof Map)) {
      throw wrong(name, value, "a group of options", "{OPTION=VALUE}");
    }
    // A group with its defaults alone is given too.
    spec.getFieldBuilder(group);
    ((Map<?, ?>) value).forEach((option, each) -> add(name + "." + option, each));
  }

  private void addOfGroup(FieldDescriptor group, String[] parts, String name, Object value) {
    FieldDescriptor option = option(group.getMessageType(), parts[1], name);
    Message.Builder builder = spec.getFieldBuilder(group);
    if (parts.length == 2) {
      if (option.isMapField() && value instanceof Map) {
        ((Map<?, ?>) value).forEach((key, each) -> add(name + "." + key, each));
        return;
      }
      once(name);
      set(builder, option, name, value);
    } else {
      require(option.isMapField(), unknown(name));
      once(name);
      addEntry(builder, option, parts[2], name, value);
    }
  }

  private void once(String name) {
    require(given.add(name), name + " is given twice. An option has one value. Give it once.");
  }

  private static void set(
      Message.Builder builder, FieldDescriptor field, String name, Object value) {
    if (field.isMapField()) {
      throw wrong(name, value, "a mapping by names", "{NAME=VALUE}");
    }
    if (!field.isRepeated()) {
      builder.setField(field, value(field, name, value));
      return;
    }
    if (!(value instanceof Collection) && !(value instanceof Object[])) {
      throw wrong(name, value, "a list of texts, also of one", "[TEXT]");
    }
    Collection<?> all =
        value instanceof Collection ? (Collection<?>) value : Arrays.asList((Object[]) value);
    List<Object> texts = new ArrayList<>();
    all.forEach(each -> texts.add(text(name, each)));
    builder.setField(field, texts);
  }

  private static void addEntry(
      Message.Builder builder, FieldDescriptor field, String key, String name, Object value) {
    FieldDescriptor values = field.getMessageType().findFieldByName("value");
    Message.Builder entry = builder.newBuilderForField(field);
    entry.setField(field.getMessageType().findFieldByName("key"), key);
    // It may be a secret, which no error shows.
    boolean isText = values.getJavaType() == FieldDescriptor.JavaType.STRING;
    require(
        !isText || isText(value),
        name + " is a value of the class " + typeOf(value) + ". It is a text. Give another value.");
    builder.addRepeatedField(field, entry.setField(values, value(values, name, value)).build());
  }

  private static Object value(FieldDescriptor field, String name, Object value) {
    switch (field.getJavaType()) {
      case STRING:
        return text(name, value);
      case BOOLEAN:
        return flag(name, value);
      case INT:
        return (int) whole(name, value, Integer.MAX_VALUE);
      case LONG:
        return whole(name, value, Integer.MAX_VALUE);
      case DOUBLE:
        return number(name, value);
      case ENUM:
        return choice(field.getEnumType(), name, value);
      default:
        return duration(name, value);
    }
  }

  private static boolean isText(Object value) {
    // A parser of YAML makes numbers of unquoted digits.
    return value instanceof String
        || value instanceof Integer
        || value instanceof Long
        || value instanceof Short;
  }

  private static String text(String name, Object value) {
    if (!isText(value)) {
      throw wrong(name, value, "a text", "\"TEXT\"");
    }
    return String.valueOf(value);
  }

  private static boolean flag(String name, Object value) {
    String text = String.valueOf(value);
    if (!text.equalsIgnoreCase("true") && !text.equalsIgnoreCase("false")) {
      throw wrong(name, value, "true or false", "true");
    }
    return Boolean.parseBoolean(text);
  }

  private static long whole(String name, Object value, long most) {
    String text = String.valueOf(value);
    boolean isWhole = isText(value) && WHOLE.matcher(text).matches();
    if (!isWhole || Math.abs(Long.parseLong(text)) > most) {
      throw wrong(name, value, String.format("a whole number, at most %,d", most), "2");
    }
    return Long.parseLong(text);
  }

  /** A number, or a time in seconds. */
  private static double number(String name, Object value) {
    Matcher found = NUMBER.matcher(String.valueOf(value));
    double number = Double.NaN;
    if (value instanceof Number) {
      number = ((Number) value).doubleValue();
    } else if (value instanceof String && found.matches()) {
      number = Double.parseDouble(found.group(1)) * UNIT_SECONDS.get(found.group(2));
    }
    if (!(Math.abs(number) <= MAX_SECONDS)) {
      throw wrong(
          name,
          value,
          String.format("a number, at most %,.0f; of seconds, or with s, m, h or d", MAX_SECONDS),
          "90s");
    }
    return number;
  }

  private static Duration duration(String name, Object value) {
    return Durations.fromNanos(Math.round(number(name, value) * 1e6) * 1_000);
  }

  private static EnumValueDescriptor choice(EnumDescriptor choices, String name, Object value) {
    List<EnumValueDescriptor> all = choices.getValues().subList(1, choices.getValues().size());
    return all.stream()
        .filter(each -> PlainValues.text(each).equals(value))
        .findFirst()
        .orElseThrow(
            () ->
                invalidRequest(
                    "%s '%s' does not exist. It is one of %s. Name one of these.",
                    name,
                    value,
                    all.stream().map(PlainValues::text).collect(Collectors.joining(", "))));
  }

  private static FieldDescriptor option(Descriptor group, String name, String whole) {
    FieldDescriptor field = group.findFieldByName(name);
    require(field != null && isOption(field), unknown(whole));
    return field;
  }

  private static boolean isOption(FieldDescriptor field) {
    return !field.getOptions().getExtension(JobOuterClass.rule).getHelp().isEmpty();
  }

  private static boolean isGroup(FieldDescriptor field) {
    return field.getJavaType() == FieldDescriptor.JavaType.MESSAGE;
  }

  private static String unknown(String name) {
    Map<Boolean, String> names = new LinkedHashMap<>();
    JobSpec.getDescriptor().getFields().stream()
        .filter(PlainOptions::isOption)
        .forEach(field -> names.merge(isGroup(field), field.getName(), (a, b) -> a + ", " + b));
    return name
        + " is no option of a job. Options are "
        + names.get(false)
        + ", and options of the groups "
        + names.get(true)
        + ", such as workers.per_node. Name one of them; docs/jobs.md lists all.";
  }

  private static String typeOf(Object value) {
    return value == null ? "null" : value.getClass().getSimpleName();
  }

  private static void require(boolean holds, String text) {
    if (!holds) {
      throw invalidRequest("%s", text);
    }
  }

  private static TensorFlowIgniteException wrong(
      String name, Object value, String rule, String example) {
    return invalidRequest(
        "%s is %.200s, of the class %s. It is %s. Give, for example, %s.",
        name, value, typeOf(value), rule, example);
  }
}
