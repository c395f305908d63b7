package io.tensorflowignite.security.decide;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import org.junit.Test;

public class AccessRulesTest {
  private static final Principal ALICE = new Principal("alice", Principal.Kind.USER);
  private static final Principal ETL = new Principal("etl", Principal.Kind.TOKEN);
  private static final Principal ROOT = new Principal("root", Principal.Kind.CERTIFICATE);

  private final AccessRules access =
      AccessRules.of(
          Arrays.asList(
              "alice submit,watch",
              "alice read images*",
              "etl read,write raw_?",
              "* files-read /models/*",
              "etl files /models/etl/*",
              "root all"));

  @Test
  public void aRuleGrantsItsPermissionsToItsPrincipal() {
    assertTrue(access.allows(ALICE, Permission.SUBMIT, null));
    assertTrue(access.allows(ALICE, Permission.WATCH, null));
    assertTrue(access.allows(ALICE, Permission.READ, "images"));
    assertTrue(access.allows(ALICE, Permission.READ, "images.2026"));
    assertTrue(access.allows(ETL, Permission.WRITE, "raw_1"));
  }

  @Test
  public void everythingElseIsDenied() {
    assertFalse(access.allows(ALICE, Permission.STOP, null));
    assertFalse(access.allows(ALICE, Permission.WRITE, "images"));
    assertFalse(access.allows(ALICE, Permission.READ, "image"));
    assertFalse(access.allows(ALICE, Permission.READ, "my-images"));
    assertFalse(access.allows(ETL, Permission.READ, "raw_12"));
    assertFalse(access.allows(ETL, Permission.SUBMIT, null));
    assertFalse(access.allows(ALICE, Permission.FILES, "/models/a"));
  }

  @Test
  public void aStarIsEveryAuthenticatedPrincipal() {
    assertTrue(access.allows(ALICE, Permission.FILES_READ, "/models/a"));
    assertTrue(access.allows(ETL, Permission.FILES_READ, "/models/a"));
    assertFalse(access.allows(Principal.ANYONE, Permission.FILES_READ, "/models/a"));
    assertFalse(
        access.allows(
            new Principal("task", Principal.Kind.TASK), Permission.FILES_READ, "/models/a"));
  }

  @Test
  public void allIsEverything() {
    for (Permission permission : Permission.values()) {
      assertTrue(access.allows(ROOT, permission, "/or a cache"));
    }
  }

  @Test
  public void aDirectorysPatternIsTheDirectoryAndAllBelowIt() {
    assertTrue(access.allows(ALICE, Permission.FILES_READ, "/models"));
    assertTrue(access.allows(ALICE, Permission.FILES_READ, "/models/a/b/c"));
    assertFalse(access.allows(ALICE, Permission.FILES_READ, "/modelsX"));
    assertFalse(access.allows(ALICE, Permission.FILES_READ, "/"));
    assertTrue(access.allows(ETL, Permission.FILES, "/models/etl"));
    assertFalse(access.allows(ETL, Permission.FILES, "/models"));
  }

  @Test
  public void aDirectorysNameAloneGrantsNothingBelowIt() {
    AccessRules some =
        AccessRules.of(
            Arrays.asList(
                "alice files /", "alice files /a", "alice files /b/*", "alice files /c*"));
    assertTrue(some.allows(ALICE, Permission.FILES, "/a"));
    assertFalse(some.allowsBelow(ALICE, Permission.FILES, "/"));
    assertFalse(some.allowsBelow(ALICE, Permission.FILES, "/a"));
    assertTrue(some.allowsBelow(ALICE, Permission.FILES, "/b"));
    assertTrue(some.allowsBelow(ALICE, Permission.FILES_READ, "/b/d"));
    assertTrue(some.allowsBelow(ALICE, Permission.FILES, "/c"));
    assertFalse(some.allowsBelow(ETL, Permission.FILES, "/b"));
    assertFalse(access.allowsBelow(ALICE, Permission.FILES_READ, "/"));
    assertTrue(access.allowsBelow(ROOT, Permission.FILES, "/"));
    AccessRules ends = AccessRules.of(Collections.singletonList("alice files /a/*.h5"));
    assertFalse(ends.allowsBelow(ALICE, Permission.FILES, "/a/x.h5"));
    AccessRules inside = AccessRules.of(Collections.singletonList("alice files /a?"));
    assertFalse(inside.allowsBelow(ALICE, Permission.FILES, "/ab"));
    AccessRules all = AccessRules.of(Collections.singletonList("alice files /*"));
    assertTrue(all.allowsBelow(ALICE, Permission.FILES, "/"));
    assertTrue(AccessRules.of(Collections.emptyList()).allowsBelow(ALICE, Permission.FILES, "/"));
  }

  @Test
  public void permissionToWriteFilesIncludesReading() {
    assertTrue(access.allows(ETL, Permission.FILES_READ, "/models/etl/x"));
  }

  @Test
  public void directoriesOnThePathToAllowedFilesAreVisible() {
    AccessRules deep = AccessRules.of(Collections.singletonList("alice files /a/b/*"));
    assertTrue(deep.leadsThrough(ALICE, "/"));
    assertTrue(deep.leadsThrough(ALICE, "/a"));
    assertFalse(deep.leadsThrough(ALICE, "/b"));
    assertFalse(deep.leadsThrough(ALICE, "/a/bc"));
    assertFalse(deep.leadsThrough(ETL, "/a"));
  }

  @Test
  public void aPatternIsNoRegularExpression() {
    AccessRules dots = AccessRules.of(Collections.singletonList("alice read a.b+(c)"));
    assertTrue(dots.allows(ALICE, Permission.READ, "a.b+(c)"));
    assertFalse(dots.allows(ALICE, Permission.READ, "axb+(c)"));
  }

  @Test
  public void withoutRulesEveryPrincipalMayDoEverything() {
    AccessRules none = AccessRules.of(Collections.emptyList());
    for (Permission permission : Permission.values()) {
      assertTrue(none.allows(ALICE, permission, "x"));
      assertFalse(none.allows(Principal.ANYONE, permission, "x"));
    }
  }

  @Test
  public void invalidRulesAreRejectedWithTheCorrectForm() {
    for (String wrong :
        Arrays.asList(
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
      String text =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> AccessRules.of(Collections.singletonList(wrong)))
              .getMessage();
      assertTrue(text, text.startsWith("TensorFlowService.access: the rule '" + wrong + "'"));
      assertTrue(text, text.contains("PRINCIPAL PERMISSIONS [PATTERN]"));
      assertTrue(text, text.contains("files-read"));
      assertTrue(text, text.endsWith("Change this rule in the configuration."));
    }
    assertEquals("files-read", Permission.FILES_READ.toString());
  }
}
