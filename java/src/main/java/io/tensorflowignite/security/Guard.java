package io.tensorflowignite.security;

import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_CREATE;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_DESTROY;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_PUT;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_READ;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_CANCEL;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_DEPLOY;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_INVOKE;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.TaskKey;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.ignite.plugin.security.SecurityPermission;

/**
 * What every method asks before it does anything: whether the caller of the present call may. The
 * rules decide, and for a user of Ignite its security plugin as well; for a task its job.
 */
public final class Guard {
  /** How Ignite's plugin knows what is of the service, and not of a cache. */
  private static final String SERVICE = "tensorflow-ignite";

  private final Access access;
  private final Predicate<String> systemCaches;
  private final String storage;

  private Guard(Access access, Predicate<String> systemCaches, String storage) {
    this.access = access;
    this.systemCaches = systemCaches;
    this.storage = storage;
  }

  /**
   * @param systemCaches whether a cache is not a user's but the service's own, which hold every job
   *     and file
   * @param storage the cache that stands for all files, where Ignite's plugin is asked
   */
  public static Guard of(Access access, Predicate<String> systemCaches, String storage) {
    return new Guard(access, systemCaches, storage);
  }

  /** Of services that stand behind no {@code Authentication}: everybody may do everything. */
  public static Guard open() {
    return new Guard(null, null, null);
  }

  /** Who a job of the present caller belongs to; empty: nobody is asked. */
  public String owner() {
    Principal who = caller().principal();
    return who.isNamed() ? who.name() : "";
  }

  /** To bring code, and jobs that run it. */
  public void submit() {
    require(Permission.SUBMIT, null, SERVICE_DEPLOY, SERVICE);
  }

  /** Of a job, its output and its row. */
  public boolean mayWatch(Job job) {
    Caller caller = caller();
    return caller.task().map(task -> task.hasJob(job.getId())).orElse(false)
        || owns(caller, job)
        || may(caller, Permission.WATCH, null, SERVICE_INVOKE, SERVICE);
  }

  public void watch(Job job) {
    requireOf(job, Permission.WATCH, mayWatch(job));
  }

  /** Those of some jobs that the caller may watch: what it may not, it is not told of. */
  public List<Job> watchable(Collection<Job> jobs) {
    List<Job> shown = jobs.stream().filter(this::mayWatch).collect(Collectors.toList());
    caller().judged();
    return shown;
  }

  public boolean mayStop(Job job) {
    Caller caller = caller();
    return owns(caller, job) || may(caller, Permission.STOP, null, SERVICE_CANCEL, SERVICE);
  }

  /** To end or to remove a job. */
  public void stop(Job job) {
    requireOf(job, Permission.STOP, mayStop(job));
  }

  /** Which nodes there are. */
  public void nodes() {
    require(Permission.WATCH, null, SERVICE_INVOKE, SERVICE);
  }

  public void readCache(String cache) {
    requireUsers(cache);
    require(Permission.READ, cache, CACHE_READ, cache);
  }

  /**
   * To write rows.
   *
   * @param made whether the cache is made for it
   * @param destroyed whether a cache of this name is destroyed before
   */
  public void writeCache(String cache, boolean made, boolean destroyed) {
    requireUsers(cache);
    require(Permission.WRITE, cache, CACHE_PUT, cache);
    if (made) {
      require(Permission.WRITE, cache, CACHE_CREATE, cache);
    }
    if (destroyed) {
      require(Permission.WRITE, cache, CACHE_DESTROY, cache);
    }
  }

  /** To know what a file consists of, or a directory has. */
  public void readFile(String path) {
    require(Permission.FILES_READ, path, CACHE_READ, storage);
  }

  /**
   * To know that a directory is there, which leads to files that the caller may read.
   *
   * @return whether the caller may read what is at the path; if not, it may only see a directory
   */
  public boolean seeFile(String path) {
    Caller caller = caller();
    boolean leads =
        caller
            .task()
            .map(task -> task.leadsThrough(path))
            .orElseGet(() -> access != null && access.leadsThrough(caller.principal(), path));
    if (may(caller, Permission.FILES_READ, path, CACHE_READ, storage)) {
      caller.judged();
      return true;
    }
    if (!leads) {
      throw denied(caller, Permission.FILES_READ, path);
    }
    caller.judged();
    return false;
  }

  /**
   * To change what is at a path.
   *
   * @param task who makes the change, as the request says; a task says it of itself only
   */
  public void writeFile(String path, TaskKey task) {
    Caller caller = caller();
    boolean another =
        caller.task().isPresent()
            && !task.equals(TaskKey.getDefaultInstance())
            && !task.equals(caller.task().get().task());
    if (another) {
      throw new TensorFlowIgniteException(
          ErrorCode.PERMISSION_DENIED,
          String.format(
              "The %s may not change '%s' in the name of the %s. A task changes files in its own"
                  + " name. Name this one.",
              caller.principal(), path, TaskNames.of(task)));
    }
    require(Permission.FILES, path, CACHE_PUT, storage);
  }

  /** To change a directory and whatever is below it, as {@code writeFile} is for what is there. */
  public void writeTree(String path, TaskKey task) {
    writeFile(path, task);
    requireBelow(Permission.FILES, path);
  }

  /** To know a directory and whatever is below it. */
  private void readTree(String path) {
    readFile(path);
    requireBelow(Permission.FILES_READ, path);
  }

  /**
   * To read blocks of an extent. A call names an extent alone, since a file's blocks are read one
   * by one and finding its path would cost a search of the whole tree. So the extent's id is what
   * opens it: 122 random bits of a secure generator, told only in the answers about a file to those
   * who may read or write it. Who may use no file at all reads none.
   */
  public void readBlocks() {
    require(Permission.FILES_READ, null, CACHE_READ, storage);
  }

  /** To write blocks of whatever extent: which one, and so of which file, a message says. */
  public void writeBlocks() {
    require(Permission.FILES, null, CACHE_PUT, storage);
  }

  /** To know of every block, and with its extent's id to read it: of who may read all files. */
  public void checkBlocks() {
    readTree("/");
  }

  private void requireUsers(String cache) {
    Caller caller = caller();
    if (caller.principal().kind() != Principal.Kind.ANYONE && systemCaches.test(cache)) {
      throw new TensorFlowIgniteException(
          ErrorCode.PERMISSION_DENIED,
          String.format(
              "The cache '%s' is the service's own: it holds jobs or files of everybody. No rule"
                  + " opens it. Use the calls for jobs and files.",
              cache));
    }
  }

  private void requireOf(Job job, Permission permission, boolean may) {
    if (!may) {
      throw denied(caller(), permission, "job " + job.getId());
    }
    caller().judged();
  }

  private void require(
      Permission permission, String object, SecurityPermission ignitePermission, String name) {
    Caller caller = caller();
    if (!may(caller, permission, object, ignitePermission, name)) {
      throw denied(caller, permission, object);
    }
    caller.judged();
  }

  /** Of who has the permission for the directory itself. */
  private void requireBelow(Permission permission, String directory) {
    Caller caller = caller();
    boolean may =
        caller.principal().kind() == Principal.Kind.ANYONE
            // What a task uses is whole directories.
            || caller.task().isPresent()
            || access.allowsBelow(caller.principal(), permission, directory);
    if (!may) {
      throw denied(
          caller, permission, directory.endsWith("/") ? directory + "*" : directory + "/*");
    }
  }

  private boolean may(
      Caller caller,
      Permission permission,
      String object,
      SecurityPermission ignitePermission,
      String name) {
    if (caller.principal().kind() == Principal.Kind.ANYONE) {
      return true;
    }
    if (caller.task().isPresent()) {
      return mayTask(caller.task().get(), permission, object);
    }
    return access.allows(caller.principal(), permission, object)
        && caller.user().map(user -> user.allows(ignitePermission, name)).orElse(true);
  }

  private static boolean mayTask(TaskScope task, Permission permission, String object) {
    switch (permission) {
      case READ:
        return task.reads(object);
      case FILES:
      case FILES_READ:
        return object == null || task.usesFile(object);
      default:
        return false;
    }
  }

  private static boolean owns(Caller caller, Job job) {
    Principal who = caller.principal();
    return who.isNamed() && who.name().equals(job.getOwner());
  }

  private Caller caller() {
    Caller caller = Caller.KEY.get();
    if (caller == null && access == null) {
      return Caller.of(Principal.ANYONE);
    }
    if (caller == null) {
      throw new IllegalStateException("A call came past Authentication");
    }
    return caller;
  }

  private static TensorFlowIgniteException denied(
      Caller caller, Permission permission, String object) {
    String of = object == null ? "" : ", " + object;
    boolean everywhere = object == null || permission.applies() == Permission.Applies.NOTHING;
    String pattern = everywhere ? "" : " " + object;
    String rule =
        caller
            .task()
            .map(
                task ->
                    "A task "
                        + task.told(permission).orElse("watches its own job")
                        + ", and no more. Name further caches when you submit the job"
                        + " (more_caches), or let the script do without.")
            .orElseGet(
                () ->
                    "Permissions come from rules (TensorFlowService.access), and from Ignite's"
                        + " security plugin where there is one. Ask who runs the cluster for a rule"
                        + " like '"
                        + caller.principal().name()
                        + " "
                        + permission
                        + pattern
                        + "'.");
    return new TensorFlowIgniteException(
        ErrorCode.PERMISSION_DENIED,
        String.format(
            "%s lacks the permission %s%s. %s",
            caller.task().isPresent() ? "The " + caller.principal() : caller.principal(),
            permission,
            of,
            rule));
  }
}
