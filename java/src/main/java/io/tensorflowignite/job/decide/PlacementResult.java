package io.tensorflowignite.job.decide;

import java.util.Optional;

/**
 * A placement; or the condition that must hold before tasks can be placed; or the reason why they
 * never can. Exactly one of the three is set. The first two may wait for GPUs of other jobs
 * besides.
 */
public final class PlacementResult {
  final Placement placement;
  final String waitingFor;
  final String impossible;

  /** What a placement waits for, since other jobs have the GPUs; null: nothing. */
  final String gpus;

  private PlacementResult(Placement placement, String waitingFor, String impossible, String gpus) {
    this.placement = placement;
    this.waitingFor = waitingFor;
    this.impossible = impossible;
    this.gpus = gpus;
  }

  public Optional<Placement> placement() {
    return Optional.ofNullable(placement);
  }

  public static PlacementResult of(Placement placement) {
    return new PlacementResult(placement, null, null, null);
  }

  /**
   * The placement, which waits for GPUs.
   *
   * @param condition the GPUs that it waits for, see {@link GpuWait}
   */
  public PlacementResult waitForGpus(String condition) {
    return new PlacementResult(placement, waitingFor, impossible, condition);
  }

  public static PlacementResult waitFor(String condition) {
    return new PlacementResult(null, condition, null, null);
  }

  public static PlacementResult impossible(String reason) {
    return new PlacementResult(null, null, reason, null);
  }
}
