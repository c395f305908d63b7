package io.tensorflowignite.security.tls;

import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLContext;

/** Where a node's certificate, its key and its authorities come from. */
interface CertificateSource {
  /**
   * A context of what stands there now.
   *
   * @throws io.tensorflowignite.TensorFlowIgniteException if it is not fit for use
   */
  SSLContext read();

  /** The files whose change calls for another look; empty: it cannot change. */
  List<Path> files();

  /**
   * The authorities by which the other nodes' certificates can be verified; empty: those that the
   * machine trusts.
   */
  List<X509Certificate> authorities();

  /** The source in words, for the log. */
  @Override
  String toString();
}
