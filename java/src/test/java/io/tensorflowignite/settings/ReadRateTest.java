package io.tensorflowignite.settings;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.junit.Test;

public class ReadRateTest {
  @Test
  public void aRateIsBytesOrRowsInASecond() {
    assertEquals(200_000_000, ReadRate.parse("200MB").get().bytes);
    assertEquals(1_500, ReadRate.parse(" 1.5 kB ").get().bytes);
    assertEquals(3L << 30, ReadRate.parse("3GiB").get().bytes);
    assertEquals(7, ReadRate.parse("7B").get().bytes);
    ReadRate rows = ReadRate.parse("50000 rows").get();
    assertEquals(50_000, rows.rows);
    assertEquals(0, rows.bytes);
    // A limit bounds reading also where nobody else works; where others work, they go first.
    assertTrue(rows.yields);
    assertEquals(Long.MAX_VALUE, ReadRate.parse("9999999999999999999TB").get().bytes);
  }

  @Test
  public void anythingElseIsNone() {
    for (String text :
        List.of(
            "",
            "200",
            "-1MB",
            "0MB",
            "0rows",
            "0.4B",
            "fast",
            "MB",
            "200 PB",
            "1.5rows",
            "1e9B",
            "200MB/s",
            "9".repeat(60) + "B")) {
      assertFalse(text, ReadRate.parse(text).isPresent());
    }
    assertFalse(ReadRate.parse(null).isPresent());
  }
}
