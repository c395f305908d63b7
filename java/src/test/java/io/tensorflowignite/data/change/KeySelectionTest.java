package io.tensorflowignite.data.change;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.ignite.LocalCache;
import io.tensorflowignite.v1.KeyRange;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.Replay;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.Test;

/** Promise (rows): The hash of a key is the same in every version. */
public class KeySelectionTest {
  private static final long HASHES = 1L << 32;
  private static final int KEYS = 20_000;

  private final ToLongFunction<Object> hash = new RowIdentity((LocalCache) null)::choice;

  @Test
  public void theHashOfAKeyNeverChanges() {
    // Another number here means that held-out rows of earlier versions would be trained on.
    List<Object> keys = Arrays.asList(7L, 7, "seven", new UUID(7, 7));
    assertEquals(
        Arrays.asList(
            -6424155394321143687L,
            -7191839475926159693L,
            2946214696100804217L,
            1857175678777668453L),
        keys.stream().map(hash::applyAsLong).collect(Collectors.toList()));
  }

  @Test
  public void rangesSplitTheKeysIntoTheirParts() {
    KeySelection heldOut = selection(0, HASHES / 10);
    KeySelection others = selection(HASHES / 10, HASHES);
    List<Object> chosen = keys().stream().filter(heldOut::has).collect(Collectors.toList());
    assertTrue(keys().stream().allMatch(key -> heldOut.has(key) != others.has(key)));
    assertEquals(KEYS / 10.0, chosen.size(), KEYS / 100.0);
  }

  @Test
  public void aSampleIsIndependentOfTheSplitAndHasOtherRowsFromAnotherBegin() {
    KeySelection first = replay(0.5, 0);
    KeySelection second = replay(0.5, 1 << 30);
    KeySelection last = replay(0.5, -1);
    KeySelection heldOut = selection(0, HASHES / 10);
    assertEquals(KEYS / 5.0, count(first, 0.2), KEYS / 50.0);
    assertEquals(KEYS / 5.0, count(last, 0.2), KEYS / 50.0);
    long both = keys().stream().filter(heldOut::has).filter(k -> first.isSampled(k, 0.2)).count();
    assertEquals(KEYS / 50.0, both, KEYS / 200.0);
    assertTrue(
        keys().stream().noneMatch(key -> first.isSampled(key, 0.2) && second.isSampled(key, 0.2)));
    assertEquals(KEYS, count(first, 1));
  }

  @Test
  public void theSampleMakesUpTheRequestedShareAndHasAtMostAllRows() {
    assertEquals(0.1, replay(0.5, 0).sampledPart(100, 1_100), 1e-9);
    assertEquals(0.3, replay(0.75, 0).sampledPart(100, 1_100), 1e-9);
    assertEquals(1, replay(0.75, 0).sampledPart(1_000, 1_100), 1e-9);
    assertEquals(1, replay(0.75, 0).sampledPart(1_000, 500), 1e-9);
    assertEquals(0, replay(0.75, 0).sampledPart(0, 1_100), 0);
    ReadCommand half =
        ReadCommand.newBuilder()
            .setKeys(KeyRange.newBuilder().setEnd(HASHES / 2))
            .setReplay(Replay.newBuilder().setShare(0.5))
            .build();
    assertEquals(0.25, KeySelection.of(half, false, hash).sampledPart(100, 1_000), 1e-9);
  }

  @Test
  public void impossibleSelectionsAreRefused() {
    for (long[] range : new long[][] {{0, 0}, {2, 1}, {-1, 5}, {0, HASHES + 1}}) {
      refuse(command(range[0], range[1]), false, "hashes of keys from " + range[0]);
    }
    for (double share : new double[] {0, 1, -0.5, 2, Double.NaN}) {
      refuse(command(share), false, "share of " + share);
    }
    refuse(command(0, 1), true, "with a condition or SELECT");
    refuse(command(0.5), true, "with a condition or SELECT");
    assertTrue(KeySelection.of(ReadCommand.getDefaultInstance(), true, hash).has(7L));
    assertFalse(selection(0, 1).has(7L));
  }

  private void refuse(ReadCommand command, boolean isQuery, String text) {
    assertRefused(() -> KeySelection.of(command, isQuery, hash), text);
  }

  private static List<Object> keys() {
    return LongStream.range(0, KEYS).boxed().collect(Collectors.toList());
  }

  private static long count(KeySelection selection, double part) {
    return keys().stream().filter(key -> selection.isSampled(key, part)).count();
  }

  private KeySelection selection(long begin, long end) {
    return KeySelection.of(command(begin, end), false, hash);
  }

  private KeySelection replay(double share, int begin) {
    Replay replay = Replay.newBuilder().setShare(share).setBegin(begin).build();
    return KeySelection.of(ReadCommand.newBuilder().setReplay(replay).build(), false, hash);
  }

  private static ReadCommand command(long begin, long end) {
    KeyRange keys = KeyRange.newBuilder().setBegin(begin).setEnd(end).build();
    return ReadCommand.newBuilder().setKeys(keys).build();
  }

  private static ReadCommand command(double share) {
    return ReadCommand.newBuilder().setReplay(Replay.newBuilder().setShare(share)).build();
  }
}
