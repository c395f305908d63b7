package io.tensorflowignite.security.decide;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.junit.Test;

public class AccessRulesTest {
  private static final Principal ALICE = new Principal("alice", Principal.Kind.USER);
  private static final Principal ETL = new Principal("etl", Principal.Kind.TOKEN);
  private static final Principal ROOT = new Principal("root", Principal.Kind.CERTIFICATE);

  private final AccessRules access =
      rules(
          "alice submit,watch",
          "alice read images*",
          "etl read,write raw_?",
          "* files-read /models/*",
          "etl files /models/etl/*",
          "root all");

  private static AccessRules rules(String... rules) {
    return AccessRules.of(List.of(rules));
  }

  @Test
  public void aRuleGrantsItsPermissionsToItsPrincipalAndEverythingElseIsDenied() {
    assertAllows(ALICE, Permission.SUBMIT, (String) null);
    assertAllows(ALICE, Permission.WATCH, (String) null);
    assertAllows(ALICE, Permission.READ, "images", "images.2026");
    assertDenies(ALICE, Permission.READ, "image", "my-images");
    assertDenies(ALICE, Permission.STOP, (String) null);
    assertDenies(ALICE, Permission.WRITE, "images");
    assertAllows(ETL, Permission.WRITE, "raw_1");
    assertDenies(ETL, Permission.READ, "raw_12");
    assertDenies(ETL, Permission.SUBMIT, (String) null);
    // A star is every authenticated principal; a directory's pattern is all below it, too.
    assertAllows(ALICE, Permission.FILES_READ, "/models", "/models/a", "/models/a/b/c");
    assertDenies(ALICE, Permission.FILES_READ, "/modelsX", "/");
    assertDenies(ALICE, Permission.FILES, "/models/a");
    assertDenies(Principal.ANYONE, Permission.FILES_READ, "/models/a");
    assertDenies(new Principal("task", Principal.Kind.TASK), Permission.FILES_READ, "/models/a");
    // Who may write files may read them.
    assertAllows(ETL, Permission.FILES_READ, "/models/a", "/models/etl/x");
    assertAllows(ETL, Permission.FILES, "/models/etl");
    assertDenies(ETL, Permission.FILES, "/models");
    for (Permission permission : Permission.values()) {
      assertAllows(ROOT, permission, "/or a cache");
    }
  }

  private void assertAllows(Principal principal, Permission permission, String... names) {
    for (String name : names) {
      assertTrue(principal + " " + name, access.allows(principal, permission, name));
    }
  }

  private void assertDenies(Principal principal, Permission permission, String... names) {
    for (String name : names) {
      assertFalse(principal + " " + name, access.allows(principal, permission, name));
    }
  }

  @Test
  public void aDirectorysNameAloneGrantsNothingBelowIt() {
    AccessRules some =
        rules("alice files /", "alice files /a", "alice files /b/*", "alice files /c*");
    assertTrue(some.allows(ALICE, Permission.FILES, "/a"));
    assertFalse(some.allowsBelow(ALICE, Permission.FILES, "/"));
    assertFalse(some.allowsBelow(ALICE, Permission.FILES, "/a"));
    assertTrue(some.allowsBelow(ALICE, Permission.FILES, "/b"));
    assertTrue(some.allowsBelow(ALICE, Permission.FILES_READ, "/b/d"));
    assertTrue(some.allowsBelow(ALICE, Permission.FILES, "/c"));
    assertFalse(some.allowsBelow(ETL, Permission.FILES, "/b"));
    assertFalse(access.allowsBelow(ALICE, Permission.FILES_READ, "/"));
    assertTrue(access.allowsBelow(ROOT, Permission.FILES, "/"));
    assertFalse(rules("alice files /a/*.h5").allowsBelow(ALICE, Permission.FILES, "/a/x.h5"));
    assertFalse(rules("alice files /a?").allowsBelow(ALICE, Permission.FILES, "/ab"));
    assertTrue(rules("alice files /*").allowsBelow(ALICE, Permission.FILES, "/"));
    assertTrue(rules().allowsBelow(ALICE, Permission.FILES, "/"));
  }

  @Test
  public void directoriesOnThePathToAllowedFilesAreVisible() {
    AccessRules deep = rules("alice files /a/b/*");
    assertTrue(deep.leadsThrough(ALICE, "/"));
    assertTrue(deep.leadsThrough(ALICE, "/a"));
    assertFalse(deep.leadsThrough(ALICE, "/b"));
    assertFalse(deep.leadsThrough(ALICE, "/a/bc"));
    assertFalse(deep.leadsThrough(ETL, "/a"));
  }

  @Test
  public void aPatternIsNoRegularExpression() {
    AccessRules dots = rules("alice read a.b+(c)");
    assertTrue(dots.allows(ALICE, Permission.READ, "a.b+(c)"));
    assertFalse(dots.allows(ALICE, Permission.READ, "axb+(c)"));
  }

  @Test
  public void withoutRulesEveryPrincipalMayDoEverything() {
    AccessRules none = rules();
    for (Permission permission : Permission.values()) {
      assertTrue(none.allows(ALICE, permission, "x"));
      assertFalse(none.allows(Principal.ANYONE, permission, "x"));
    }
  }

  @Test
  public void invalidRulesAreRejectedWithTheCorrectForm() {
    for (String wrong :
        List.of(
            "alice",
            "",
            "alice raed images",
            "alice read images more",
            "alice submit images*",
            "alice read,files images*",
            "alice files models/*",
            "alice files /models/",
            "alice files //models/*",
            "alice files /models/../jobs/*",
            "root all images*")) {
      String text = assertThrows(IllegalArgumentException.class, () -> rules(wrong)).getMessage();
      assertTrue(
          text, text.startsWith("TensorFlowService.security.access: the rule '" + wrong + "'"));
      assertTrue(text, text.contains("PRINCIPAL PERMISSIONS [PATTERN]"));
      assertTrue(text, text.contains("files-read"));
      assertTrue(text, text.endsWith("Change this rule in the configuration."));
    }
  }
}
