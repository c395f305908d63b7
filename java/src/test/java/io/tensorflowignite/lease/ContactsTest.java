package io.tensorflowignite.lease;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Quorum;
import io.tensorflowignite.v1.Restart;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class ContactsTest {
  private static final Duration LEASE = Duration.ofSeconds(6);

  private long nowMs = 100_000;
  private final Contacts contacts = contactsOf("b");

  private Contacts contactsOf(String self) {
    return new Contacts(self, LEASE, () -> TimeUnit.MILLISECONDS.toNanos(nowMs));
  }

  /** Members in the order in which they joined. */
  private static Job job(String... members) {
    Job.Builder job = Job.newBuilder();
    for (String member : members) {
      job.addMembers(Node.newBuilder().setConsistentId(member).setOrder(job.getMembersCount()));
    }
    return job.build();
  }

  private ContactsTest call(String caller, long atMs, String... answered) {
    nowMs = atMs;
    contacts.add(caller, Arrays.asList(answered));
    return this;
  }

  private long leaseEndMs(Job job) {
    return TimeUnit.NANOSECONDS.toMillis(contacts.leaseEnd(job));
  }

  private boolean hasLease(Job job) {
    return leaseEndMs(job) > nowMs;
  }

  @Test
  public void theLeaseCountsFromTheCallBeforeTheRoundThatWasAnswered() {
    call("a", 100_000).call("a", 100_500, "a", "b");
    assertTrue("two calls prove nothing", !hasLease(job("a", "b", "c")));
    call("a", 101_000, "a", "b", "c");
    assertEquals(106_000, leaseEndMs(job("a", "b", "c")));
    call("a", 101_500, "a", "b", "c");
    assertEquals(106_500, leaseEndMs(job("a", "b", "c")));
    call("a", 112_000, "a", "b", "c");
    assertTrue("a message that was long under way", !hasLease(job("a", "b", "c")));
  }

  @Test
  public void callsThatHaveWaitedForANodeThatStoodStillProveNothing() {
    Job three = job("a", "b", "c");
    call("a", 100_000).call("a", 100_500, "a", "b").call("a", 101_000, "a", "b", "c");
    assertEquals(106_000, leaseEndMs(three));
    // It stood still from here on; these calls were made without its answer.
    call("a", 105_000, "a", "b", "c").call("a", 105_001, "a", "c").call("a", 105_002, "a", "c");
    assertEquals("of the answer before it stood still", 107_000, leaseEndMs(three));
    call("a", 105_500, "a", "b", "c").call("a", 106_000, "a", "b", "c");
    assertEquals(111_002, leaseEndMs(three));
  }

  @Test
  public void noTaskStartsWithTheRestOfALeaseFromBeforeTheNodeStoodStill() {
    Job three = job("a", "b", "c");
    call("a", 100_000).call("a", 100_500, "a", "b").call("a", 101_000, "a", "b");
    assertEquals(106_000, TimeUnit.NANOSECONDS.toMillis(toStart(three).getAsLong()));
    // The call that waited, and the next one, which was made after the answer to it.
    call("a", 106_600, "a", "b").call("a", 106_700);
    assertEquals("of the last call before it stood still", 107_000, leaseEndMs(three));
    assertTrue(toStart(three).isEmpty());
    call("a", 107_200, "a", "b");
    assertTrue(!hasLease(three));
    call("a", 107_700, "a", "b");
    assertEquals(112_700, TimeUnit.NANOSECONDS.toMillis(toStart(three).getAsLong()));
  }

  private OptionalLong toStart(Job job) {
    return contacts.leaseEndToStart(job);
  }

  @Test
  public void theLeaseEndsWithoutAnswersOfAMajority() {
    Job five = job("a", "b", "c", "d", "e");
    call("a", 100_000).call("a", 100_500, "b").call("a", 101_000, "b", "c");
    for (long at = 101_500; at < 106_000; at += 500) {
      call("a", at, "b");
      assertEquals(106_000, leaseEndMs(five));
    }
    assertTrue(!call("a", 106_000, "b").hasLease(five));
    assertTrue("half with the oldest", hasLease(job("a", "b", "c", "d")));
    assertTrue("half without the oldest", !hasLease(job("c", "a", "b", "d")));
  }

  @Test
  public void aJobOfOneNodeOrWithoutQuorumNeedsNobody() {
    assertEquals(106_000, leaseEndMs(job("b")));
    Job.Builder none = job("a", "b", "c").toBuilder();
    none.setSpec(
        JobSpec.newBuilder().setRestart(Restart.newBuilder().setQuorum(Quorum.QUORUM_NONE)));
    assertEquals(106_000, leaseEndMs(none.build()));
  }

  @Test
  public void anotherCallerTakesOver() {
    call("a", 100_000).call("a", 100_500, "b").call("a", 101_000, "a", "c");
    assertEquals(Duration.ZERO, contacts.sinceCallOf(Set.of("a", "c")));
    call("c", 103_000).call("c", 103_500, "b").call("c", 104_000, "b", "c", "d");
    assertEquals(Duration.ofSeconds(3), contacts.sinceCallOf(Set.of("a")));
    assertEquals(109_000, leaseEndMs(job("a", "b", "c", "d")));
    call("c", 108_000, "c", "d");
    assertTrue(contacts.sinceCallOf(Set.of("a")).compareTo(Duration.ofDays(1)) > 0);
    assertEquals(
        List.of(true, false), List.of(hasLease(job("b", "c", "d")), hasLease(job("a", "b"))));
  }

  @Test
  public void theNextOldestNodeCallsWhenTheOlderOnesAreSilent() {
    Duration interval = Duration.ofMillis(500);
    assertTrue(
        "the oldest always", contacts.isCaller(List.of("b", "a"), interval, Duration.ofDays(1)));
    assertTrue(
        "none of the nodes", !contacts.isCaller(List.of("a", "c"), interval, Duration.ofDays(1)));
    call("a", 100_000);
    nowMs = 100_999;
    assertTrue(!contacts.isCaller(List.of("a", "b", "c"), interval, Duration.ofDays(1)));
    nowMs = 101_000;
    assertTrue(contacts.isCaller(List.of("a", "b", "c"), interval, Duration.ofDays(1)));
    assertTrue(!contacts.isCaller(List.of("a", "c", "b"), interval, Duration.ofDays(1)));
    nowMs = 200_000;
    List<String> many = List.of("a", "c", "d", "e", "f", "g", "b");
    assertTrue("not all of many nodes", !contacts.isCaller(many, interval, Duration.ofDays(1)));
  }
}
