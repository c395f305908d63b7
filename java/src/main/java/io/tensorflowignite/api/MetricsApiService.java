package io.tensorflowignite.api;

import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.GetMetricsRequest;
import io.tensorflowignite.v1.GetMetricsResponse;
import io.tensorflowignite.v1.MetricsServiceGrpc;

/** What this node has counted and measured. */
public final class MetricsApiService extends MetricsServiceGrpc.MetricsServiceImplBase {
  private final NodeMetrics metrics;
  private final Guard guard;

  /**
   * @param guard authorizes each call
   */
  public MetricsApiService(NodeMetrics metrics, Guard guard) {
    this.metrics = metrics;
    this.guard = guard;
  }

  @Override
  public void getMetrics(GetMetricsRequest request, StreamObserver<GetMetricsResponse> answer) {
    guard.nodes();
    answer.onNext(
        GetMetricsResponse.newBuilder()
            .setOpenMetrics(UnsafeByteOperations.unsafeWrap(metrics.text()))
            .build());
    answer.onCompleted();
  }
}
