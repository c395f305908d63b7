package io.tensorflowignite.security;

import com.google.common.collect.Lists;
import java.security.cert.X509Certificate;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;

/** Who a certificate is of. */
final class CertificateNames {
  private static final String PREFIX = "cn:";

  private CertificateNames() {}

  /** {@code cn:} and its subject's common name. */
  static String principal(X509Certificate certificate) {
    try {
      String subject = certificate.getSubjectX500Principal().getName();
      // The part that is the subject's own comes last.
      for (Rdn part : Lists.reverse(new LdapName(subject).getRdns())) {
        if (part.getType().equalsIgnoreCase("CN") && part.getValue() instanceof String) {
          return PREFIX + part.getValue();
        }
      }
    } catch (InvalidNameException malformed) {
      // As one without a name.
    }
    throw Authentication.unauthenticated(
        "The certificate names nobody: its subject has no common name (CN). This cluster knows its"
            + " clients by it. Connect with a certificate that has one.");
  }
}
