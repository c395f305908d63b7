package io.tensorflowignite.security;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** Who is asked who he is, and who may do what: the same on every node. */
public final class SecuritySettings implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Pattern DIGEST = Pattern.compile("[0-9a-f]{64}");
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._@-]{0,99}");

  /** Whether callers are asked who they are. */
  public enum Mode {
    /** When there is something that can judge the answer. */
    AUTO,
    REQUIRED,
    NONE
  }

  private Mode mode = Mode.AUTO;
  private HashMap<String, String> tokens = new HashMap<>();
  private ArrayList<String> access = new ArrayList<>();
  private boolean allowUnauthenticated;

  /** What a node has that has just been configured. */
  public SecuritySettings() {}

  /** These settings at this moment: a bean may go on changing its own. */
  public SecuritySettings(SecuritySettings other) {
    mode = other.mode;
    tokens = new HashMap<>(other.tokens);
    access = new ArrayList<>(other.access);
    allowUnauthenticated = other.allowUnauthenticated;
  }

  public void mode(String name) {
    for (Mode known : Mode.values()) {
      if (known.name().toLowerCase(Locale.ROOT).equals(name)) {
        mode = known;
        return;
      }
    }
    throw new IllegalArgumentException(
        String.format(
            "TensorFlowService.authentication is '%s'. It must be auto, required or none. Correct"
                + " it in the configuration.",
            name));
  }

  public void tokens(Map<String, String> digests) {
    HashMap<String, String> checked = new HashMap<>();
    digests.forEach(
        (name, digest) -> {
          if (name == null || !NAME.matcher(name).matches()) {
            throw invalidToken("has a name with other characters than are allowed");
          }
          // What stands there is not shown: it may be the token itself, by mistake.
          if (digest == null || !DIGEST.matcher(digest).matches()) {
            throw invalidToken("has for '" + name + "' what is no digest");
          }
          checked.put(name, digest);
        });
    tokens = checked;
  }

  public void access(List<String> rules) {
    Access.of(rules);
    access = new ArrayList<>(rules);
  }

  public void allowUnauthenticated(boolean allowed) {
    allowUnauthenticated = allowed;
  }

  public Mode mode() {
    return mode;
  }

  /** SHA-256 of each token, in hexadecimal, by the name of who has the token. */
  public Map<String, String> tokens() {
    return Collections.unmodifiableMap(tokens);
  }

  public List<String> access() {
    return Collections.unmodifiableList(access);
  }

  /** Whether everybody who reaches the node may use it, when it can be reached from elsewhere. */
  public boolean allowsUnauthenticated() {
    return allowUnauthenticated;
  }

  private static IllegalArgumentException invalidToken(String what) {
    return new IllegalArgumentException(
        "TensorFlowService.tokens "
            + what
            + ". It maps names (1 to 100 of letters, digits and . _ @ -, the first a letter or a"
            + " digit) to the SHA-256 of the token, 64 lower-case hexadecimal digits. Correct it"
            + " in the configuration: printf %s TOKEN | sha256sum");
  }
}
