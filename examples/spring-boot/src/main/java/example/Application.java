package example;

import io.tensorflowignite.TensorFlowJobs;
import io.tensorflowignite.TensorFlowModels;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** The beans: a thin client of Ignite, and the two interfaces of the service on the nodes. */
@SpringBootApplication
public class Application {
  private static final String SERVICE = "tensorflow-ignite";

  public static void main(String[] args) {
    SpringApplication.run(Application.class, args);
  }

  @Bean
  IgniteClient ignite(@Value("${ignite.addresses:localhost:10800}") String[] addresses) {
    return Ignition.startClient(new ClientConfiguration().setAddresses(addresses));
  }

  @Bean
  TensorFlowJobs jobs(IgniteClient ignite) {
    return ignite.services().serviceProxy(SERVICE, TensorFlowJobs.class);
  }

  @Bean
  TensorFlowModels models(IgniteClient ignite) {
    return ignite.services().serviceProxy(SERVICE, TensorFlowModels.class);
  }
}
