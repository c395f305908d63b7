package io.tensorflowignite.data.shared;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;

import io.tensorflowignite.v1.Segment;
import org.junit.Test;

public class SegmentQueueTest {
  @Test
  public void moreOffersThanAReaderNeedsAreRefused() {
    SegmentQueue offers = new SegmentQueue(1, new byte[16]);
    Segment offer = Segment.newBuilder().setId(1).setBytes(100).build();
    for (int i = 0; i < 1_024; i++) {
      offers.add(offer);
    }
    assertRefused(ERROR_CODE_LIMIT_EXCEEDED, () -> offers.add(offer));
  }
}
