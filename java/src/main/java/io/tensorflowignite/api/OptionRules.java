package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobOuterClass;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.OptionRule;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Checks each option of a job by the rule that stands beside its field in job.proto. */
final class OptionRules {
  private OptionRules() {}

  static void check(JobSpec spec) {
    check(spec, "", spec.getStrategy().getKind());
  }

  private static void check(Message group, String path, JobKind kind) {
    for (Map.Entry<FieldDescriptor, Object> option : group.getAllFields().entrySet()) {
      FieldDescriptor field = option.getKey();
      String name = path + field.getName();
      OptionRule rule = field.getOptions().getExtension(JobOuterClass.rule);
      requireKind(name, rule, kind);
      if (field.isMapField()) {
        checkMap(name, rule, (List<?>) option.getValue());
      } else if (field.getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
        checkValue(name, rule, option.getValue());
      } else if (option.getValue() instanceof Duration) {
        checkTime(name, rule, (Duration) option.getValue());
      } else {
        check((Message) option.getValue(), name + ".", kind);
      }
    }
  }

  private static void requireKind(String name, OptionRule rule, JobKind kind) {
    require(
        rule.getKindsCount() == 0 || rule.getKindsList().contains(kind),
        "%s is set for a job of kind %s. Only jobs of kind %s have it. Leave %s out, or submit with"
            + " the strategy of that kind.",
        name,
        KindRules.name(kind),
        rule.getKindsList().stream().map(KindRules::name).collect(Collectors.joining(", ")),
        name);
  }

  private static void checkMap(String name, OptionRule rule, List<?> entries) {
    for (Object entry : entries) {
      Message pair = (Message) entry;
      List<FieldDescriptor> sides = pair.getDescriptorForType().getFields();
      checkValue(name + "." + pair.getField(sides.get(0)), rule, pair.getField(sides.get(1)));
    }
  }

  private static void checkValue(String name, OptionRule rule, Object value) {
    if (value instanceof Number) {
      checkRange(name, rule, ((Number) value).doubleValue(), String.valueOf(value));
    } else if (value instanceof EnumValueDescriptor) {
      EnumValueDescriptor chosen = (EnumValueDescriptor) value;
      require(
          chosen.getIndex() > 0,
          "%s is %d, which this version does not know. Set %s to a value of this version.",
          name,
          chosen.getNumber(),
          name);
    }
  }

  private static void checkTime(String name, OptionRule rule, Duration time) {
    double seconds = Durations.isValid(time) ? Durations.toNanos(time) / 1e9 : Double.NaN;
    checkRange(name, rule, seconds, number(seconds) + " s");
  }

  private static void checkRange(String name, OptionRule rule, double value, String text) {
    double most = rule.getMost() == 0 ? Integer.MAX_VALUE : rule.getMost();
    require(
        value >= rule.getLeast() && value <= most,
        "%s is %s. It is a number from %s to %s. Set %s to a number in this range.",
        name,
        text,
        number(rule.getLeast()),
        number(most),
        name);
  }

  private static String number(double value) {
    return value == Math.rint(value) && Math.abs(value) < 1e15
        ? String.format("%,d", (long) value)
        : String.valueOf(value);
  }

  static void require(boolean holds, String format, Object... arguments) {
    if (!holds) {
      throw invalidRequest(format, arguments);
    }
  }
}
