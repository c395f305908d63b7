package io.tensorflowignite.security.decide;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** One rule: {@code PRINCIPAL PERMISSIONS [PATTERN]}. */
final class AccessRule {
  private static final String EVERYBODY = "*";

  private final String principal;
  private final Set<Permission> permissions;
  private final String glob;
  private final Pattern pattern;

  private AccessRule(String principal, Set<Permission> permissions, String glob) {
    this.principal = principal;
    this.permissions = permissions;
    this.glob = glob;
    this.pattern = glob == null ? null : compile(glob);
  }

  /** Throws an IllegalArgumentException with the reason and the correct form. */
  static AccessRule parse(String text) {
    String[] words = text.trim().split("\\s+");
    if (words.length < 2 || words.length > 3) {
      throw invalid(text, "has " + words.length + " words");
    }
    Set<Permission> permissions = EnumSet.noneOf(Permission.class);
    for (String word : words[1].split(",", -1)) {
      Optional<Permission> known = Permission.of(word);
      permissions.add(known.orElseThrow(() -> invalid(text, "has no permission '" + word + "'")));
    }
    String glob = words.length == 3 ? words[2] : null;
    if (glob != null) {
      validatePattern(text, permissions, glob);
    }
    return new AccessRule(words[0], permissions, glob);
  }

  private static void validatePattern(String text, Set<Permission> permissions, String glob) {
    Set<Permission.Applies> applies =
        permissions.stream()
            .map(Permission::applies)
            .filter(kind -> kind != Permission.Applies.NOTHING)
            .collect(Collectors.toSet());
    if (applies.isEmpty() || permissions.contains(Permission.ALL)) {
      throw invalid(
          text, "has a pattern, and a permission that does not apply to caches, files or models");
    }
    if (applies.size() > 1 && !glob.equals("*")) {
      throw invalid(text, "has one pattern for several of caches, files and models");
    }
    if (applies.contains(Permission.Applies.PATHS) && !glob.equals("*") && !glob.startsWith("/")) {
      throw invalid(text, "has a pattern of files that does not begin with a slash");
    }
    if (applies.contains(Permission.Applies.PATHS) && matchesNoPath(glob)) {
      throw invalid(text, "has a pattern that no path matches: a part is empty, '.' or '..'");
    }
  }

  private static boolean matchesNoPath(String glob) {
    return glob.length() > 1
        && glob.startsWith("/")
        && Arrays.stream(glob.substring(1).split("/", -1))
            .anyMatch(part -> part.isEmpty() || part.equals(".") || part.equals(".."));
  }

  boolean isOf(Principal caller) {
    return caller.isNamed() && (principal.equals(EVERYBODY) || principal.equals(caller.name));
  }

  /**
   * @param object a cache's name or a path; null: any object
   */
  boolean grants(Permission permission, String object) {
    return has(permission) && (object == null || pattern == null || matches(object));
  }

  /** Whether the rule grants everything below a directory, not only the directory itself. */
  boolean grantsBelow(Permission permission, String directory) {
    String below = directory.endsWith("/") ? directory : directory + "/";
    return has(permission)
        && (pattern == null || (glob.endsWith("*") && pattern.matcher(below).matches()));
  }

  /** Whether a path leads to files that the rule allows to read. */
  boolean leadsThrough(String path) {
    if (!has(Permission.FILES_READ)) {
      return false;
    }
    String directory = path.endsWith("/") ? path : path + "/";
    return glob == null || literal(glob).startsWith(directory);
  }

  private boolean has(Permission permission) {
    return permissions.stream().anyMatch(given -> given.includes(permission));
  }

  /** {@code /dir/*} matches the directory itself and everything below it. */
  private boolean matches(String object) {
    return pattern.matcher(object).matches()
        || (object.startsWith("/") && glob.endsWith("/*") && glob.equals(object + "/*"));
  }

  private static String literal(String glob) {
    return glob.split("[*?]", 2)[0];
  }

  private static Pattern compile(String glob) {
    StringBuilder regex = new StringBuilder();
    for (char letter : glob.replaceAll("\\*+", "*").toCharArray()) {
      regex.append(
          letter == '*' ? ".*" : letter == '?' ? "." : Pattern.quote(String.valueOf(letter)));
    }
    return Pattern.compile(regex.toString(), Pattern.DOTALL);
  }

  private static IllegalArgumentException invalid(String text, String reason) {
    List<Permission> all = Arrays.asList(Permission.values());
    return new IllegalArgumentException(
        String.format(
            "TensorFlowService.security.access: the rule '%s' %s. A rule is PRINCIPAL PERMISSIONS"
                + " [PATTERN]: a name or *, permissions of %s with commas between, and for caches,"
                + " files or models a pattern with * and ?, such as 'alice read images*' or '*"
                + " files /models/*'. Change this rule in the configuration.",
            text, reason, all));
  }
}
