package io.tensorflowignite.security;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;

/** Whether callers are asked who they are, and for what: it follows from the settings. */
public final class Policy {
  private final boolean asksCredentials;
  private final boolean asksCertificates;

  private Policy(boolean asksCredentials, boolean asksCertificates) {
    this.asksCredentials = asksCredentials;
    this.asksCertificates = asksCertificates;
  }

  /**
   * @param igniteKnowsUsers whether Ignite can judge a password
   * @param asksCertificates whether clients must show a certificate
   */
  public static Policy of(
      SecuritySettings settings, boolean igniteKnowsUsers, boolean asksCertificates) {
    boolean canJudge = igniteKnowsUsers || !settings.tokens().isEmpty();
    if (settings.mode() == SecuritySettings.Mode.REQUIRED && !canJudge && !asksCertificates) {
      throw invalid(
          "TensorFlowService.authentication is 'required', and nothing could judge what callers"
              + " say. That takes Ignite's authentication, a security plugin,"
              + " TensorFlowService.tokens, or clientCertificates=required. Configure one of"
              + " them.");
    }
    Policy policy =
        new Policy(settings.mode() != SecuritySettings.Mode.NONE && canJudge, asksCertificates);
    if (!policy.asks() && !settings.access().isEmpty()) {
      throw invalid(
          "TensorFlowService.access has rules, and nobody is asked who he is. Rules hold for those"
              + " who have said so. Configure tokens or Ignite's authentication, or leave the rules"
              + " out.");
    }
    return policy;
  }

  /**
   * A node that everybody reaches, and where everybody may run code, is a decision.
   *
   * @param host the address that the API binds
   * @return whether it is open in this way, as the settings allow
   */
  public boolean requireAllowed(SecuritySettings settings, String host, boolean loopback) {
    if (asks() || loopback) {
      return false;
    }
    if (!settings.allowsUnauthenticated()) {
      throw invalid(
          "The node API is to bind "
              + host
              + ", and nobody is asked who he is: everybody who reaches it could run code on this"
              + " cluster. Beyond loopback that takes authentication, or the decision to go"
              + " without. Configure TensorFlowService.tokens, Ignite's authentication or"
              + " clientCertificates=required, or else allowUnauthenticated=true.");
    }
    return true;
  }

  /** Whether somebody must say who he is. */
  public boolean asks() {
    return asksCredentials || asksCertificates;
  }

  /** Whether by a password or token. */
  boolean asksCredentials() {
    return asksCredentials;
  }

  boolean asksCertificates() {
    return asksCertificates;
  }

  private static TensorFlowIgniteException invalid(String text) {
    return new TensorFlowIgniteException(ErrorCode.INVALID_REQUEST, text);
  }
}
