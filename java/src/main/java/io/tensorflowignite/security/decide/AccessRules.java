package io.tensorflowignite.security.decide;

import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The cluster's rules of permissions. They do not apply to tasks, which have a {@link TaskScope}.
 */
public final class AccessRules {
  private final List<AccessRule> rules;

  private AccessRules(List<AccessRule> rules) {
    this.rules = rules;
  }

  /**
   * @param rules the value of {@code TensorFlowService.security.access}; without rules every
   *     principal may do everything, as in Ignite without a security plugin
   */
  public static AccessRules of(List<String> rules) {
    return new AccessRules(rules.stream().map(AccessRule::parse).collect(Collectors.toList()));
  }

  /**
   * Whether a rule grants a permission to a principal.
   *
   * @param object the name of the cache, or the path of the file; null: any object
   */
  public boolean allows(Principal principal, Permission permission, String object) {
    return anyRule(principal, rule -> rule.grants(permission, object));
  }

  /** Whether a rule grants a permission for everything below a directory. */
  public boolean allowsBelow(Principal principal, Permission permission, String directory) {
    return anyRule(principal, rule -> rule.grantsBelow(permission, directory));
  }

  private boolean anyRule(Principal principal, Predicate<AccessRule> grants) {
    return principal.isNamed()
        && (rules.isEmpty()
            || rules.stream().anyMatch(rule -> rule.isOf(principal) && grants.test(rule)));
  }

  /** Whether a path leads to files that a principal may read, so that the path may be shown. */
  public boolean leadsThrough(Principal principal, String path) {
    return rules.stream().anyMatch(rule -> rule.isOf(principal) && rule.leadsThrough(path));
  }
}
