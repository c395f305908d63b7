package io.tensorflowignite.security;

import java.net.InetSocketAddress;
import java.security.cert.Certificate;
import java.util.Optional;

/** Who knows which passwords are right. */
interface PasswordJudge {
  boolean knowsUsers();

  /**
   * Whether a failure never is a wrong password. If not, a failure counts as one: a guesser must
   * not go faster where a plugin has words of its own for a refusal.
   */
  boolean tellsRefusals();

  /**
   * Empty: there is no such user, or the password is another one.
   *
   * @throws RuntimeException when it could not be found out; its text may be told
   */
  Optional<IgniteSecurityAccess.User> authenticate(
      String user, String password, InetSocketAddress peer, Certificate... certificates);
}
