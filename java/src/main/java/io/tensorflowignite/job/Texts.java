package io.tensorflowignite.job;

import io.tensorflowignite.v1.Role;
import java.util.Locale;

/** How things are written in messages. */
public final class Texts {
  private static final int SHORT_ID = 8;

  private Texts() {}

  public static String role(Role role) {
    return role.name().toLowerCase(Locale.ROOT);
  }

  /** Enough of a node's id to know it by. */
  public static String shortId(String id) {
    return id.length() <= SHORT_ID ? id : id.substring(0, SHORT_ID);
  }
}
