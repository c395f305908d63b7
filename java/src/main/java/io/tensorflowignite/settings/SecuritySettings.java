package io.tensorflowignite.settings;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** The settings of authentication and access rules. */
public final class SecuritySettings implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Pattern DIGEST = Pattern.compile("[0-9a-f]{64}");
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._@-]{0,99}");

  /** Whether callers must authenticate. */
  public enum Mode {
    /** If credentials can be verified: by Ignite, a security plugin or tokens. */
    AUTO,
    REQUIRED,
    NONE
  }

  private Mode mode = Mode.AUTO;
  private HashMap<String, String> tokens = new HashMap<>();
  private ArrayList<String> access = new ArrayList<>();
  private boolean allowUnauthenticated;

  public SecuritySettings() {}

  /** A copy: a bean may change its own settings later. */
  public SecuritySettings(SecuritySettings other) {
    mode = other.mode;
    tokens = new HashMap<>(other.tokens);
    access = new ArrayList<>(other.access);
    allowUnauthenticated = other.allowUnauthenticated;
  }

  public void mode(Mode mode) {
    this.mode = mode;
  }

  public void tokens(Map<String, String> digests) {
    HashMap<String, String> checked = new HashMap<>();
    digests.forEach(
        (name, digest) -> {
          if (name == null || !NAME.matcher(name).matches()) {
            throw invalidToken("has an invalid name");
          }
          // The value is not shown: it may be the token itself, by mistake.
          if (digest == null || !DIGEST.matcher(digest).matches()) {
            throw invalidToken("has an invalid digest for '" + name + "'");
          }
          checked.put(name, digest);
        });
    tokens = checked;
  }

  /**
   * @param rules rules that {@code AccessRules} has accepted
   */
  public void access(List<String> rules) {
    access = new ArrayList<>(rules);
  }

  public void allowUnauthenticated(boolean allowed) {
    allowUnauthenticated = allowed;
  }

  public Mode mode() {
    return mode;
  }

  /** SHA-256 of each token in hexadecimal, by the name of the token's owner. */
  public Map<String, String> tokens() {
    return Collections.unmodifiableMap(tokens);
  }

  public List<String> access() {
    return Collections.unmodifiableList(access);
  }

  /** Whether a node that other hosts can reach may serve callers without authentication. */
  public boolean allowsUnauthenticated() {
    return allowUnauthenticated;
  }

  private static IllegalArgumentException invalidToken(String fault) {
    return new IllegalArgumentException(
        "TensorFlowService.security.tokens "
            + fault
            + ". It maps names (1 to 100 of letters, digits and . _ @ -, the first a letter or a"
            + " digit) to the SHA-256 of the token, 64 lower-case hexadecimal digits. Set the"
            + " digest in the configuration to the output of: printf %s TOKEN | sha256sum");
  }
}
