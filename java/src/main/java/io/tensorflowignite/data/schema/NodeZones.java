package io.tensorflowignite.data.schema;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.ignite.LocalNode;
import java.time.ZoneOffset;
import java.time.zone.ZoneRules;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/**
 * The time zones of nodes. Ignite stores a DATE and a TIME as an instant, which is another day or
 * time of day on a node with another time zone.
 */
public final class NodeZones {
  private static final String ATTRIBUTE = "tensorflow.ignite.timeZone";

  private static final String REMEDY =
      "Compare the column of TIMESTAMPs with a parameter that has a time zone, such as"
          + " datetime(2020, 7, 2, tzinfo=timezone.utc), or start all nodes with"
          + " -Duser.timezone=UTC";

  private static final AtomicBoolean warned = new AtomicBoolean();

  private NodeZones() {}

  /** Announces this node's time zone to the other nodes, before the node joins. */
  public static void announce(Ignite ignite) {
    LocalNode.addAttribute(ignite, ATTRIBUTE, TimeZone.getDefault().getID());
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
        .ifPresent(column -> requireOneOfColumn(cache, column.getName(), nodes));
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
        .ifPresent(column -> requireOneOfColumn(cache, column.getKey(), nodes));
  }

  /**
   * Throws if nodes have different time zones: SQL computes a part of a statement in those zones.
   * Warns once if they have one zone that is not UTC, in which reading shows instants.
   *
   * @param part the part of the statement
   */
  public static void requireOneOfPart(Ignite ignite, String cache, String part) {
    requireOne(
        ignite.cluster().forDataNodes(cache).nodes(),
        "cache " + cache + ": the result of " + part + " depends on the time zone",
        "SQL computes it in the time zone of each node, so each node would have other rows. "
            + REMEDY);
    String zone = TimeZone.getDefault().getID();
    if (!rules(zone).equals(ZoneOffset.UTC.getRules()) && !warned.getAndSet(true)) {
      ignite
          .log()
          .getLogger(NodeZones.class)
          .warning(
              String.format(
                  "cache %s: SQL computes %s in the time zone of this node, %s, but reading shows"
                      + " TIMESTAMPs in UTC. %s. This warning comes once.",
                  cache, part, zone, REMEDY));
    }
  }

  private static void requireOneOfColumn(
      String cache, String column, Collection<ClusterNode> nodes) {
    requireOne(
        nodes,
        "cache " + cache + ": column " + column + " holds days or times of day",
        "Ignite stores such values as instants in the time zone of the node that writes them, so"
            + " each node would send other ones. Start all nodes with one time zone, such as"
            + " -Duser.timezone=UTC, or leave the column out (columns=[...])");
  }

  private static void requireOne(Collection<ClusterNode> nodes, String what, String rule) {
    Map<String, String> zones = new TreeMap<>();
    for (ClusterNode node : nodes) {
      String zone = node.attribute(ATTRIBUTE);
      if (zone != null) {
        zones.put(node.consistentId() + " (" + node.id() + ")", zone);
      }
    }
    if (zones.values().stream().map(NodeZones::rules).distinct().count() > 1) {
      throw invalidRequest(
          "%s, and its nodes have different time zones: %s. %s",
          what,
          zones.entrySet().stream()
              .map(node -> node.getKey() + " has " + node.getValue())
              .collect(Collectors.joining(", ")),
          rule);
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
