package io.tensorflowignite.data.shared;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import io.tensorflowignite.base.TensorFlowIgniteException;
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
    TensorFlowIgniteException refused =
        assertThrows(TensorFlowIgniteException.class, () -> offers.add(offer));
    assertEquals(ERROR_CODE_LIMIT_EXCEEDED, refused.code());
  }
}
