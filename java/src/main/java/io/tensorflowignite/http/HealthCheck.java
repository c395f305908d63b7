package io.tensorflowignite.http;

/** One condition of a node's health, and why it holds or not. Everybody may read the reason. */
public final class HealthCheck {
  final String name;
  final boolean isOk;
  final String reason;

  public HealthCheck(String name, boolean isOk, String reason) {
    this.name = name;
    this.isOk = isOk;
    this.reason = reason;
  }

  public boolean isOk() {
    return isOk;
  }
}
