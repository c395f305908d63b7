package io.tensorflowignite.job;

/**
 * Where the tasks go; or what is waited for; or why there is no way. Exactly one of the three is
 * set.
 */
final class PlacementResult {
  final Placement placement;
  final String waitingFor;
  final String impossible;

  private PlacementResult(Placement placement, String waitingFor, String impossible) {
    this.placement = placement;
    this.waitingFor = waitingFor;
    this.impossible = impossible;
  }

  static PlacementResult of(Placement placement) {
    return new PlacementResult(placement, null, null);
  }

  static PlacementResult waitFor(String what) {
    return new PlacementResult(null, what, null);
  }

  static PlacementResult impossible(String why) {
    return new PlacementResult(null, null, why);
  }
}
