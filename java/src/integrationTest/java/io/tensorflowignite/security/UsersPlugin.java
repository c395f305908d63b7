package io.tensorflowignite.security;

import java.io.Serializable;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.IgniteNodeAttributes;
import org.apache.ignite.internal.processors.GridProcessorAdapter;
import org.apache.ignite.internal.processors.security.GridSecurityProcessor;
import org.apache.ignite.internal.processors.security.SecurityContext;
import org.apache.ignite.plugin.CachePluginContext;
import org.apache.ignite.plugin.CachePluginProvider;
import org.apache.ignite.plugin.ExtensionRegistry;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginConfiguration;
import org.apache.ignite.plugin.PluginContext;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityCredentials;
import org.apache.ignite.plugin.security.SecurityException;
import org.apache.ignite.plugin.security.SecurityPermission;
import org.apache.ignite.plugin.security.SecurityPermissionSet;
import org.apache.ignite.plugin.security.SecurityPermissionSetBuilder;
import org.apache.ignite.plugin.security.SecuritySubject;
import org.apache.ignite.plugin.security.SecuritySubjectType;

/** A security plugin of Ignite: users with passwords and permissions. */
final class UsersPlugin implements PluginProvider<PluginConfiguration> {
  private static final SecurityCredentials NODE = new SecurityCredentials("node", "nodes password");

  private final Map<SecurityCredentials, SecurityPermissionSet> users = new ConcurrentHashMap<>();
  private final Map<UUID, SecurityContext> sessions = new ConcurrentHashMap<>();

  UsersPlugin() {
    user("node", "nodes password", SecurityPermissionSetBuilder.ALL_PERMISSIONS);
  }

  UsersPlugin user(String name, String password, SecurityPermissionSet permissions) {
    users.put(new SecurityCredentials(name, password), permissions);
    return this;
  }

  /** The number of open sessions of a user. */
  long sessions(String user) {
    return sessions.values().stream()
        .filter(session -> session.subject().login().equals(user))
        .count();
  }

  @Override
  public String name() {
    return "users";
  }

  @Override
  public String version() {
    return "1";
  }

  @Override
  public String copyright() {
    return "";
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T extends IgnitePlugin> T plugin() {
    return (T) new IgnitePlugin() {};
  }

  @Override
  public <T> T createComponent(PluginContext context, Class<T> type) {
    return type == GridSecurityProcessor.class
        ? type.cast(new Processor(((IgniteEx) context.grid()).context()))
        : null;
  }

  @Override
  @SuppressWarnings("rawtypes")
  public CachePluginProvider createCacheProvider(CachePluginContext context) {
    return null;
  }

  @Override
  public void initExtensions(PluginContext context, ExtensionRegistry registry) {}

  @Override
  public void start(PluginContext context) {}

  @Override
  public void stop(boolean cancel) {}

  @Override
  public void onIgniteStart() {}

  @Override
  public void onIgniteStop(boolean cancel) {}

  @Override
  public Serializable provideDiscoveryData(UUID node) {
    return null;
  }

  @Override
  public void receiveDiscoveryData(UUID node, Serializable data) {}

  @Override
  @Deprecated
  public void validateNewNode(ClusterNode node) {}

  private final class Processor extends GridProcessorAdapter implements GridSecurityProcessor {
    Processor(GridKernalContext context) {
      super(context);
    }

    @Override
    public void start() throws IgniteCheckedException {
      super.start();
      ctx.addNodeAttribute(IgniteNodeAttributes.ATTR_SECURITY_CREDENTIALS, NODE);
    }

    @Override
    public SecurityContext authenticateNode(ClusterNode node, SecurityCredentials credentials) {
      return open(node.id(), SecuritySubjectType.REMOTE_NODE, null, credentials);
    }

    @Override
    public boolean isGlobalNodeAuthentication() {
      return false;
    }

    /**
     * Plugins deny in two ways: here null for a wrong password, an exception for an unknown user.
     */
    @Override
    public SecurityContext authenticate(AuthenticationContext context)
        throws IgniteCheckedException {
      SecurityContext known =
          open(
              context.subjectId(), context.subjectType(), context.address(), context.credentials());
      Object login = context.credentials().getLogin();
      if (known == null && users.keySet().stream().noneMatch(of -> of.getLogin().equals(login))) {
        throw new IgniteCheckedException("No such user");
      }
      return known;
    }

    private SecurityContext open(
        UUID id,
        SecuritySubjectType type,
        InetSocketAddress address,
        SecurityCredentials credentials) {
      SecurityPermissionSet permissions = users.get(credentials);
      if (permissions == null) {
        return null;
      }
      SecurityContext session =
          new Session(id, type, String.valueOf(credentials.getLogin()), address, permissions);
      sessions.put(id, session);
      return session;
    }

    @Override
    public Collection<SecuritySubject> authenticatedSubjects() {
      return sessions.values().stream().map(SecurityContext::subject).collect(Collectors.toList());
    }

    @Override
    public SecuritySubject authenticatedSubject(UUID id) {
      SecurityContext session = sessions.get(id);
      return session == null ? null : session.subject();
    }

    @Override
    public SecurityContext securityContext(UUID id) {
      return sessions.get(id);
    }

    @Override
    public void authorize(String name, SecurityPermission permission, SecurityContext context) {
      if (!((Session) context).may(name, permission)) {
        throw new SecurityException("Refused [permission=" + permission + ", name=" + name + "]");
      }
    }

    @Override
    public void onSessionExpired(UUID id) {
      sessions.remove(id);
    }

    @Override
    @Deprecated
    public boolean enabled() {
      return true;
    }
  }

  private static final class Session implements SecurityContext, SecuritySubject {
    private static final long serialVersionUID = 1L;

    private final UUID id;
    private final SecuritySubjectType type;
    private final String login;
    private final InetSocketAddress address;
    private final SecurityPermissionSet permissions;

    Session(
        UUID id,
        SecuritySubjectType type,
        String login,
        InetSocketAddress address,
        SecurityPermissionSet permissions) {
      this.id = id;
      this.type = type;
      this.login = login;
      this.address = address;
      this.permissions = permissions;
    }

    boolean may(String name, SecurityPermission permission) {
      switch (permission) {
        case CACHE_READ:
        case CACHE_PUT:
        case CACHE_REMOVE:
          return has(permissions.cachePermissions().get(name), permission);
        case CACHE_CREATE:
        case CACHE_DESTROY:
          return has(permissions.cachePermissions().get(name), permission)
              || has(permissions.systemPermissions(), permission);
        case SERVICE_DEPLOY:
        case SERVICE_CANCEL:
        case SERVICE_INVOKE:
          return has(permissions.servicePermissions().get(name), permission);
        case TASK_EXECUTE:
        case TASK_CANCEL:
          return has(permissions.taskPermissions().get(name), permission);
        default:
          return has(permissions.systemPermissions(), permission);
      }
    }

    private boolean has(Collection<SecurityPermission> given, SecurityPermission permission) {
      return given == null || given.isEmpty()
          ? permissions.defaultAllowAll()
          : given.contains(permission);
    }

    @Override
    public SecuritySubject subject() {
      return this;
    }

    @Override
    public UUID id() {
      return id;
    }

    @Override
    public SecuritySubjectType type() {
      return type;
    }

    @Override
    public Object login() {
      return login;
    }

    @Override
    public InetSocketAddress address() {
      return address;
    }
  }
}
