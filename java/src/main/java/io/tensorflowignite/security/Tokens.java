package io.tensorflowignite.security;

import com.google.common.io.BaseEncoding;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The tokens of the configuration, as digests: what is random over 32 bytes needs no salt. */
final class Tokens {
  private final Map<String, byte[]> digests = new LinkedHashMap<>();

  Tokens(Map<String, String> hexDigests) {
    hexDigests.forEach(
        (name, digest) -> digests.put(name, BaseEncoding.base16().lowerCase().decode(digest)));
  }

  boolean isEmpty() {
    return digests.isEmpty();
  }

  /** Who has this token. It is compared with every one in full: time tells nothing of any. */
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
