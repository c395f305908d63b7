package io.tensorflowignite.job.decide;

import java.util.Optional;

/**
 * A placement; or the condition that must hold before tasks can be placed; or the reason why they
 * never can. Exactly one of the three is set.
 */
public final class PlacementResult {
  final Placement placement;
  final String waitingFor;
  final String impossible;

  private PlacementResult(Placement placement, String waitingFor, String impossible) {
    this.placement = placement;
    this.waitingFor = waitingFor;
    this.impossible = impossible;
  }

  public Optional<Placement> placement() {
    return Optional.ofNullable(placement);
  }

  public static PlacementResult of(Placement placement) {
    return new PlacementResult(placement, null, null);
  }

  public static PlacementResult waitFor(String condition) {
    return new PlacementResult(null, condition, null);
  }

  public static PlacementResult impossible(String reason) {
    return new PlacementResult(null, null, reason);
  }
}
