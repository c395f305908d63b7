package io.tensorflowignite.security.decide;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.settings.SecuritySettings;

/** Whether callers must authenticate, and the accepted credentials; derived from the settings. */
public final class AuthenticationPolicy {
  /** Whether callers must have a password or token. */
  public final boolean requiresCredentials;

  public final boolean requiresCertificates;

  private AuthenticationPolicy(boolean requiresCredentials, boolean requiresCertificates) {
    this.requiresCredentials = requiresCredentials;
    this.requiresCertificates = requiresCertificates;
  }

  /**
   * @param igniteKnowsUsers whether Ignite can verify a password
   * @param requiresCertificates whether clients must have a certificate
   */
  public static AuthenticationPolicy of(
      SecuritySettings settings, boolean igniteKnowsUsers, boolean requiresCertificates) {
    boolean canVerify = igniteKnowsUsers || !settings.tokens().isEmpty();
    if (settings.mode() == SecuritySettings.Mode.REQUIRED && !canVerify && !requiresCertificates) {
      throw invalidRequest(
          "TensorFlowService.security.authentication is 'required', and nothing can verify callers."
              + " Callers are verified by Ignite's authentication, a security plugin,"
              + " TensorFlowService.security.tokens, or security.clientCertificates=required."
              + " Configure one of them.");
    }
    AuthenticationPolicy policy =
        new AuthenticationPolicy(
            settings.mode() != SecuritySettings.Mode.NONE && canVerify, requiresCertificates);
    if (!policy.requiresAuthentication() && !settings.access().isEmpty()) {
      throw invalidRequest(
          "TensorFlowService.security.access has rules, and callers do not authenticate. Rules"
              + " apply to authenticated callers only. Configure tokens or Ignite's authentication,"
              + " or remove the rules.");
    }
    return policy;
  }

  /**
   * A node on a public address without authentication must be an explicit decision.
   *
   * @param host the address that the API binds
   * @return whether the node is open and the settings allow this
   */
  public boolean requireAllowed(SecuritySettings settings, String host, boolean loopback) {
    if (requiresAuthentication() || loopback) {
      return false;
    }
    if (!settings.allowsUnauthenticated()) {
      throw invalidRequest(
          "The node API binds %s without authentication: every host that reaches it could run code"
              + " on this cluster. On other addresses than loopback the node API needs"
              + " authentication, or an explicit decision. Configure"
              + " TensorFlowService.security.tokens, Ignite's authentication or"
              + " security.clientCertificates=required, or else"
              + " security.allowUnauthenticated=true.",
          host);
    }
    return true;
  }

  /** Whether callers must authenticate. */
  public boolean requiresAuthentication() {
    return requiresCredentials || requiresCertificates;
  }
}
