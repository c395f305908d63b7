package io.tensorflowignite.security;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.hash.Hashing;
import io.tensorflowignite.security.decide.AuthenticationPolicy;
import io.tensorflowignite.settings.SecuritySettings;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.Test;

public class SecuritySettingsTest {
  private static final String TOKEN = "kGf3sH1iQqWkq0k3uN5mJ7b0m6b0mZ0uYk1n3zj0x2Q";
  private static final String DIGEST =
      Hashing.sha256().hashString(TOKEN, StandardCharsets.UTF_8).toString();

  private final SecuritySettings settings = new SecuritySettings();

  @Test
  public void authenticationIsOffUntilCredentialsOrCertificatesCanBeVerified() {
    assertFalse(AuthenticationPolicy.of(settings, false, false).requiresAuthentication());
    assertTrue(AuthenticationPolicy.of(settings, true, false).requiresCredentials);
    AuthenticationPolicy certificates = AuthenticationPolicy.of(settings, false, true);
    assertTrue(certificates.requiresAuthentication());
    assertFalse(certificates.requiresCredentials);
    assertTrue(AuthenticationPolicy.of(settings, true, true).requiresCredentials);
    settings.tokens(Map.of("etl", DIGEST));
    assertTrue(AuthenticationPolicy.of(settings, false, false).requiresCredentials);
    settings.mode(SecuritySettings.Mode.NONE);
    assertFalse(AuthenticationPolicy.of(settings, true, false).requiresAuthentication());
  }

  @Test
  public void requiredWithoutAVerifierAndRulesWithoutAuthenticationAreRejected() {
    settings.access(List.of("alice all"));
    assertRefused(() -> AuthenticationPolicy.of(settings, false, false), "do not authenticate");
    settings.access(List.of());
    settings.mode(SecuritySettings.Mode.REQUIRED);
    assertRefused(() -> AuthenticationPolicy.of(settings, false, false), "nothing can verify");
    assertTrue(AuthenticationPolicy.of(settings, true, false).requiresAuthentication());
    assertTrue(AuthenticationPolicy.of(settings, false, true).requiresAuthentication());
  }

  @Test
  public void aPublicAddressNeedsAuthenticationOrAnExplicitDecision() {
    AuthenticationPolicy open = AuthenticationPolicy.of(settings, false, false);
    assertFalse(open.requireAllowed(settings, "127.0.0.1", true));
    assertRefused(
        () -> open.requireAllowed(settings, "0.0.0.0", false),
        "security.allowUnauthenticated=true");
    assertFalse(
        AuthenticationPolicy.of(settings, true, false).requireAllowed(settings, "0.0.0.0", false));
    settings.allowUnauthenticated(true);
    assertTrue(open.requireAllowed(settings, "0.0.0.0", false));
  }

  @Test
  public void aTokenIsKnownByItsDigest() {
    settings.tokens(Map.of("etl", DIGEST));
    ConfiguredTokens tokens = new ConfiguredTokens(settings.tokens());
    assertEquals(Optional.of("etl"), tokens.nameOf(TOKEN));
    assertEquals(Optional.empty(), tokens.nameOf(DIGEST));
    assertEquals(Optional.empty(), tokens.nameOf(""));
  }

  @Test
  public void aTokenInsteadOfItsDigestIsRejectedAndNotShown() {
    String text =
        assertThrows(IllegalArgumentException.class, () -> settings.tokens(Map.of("etl", TOKEN)))
            .getMessage();
    assertTrue(
        text,
        text.startsWith("TensorFlowService.security.tokens has an invalid digest for 'etl'."));
    assertTrue(text, text.contains("64 lower-case hexadecimal digits"));
    assertFalse(text, text.contains(TOKEN));
    assertThrows(IllegalArgumentException.class, () -> settings.tokens(Map.of("a b", DIGEST)));
  }
}
