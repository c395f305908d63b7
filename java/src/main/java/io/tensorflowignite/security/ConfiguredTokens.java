package io.tensorflowignite.security;

import com.google.common.io.BaseEncoding;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The digests of the configured tokens. A token of 32 random bytes needs no salt. */
final class ConfiguredTokens {
  private final Map<String, byte[]> digests = new LinkedHashMap<>();

  ConfiguredTokens(Map<String, String> hexDigests) {
    hexDigests.forEach(
        (name, digest) -> digests.put(name, BaseEncoding.base16().lowerCase().decode(digest)));
  }

  /** The name of a token. Compares with all digests in full, so that the time shows nothing. */
  Optional<String> nameOf(String token) {
    byte[] digest = TaskToken.sha256(token);
    String found = null;
    for (Map.Entry<String, byte[]> known : digests.entrySet()) {
      if (MessageDigest.isEqual(known.getValue(), digest)) {
        found = known.getKey();
      }
    }
    return Optional.ofNullable(found);
  }
}
