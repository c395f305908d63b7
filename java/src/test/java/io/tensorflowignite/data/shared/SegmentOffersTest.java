package io.tensorflowignite.data.shared;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Segment;
import org.junit.Test;

public class SegmentOffersTest {
  @Test
  public void moreOffersThanAReaderNeedsAreRefused() {
    SegmentOffers offers = new SegmentOffers(1, new byte[16]);
    Segment offer = Segment.newBuilder().setId(1).setBytes(100).build();
    for (int i = 0; i < 1_024; i++) {
      offers.add(offer);
    }
    TensorFlowIgniteException refused =
        assertThrows(TensorFlowIgniteException.class, () -> offers.add(offer));
    assertEquals(ErrorCode.LIMIT_EXCEEDED, refused.code());
  }
}
