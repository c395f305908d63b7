package io.tensorflowignite.data.schema;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.time.zone.ZoneRules;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.IgniteEx;

/**
 * The time zones of nodes. Ignite stores a DATE and a TIME as an instant, which is another day or
 * time of day on a node with another time zone.
 */
public final class NodeZones {
  private static final String ATTRIBUTE = "tensorflow.ignite.timeZone";

  private NodeZones() {}

  /** Tells the other nodes the time zone of this one, before it joins. */
  public static void announce(Ignite ignite) {
    ((IgniteEx) ignite).context().addNodeAttribute(ATTRIBUTE, TimeZone.getDefault().getID());
  }

  /**
   * Throws if nodes have different time zones, and a column holds days or times of day.
   *
   * @param nodes those that store the rows; of stock nodes the time zone is not known
   */
  public static void requireOne(
      String cache, Collection<Field> columns, Collection<ClusterNode> nodes) {
    columns.stream()
        .filter(NodeZones::depends)
        .findFirst()
        .ifPresent(column -> requireOne(cache, column.getName(), nodes));
  }

  /**
   * Throws if nodes have different time zones, and a statement names a column of days or times of
   * day, or all columns.
   *
   * @param classes of the columns' values, by the names of the columns in upper case
   */
  public static void requireOneFor(
      String cache, Map<String, String> classes, String statement, Collection<ClusterNode> nodes) {
    String text = statement.toUpperCase(Locale.ROOT);
    classes.entrySet().stream()
        .filter(
            column ->
                java.sql.Date.class.getName().equals(column.getValue())
                    || java.sql.Time.class.getName().equals(column.getValue()))
        .filter(column -> text.contains(column.getKey()) || text.contains("*"))
        .findFirst()
        .ifPresent(column -> requireOne(cache, column.getKey(), nodes));
  }

  private static void requireOne(String cache, String column, Collection<ClusterNode> nodes) {
    Map<String, String> zones = new TreeMap<>();
    for (ClusterNode node : nodes) {
      String zone = node.attribute(ATTRIBUTE);
      if (zone != null) {
        zones.put(node.consistentId() + " (" + node.id() + ")", zone);
      }
    }
    if (zones.values().stream().map(NodeZones::rules).distinct().count() > 1) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_INVALID_REQUEST,
          "cache %s: column %s holds days or times of day, and its nodes have different time zones:"
              + " %s. Ignite stores such values as instants in the time zone of the node that"
              + " writes them, so each node would send other ones. Start all nodes with one time"
              + " zone, such as -Duser.timezone=UTC, or leave the column out (columns=[...])",
          cache,
          column,
          zones.entrySet().stream()
              .map(node -> node.getKey() + " has " + node.getValue())
              .collect(Collectors.joining(", ")));
    }
  }

  private static ZoneRules rules(String zone) {
    return TimeZone.getTimeZone(zone).toZoneId().getRules();
  }

  private static boolean depends(Field field) {
    ArrowType type = field.getType();
    return type instanceof ArrowType.Date
        || type instanceof ArrowType.Time
        || field.getChildren().stream().anyMatch(NodeZones::depends);
  }
}
