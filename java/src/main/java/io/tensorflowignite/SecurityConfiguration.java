package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.choice;
import static io.tensorflowignite.PropertyRules.invalid;
import static io.tensorflowignite.PropertyRules.present;

import io.tensorflowignite.security.decide.AccessRules;
import io.tensorflowignite.settings.SecuritySettings;
import io.tensorflowignite.settings.TlsSettings;
import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * Who may call the nodes, and how connections are protected: {@code security} of {@link
 * TensorFlowService}.
 */
public final class SecurityConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;

  private final SecuritySettings settings = new SecuritySettings();
  private TlsSettings.Mode tls = TlsSettings.Mode.AUTO;
  private boolean clientCertificates;

  /**
   * Whether callers must authenticate: "auto" (the default: if Ignite's authentication, a security
   * plugin or tokens can verify credentials), "required", or "none".
   */
  public SecurityConfiguration setAuthentication(String mode) {
    settings.mode(
        choice(
            "security.authentication",
            SecuritySettings.Mode.class,
            mode,
            "auto, required or none"));
    return this;
  }

  /**
   * Tokens, which callers may use instead of user and password: the SHA-256 of each token in
   * lower-case hexadecimal, by the name of the token's owner. A token is 32 random bytes in
   * base64url, as printed by {@code python -c "import secrets; print(secrets.token_urlsafe(32))"}.
   */
  public SecurityConfiguration setTokens(Map<String, String> digests) {
    settings.tokens(present("security.tokens", digests));
    return this;
  }

  /**
   * Permissions of callers, as rules {@code PRINCIPAL PERMISSIONS [PATTERN]}: {@code alice
   * submit,watch,stop}, {@code alice read images*}, {@code * files /models/*}, {@code root all}.
   * Permissions are submit, watch, stop, read and write (of caches), files and files-read (of
   * paths), and all. The principal * is every authenticated caller. In a pattern, * matches any
   * text and ? one character; /dir/* includes the directory itself. Without rules, every
   * authenticated caller may do everything. The owner of a job may always watch and stop it.
   */
  public SecurityConfiguration setAccess(List<String> rules) {
    AccessRules.of(present("security.access", rules));
    settings.access(rules);
    return this;
  }

  /**
   * Whether nodes may serve other hosts without authentication: everybody who can connect to a node
   * can then run code on it.
   */
  public SecurityConfiguration setAllowUnauthenticated(boolean allowed) {
    settings.allowUnauthenticated(allowed);
    return this;
  }

  /**
   * Whether connections to the nodes' servers are encrypted: "auto": if a node has a certificate
   * (system properties tensorflow.ignite.tls.certificate and tensorflow.ignite.tls.key, or
   * IgniteConfiguration.sslContextFactory); "required": a node without one does not start its
   * service; "off".
   */
  public SecurityConfiguration setTls(String mode) {
    tls = choice("security.tls", TlsSettings.Mode.class, mode, "'auto', 'required' or 'off'");
    return this;
  }

  /**
   * "required": a caller must have a certificate that an authority of the node has signed (mutual
   * TLS), unless it is a task of this cluster; "none": callers need no certificate.
   */
  public SecurityConfiguration setClientCertificates(String mode) {
    if (!"none".equals(mode) && !"required".equals(mode)) {
      throw invalid(
          "security.clientCertificates", "'" + mode + "'", "It must be 'none' or 'required'");
    }
    clientCertificates = mode.equals("required");
    return this;
  }

  /**
   * Takes the tokens and the rules of the configuration of this node. Where either side has none,
   * those of the cluster stay: a node that joins neither opens the cluster nor locks out the tasks
   * of the others.
   */
  void takeCallers(SecurityConfiguration own) {
    if (!own.settings.tokens().isEmpty() && !settings.tokens().isEmpty()) {
      settings.tokens(own.settings.tokens());
    }
    if (!own.settings.access().isEmpty() && !settings.access().isEmpty()) {
      settings.access(own.settings.access());
    }
  }

  SecuritySettings settings() {
    return new SecuritySettings(settings);
  }

  TlsSettings tls() {
    return new TlsSettings(tls, clientCertificates);
  }
}
