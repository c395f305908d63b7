package io.tensorflowignite.security.tls;

import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLContext;

/** The source of a node's certificate, its key and its CA certificates. */
interface CertificateSource {
  /**
   * A context with the current content of the source.
   *
   * @throws io.tensorflowignite.base.TensorFlowIgniteException if the content is invalid
   */
  SSLContext read();

  /** The files to watch for changes; empty: the source cannot change. */
  List<Path> files();

  /**
   * The CA certificates that verify the other nodes' certificates; empty: the CA certificates of
   * the machine.
   */
  List<X509Certificate> authorities();

  /** The name of the source in logs. */
  @Override
  String toString();
}
