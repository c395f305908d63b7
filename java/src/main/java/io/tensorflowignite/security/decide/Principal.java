package io.tensorflowignite.security.decide;

/** An authenticated caller. */
public final class Principal {
  /** The kind of credentials. */
  public enum Kind {
    /** A user of Ignite, with a password. */
    USER,
    /** A configured token. */
    TOKEN,
    /** A client's certificate. */
    CERTIFICATE,
    /** A task of a job, with its token. */
    TASK,
    /** No credentials, without authentication. */
    ANYONE
  }

  public static final Principal ANYONE = new Principal("anyone", Kind.ANYONE);

  /** The name in rules and jobs. Users and tokens share one set of names. */
  public final String name;

  public final Kind kind;

  public Principal(String name, Kind kind) {
    this.name = name;
    this.kind = kind;
  }

  /** Whether rules can apply to the principal. */
  public boolean isNamed() {
    return kind != Kind.TASK && kind != Kind.ANYONE;
  }

  @Override
  public String toString() {
    return kind == Kind.TASK ? name : "'" + name + "'";
  }
}
