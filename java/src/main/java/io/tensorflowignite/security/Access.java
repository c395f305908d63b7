package io.tensorflowignite.security;

import java.util.List;
import java.util.stream.Collectors;

/** The rules of the cluster: who may do what. Tasks have none, since their job says it. */
public final class Access {
  private final List<AccessRule> rules;

  private Access(List<AccessRule> rules) {
    this.rules = rules;
  }

  /**
   * @param rules as {@code TensorFlowService.access} has them. None: every principal may do
   *     everything, as in Ignite without a security plugin.
   */
  public static Access of(List<String> rules) {
    return new Access(rules.stream().map(AccessRule::parse).collect(Collectors.toList()));
  }

  /**
   * Whether a rule gives a principal a permission.
   *
   * @param object the cache's name or the path, where the permission is of these; null: of any.
   */
  boolean allows(Principal who, Permission permission, String object) {
    return who.isNamed()
        && (rules.isEmpty()
            || rules.stream().anyMatch(rule -> rule.isOf(who) && rule.gives(permission, object)));
  }

  /** Whether a rule gives a principal a permission for whatever may be below a directory. */
  boolean allowsBelow(Principal who, Permission permission, String directory) {
    return who.isNamed()
        && (rules.isEmpty()
            || rules.stream()
                .anyMatch(rule -> rule.isOf(who) && rule.givesBelow(permission, directory)));
  }

  /** Whether a path leads to files that a principal may read, so that it may know it is there. */
  boolean leadsThrough(Principal who, String path) {
    return rules.stream().anyMatch(rule -> rule.isOf(who) && rule.leadsThrough(path));
  }
}
