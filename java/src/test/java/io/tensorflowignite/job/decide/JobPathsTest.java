package io.tensorflowignite.job.decide;

import static org.junit.Assert.assertEquals;

import java.util.Optional;
import org.junit.Test;

public class JobPathsTest {
  @Test
  public void everyFormOfAnAddressLeadsToTheSamePath() {
    for (String address :
        new String[] {
          "ignite:///models/a",
          "IGNITE:///models/a",
          "Ignite:////models//a//",
          "ignite:///models/./a/.",
          "ignite:///models/b/../a",
          "ignite:///../../models/a",
          "ignite:/models/a",
          "ignite:models/a"
        }) {
      assertEquals(address, Optional.of("/models/a"), JobPaths.path(address));
      assertEquals(address, "ignite:///models/a", JobPaths.canonical(address));
    }
    assertEquals("ignite://n1:1,n2:2/a", JobPaths.canonical("iGNITE://n1:1,n2:2//a/"));
    assertEquals(Optional.of("/"), JobPaths.path("ignite://n1"));
  }

  @Test
  public void percentSignsAndBlanksBelongToNames() {
    assertEquals("ignite:///a/%2e%2e/b", JobPaths.canonical("ignite:///a/%2e%2e/b"));
    assertEquals("ignite:///a /b", JobPaths.canonical("ignite:///a /b"));
  }

  @Test
  public void addressesOfOtherStorageStayUnchanged() {
    for (String address : new String[] {"", "/a//b", "gs://ignite:/a//b", "ignite2:///a//b"}) {
      assertEquals(Optional.empty(), JobPaths.path(address));
      assertEquals(address, JobPaths.canonical(address));
    }
  }
}
