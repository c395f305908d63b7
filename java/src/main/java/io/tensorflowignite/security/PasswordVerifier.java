package io.tensorflowignite.security;

import java.net.InetSocketAddress;
import java.security.cert.Certificate;
import java.util.Optional;

/** Verifies passwords. */
interface PasswordVerifier {
  boolean knowsUsers();

  /**
   * Whether a failure is never a wrong password. Otherwise a failure counts as a wrong password, so
   * that guessing is not faster where a plugin reports a denial with its own exception.
   */
  boolean reportsDenials();

  /**
   * The user; empty: there is no such user, or the password is wrong.
   *
   * @throws RuntimeException when the password could not be verified; callers may get its text
   */
  Optional<IgniteSecurityAccess.User> authenticate(
      String user, String password, InetSocketAddress peer, Certificate... certificates);
}
