package io.tensorflowignite.security;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.hash.Hashing;
import io.tensorflowignite.TensorFlowIgniteException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Optional;
import org.junit.Test;

public class SecuritySettingsTest {
  private static final String TOKEN = "kGf3sH1iQqWkq0k3uN5mJ7b0m6b0mZ0uYk1n3zj0x2Q";
  private static final String DIGEST =
      Hashing.sha256().hashString(TOKEN, StandardCharsets.UTF_8).toString();

  private final SecuritySettings settings = new SecuritySettings();

  @Test
  public void nobodyIsAskedUntilSomethingCanJudgeAnswers() {
    assertFalse(Policy.of(settings, false, false).asks());
    assertTrue(Policy.of(settings, true, false).asksCredentials());
    settings.tokens(Collections.singletonMap("etl", DIGEST));
    assertTrue(Policy.of(settings, false, false).asksCredentials());
  }

  @Test
  public void aCertificateIsEnoughWhereNothingElseIsAskedFor() {
    Policy policy = Policy.of(settings, false, true);
    assertTrue(policy.asks());
    assertFalse(policy.asksCredentials());
    assertTrue(Policy.of(settings, true, true).asksCredentials());
  }

  @Test
  public void noneAsksNobodyWhateverThereIs() {
    settings.mode("none");
    assertFalse(Policy.of(settings, true, false).asks());
  }

  @Test
  public void requiredWithNothingToJudgeByIsRefused() {
    settings.mode("required");
    assertRefused("nothing could judge", () -> Policy.of(settings, false, false));
    assertTrue(Policy.of(settings, true, false).asks());
    assertTrue(Policy.of(settings, false, true).asks());
  }

  @Test
  public void rulesForNobodyAreRefused() {
    settings.access(Collections.singletonList("alice all"));
    assertRefused("nobody is asked", () -> Policy.of(settings, false, false));
  }

  @Test
  public void whatEverybodyReachesMustAskOrBeDecided() {
    Policy open = Policy.of(settings, false, false);
    assertFalse(open.requireAllowed(settings, "127.0.0.1", true));
    assertRefused(
        "allowUnauthenticated=true", () -> open.requireAllowed(settings, "0.0.0.0", false));
    assertFalse(Policy.of(settings, true, false).requireAllowed(settings, "0.0.0.0", false));
    settings.allowUnauthenticated(true);
    assertTrue(open.requireAllowed(settings, "0.0.0.0", false));
  }

  @Test
  public void aTokenIsKnownByItsDigest() {
    settings.tokens(Collections.singletonMap("etl", DIGEST));
    Tokens tokens = new Tokens(settings.tokens());
    assertEquals(Optional.of("etl"), tokens.nameOf(TOKEN));
    assertEquals(Optional.empty(), tokens.nameOf(DIGEST));
    assertEquals(Optional.empty(), tokens.nameOf(""));
  }

  @Test
  public void aTokenInPlaceOfItsDigestIsRefusedAndNotShown() {
    String text =
        assertThrows(
                IllegalArgumentException.class,
                () -> settings.tokens(Collections.singletonMap("etl", TOKEN)))
            .getMessage();
    assertTrue(text, text.startsWith("TensorFlowService.tokens has for 'etl' what is no digest."));
    assertTrue(text, text.contains("64 lower-case hexadecimal digits"));
    assertFalse(text, text.contains(TOKEN));
    assertThrows(
        IllegalArgumentException.class,
        () -> settings.tokens(Collections.singletonMap("a b", DIGEST)));
  }

  @Test
  public void anotherWordThanTheThreeIsRefused() {
    String text =
        assertThrows(IllegalArgumentException.class, () -> settings.mode("yes")).getMessage();
    assertTrue(text, text.contains("auto, required or none"));
  }

  private static void assertRefused(String why, Runnable call) {
    String text = assertThrows(TensorFlowIgniteException.class, call::run).getMessage();
    assertTrue(text, text.contains(why));
  }
}
