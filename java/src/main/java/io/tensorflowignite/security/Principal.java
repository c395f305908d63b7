package io.tensorflowignite.security;

/** Who calls. */
public final class Principal {
  /** How it has shown who it is. */
  public enum Kind {
    /** A user of Ignite, with a password. */
    USER,
    /** A token of the service's configuration. */
    TOKEN,
    /** A client's certificate. */
    CERTIFICATE,
    /** A task of a job, with the token that its node gave it. */
    TASK,
    /** Nobody is asked. */
    ANYONE
  }

  static final Principal ANYONE = new Principal("anyone", Kind.ANYONE);

  private final String name;
  private final Kind kind;

  Principal(String name, Kind kind) {
    this.name = name;
    this.kind = kind;
  }

  /** As rules and jobs name it: those of users and tokens are one set of names. */
  public String name() {
    return name;
  }

  public Kind kind() {
    return kind;
  }

  /** Whether rules can be about it. */
  boolean isNamed() {
    return kind != Kind.TASK && kind != Kind.ANYONE;
  }

  @Override
  public String toString() {
    return kind == Kind.TASK ? name : "'" + name + "'";
  }
}
