package io.tensorflowignite.security;

import com.google.common.collect.Lists;
import java.security.cert.X509Certificate;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;

/** The principal of a certificate. */
final class CertificateNames {
  private static final String PREFIX = "cn:";

  private CertificateNames() {}

  /** {@code cn:} and the subject's common name. */
  static String principal(X509Certificate certificate) {
    try {
      String subject = certificate.getSubjectX500Principal().getName();
      // The most specific part comes last.
      for (Rdn part : Lists.reverse(new LdapName(subject).getRdns())) {
        if (part.getType().equalsIgnoreCase("CN") && part.getValue() instanceof String) {
          return PREFIX + part.getValue();
        }
      }
    } catch (InvalidNameException malformed) {
      // Treated as a certificate without a name.
    }
    throw Authentication.unauthenticated(
        "The certificate has no name: its subject has no common name (CN). This cluster identifies"
            + " its clients by it. Connect with a certificate with a common name.");
  }
}
