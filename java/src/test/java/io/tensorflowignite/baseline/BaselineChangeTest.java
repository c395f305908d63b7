package io.tensorflowignite.baseline;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NODE_NOT_FOUND;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.ChangeBaselineRequest;
import io.tensorflowignite.v1.ErrorCode;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.Test;

/** Nodes "a" and "b" of the baseline, of which "b" is offline, and "c" and "d" that have joined. */
public class BaselineChangeTest {
  private static final Set<String> MEMBERS = Set.of("a", "b");
  private static final Set<String> ONLINE = Set.of("a", "c", "d");
  private static final SortedMap<String, Integer> WHOLE = new TreeMap<>();
  private static final SortedMap<String, Integer> ABSENT = new TreeMap<>(Map.of("rows", 3, "x", 1));

  @Test
  public void nodesAreAddedAndOfflineNodesRemovedInOneChange() {
    assertEquals(Set.of("a", "b", "c"), next(change().addAdd("c"), WHOLE));
    assertEquals(Set.of("a", "b", "c", "d"), next(change().setAddOnline(true), WHOLE));
    assertEquals(Set.of("a", "d"), next(change().addAdd("d").addRemove("b"), WHOLE));
    assertEquals("a repeated call", MEMBERS, next(change().addAdd("a"), ABSENT));
  }

  @Test
  public void nodesThatAreUnknownOrOnTheWrongSideAreRefusedByName() {
    String unknown = refusal(ERROR_CODE_NODE_NOT_FOUND, change().addAdd("b"), WHOLE);
    assertTrue(unknown, unknown.startsWith("No node of the cluster has the name 'b'"));
    unknown = refusal(ERROR_CODE_NODE_NOT_FOUND, change().addRemove("c"), WHOLE);
    assertTrue(unknown, unknown.startsWith("No node of the baseline has the name 'c'"));
    String online = refusal(ERROR_CODE_INVALID_REQUEST, change().addRemove("a"), WHOLE);
    assertTrue(online, online.contains("Node a stays in the baseline: it is online"));
    online = refusal(ERROR_CODE_INVALID_REQUEST, change().addRemove("a").setForce(true), WHOLE);
    assertTrue(online, online.contains("Drain and stop it first"));
  }

  @Test
  public void aChangeWhilePartitionsHaveNoCopyNamesTheirCachesAndMustBeForced() {
    for (ChangeBaselineRequest.Builder change :
        new ChangeBaselineRequest.Builder[] {change().addRemove("b"), change().addAdd("c")}) {
      String lost = refusal(ERROR_CODE_DATA_LOST, change, ABSENT);
      assertTrue(lost, lost.contains("(3 of cache rows, 1 of cache x)"));
      assertTrue(lost, lost.contains("Start the nodes whose disks have them (b)."));
    }
    assertEquals(Set.of("a"), next(change().addRemove("b").setForce(true), ABSENT));
  }

  @Test
  public void aBaselineIsNeitherEmptiedNorChangedWhereIgniteAdjustsIt() {
    assertThrows(
        TensorFlowIgniteException.class,
        () ->
            BaselineChange.next(
                change().addRemove("b").setForce(true).build(),
                Set.of("b"),
                ONLINE,
                false,
                () -> WHOLE));
    String automatic =
        assertThrows(
                TensorFlowIgniteException.class,
                () ->
                    BaselineChange.next(
                        change().addAdd("c").build(), MEMBERS, ONLINE, true, () -> WHOLE))
            .getMessage();
    assertTrue(automatic, automatic.contains("Ignite adjusts it itself"));
  }

  private static ChangeBaselineRequest.Builder change() {
    return ChangeBaselineRequest.newBuilder();
  }

  private static Set<String> next(
      ChangeBaselineRequest.Builder change, SortedMap<String, Integer> absent) {
    return BaselineChange.next(change.build(), MEMBERS, ONLINE, false, () -> absent);
  }

  private static String refusal(
      ErrorCode code, ChangeBaselineRequest.Builder change, SortedMap<String, Integer> absent) {
    TensorFlowIgniteException refused =
        assertThrows(TensorFlowIgniteException.class, () -> next(change, absent));
    assertEquals(code, refused.code());
    return refused.getMessage();
  }
}
