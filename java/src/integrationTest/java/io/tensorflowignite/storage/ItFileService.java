package io.tensorflowignite.storage;

import static io.tensorflowignite.storage.FileServers.assertRefused;
import static org.junit.Assert.assertEquals;

import io.grpc.Status;
import io.tensorflowignite.storage.tree.ManyFiles;
import io.tensorflowignite.v1.BlockHolders;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.GetFileRequest;
import io.tensorflowignite.v1.ListDirectoryRequest;
import io.tensorflowignite.v1.ListDirectoryResponse;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.Test;

/** The metadata calls of clients; tests/integration/test_storage_files.py makes the others. */
public class ItFileService extends StorageTest {
  @Test
  public void aFileIsFoundWithTheHoldersOfItsBlocks() {
    String extent = write("/file", letters(5_000)).getExtents(0).getId();
    BlockHolders holders =
        files()
            .getFile(GetFileRequest.newBuilder().setPath("/file").setLocate(true).build())
            .getHolders(0);

    assertEquals(2, holders.getHoldersCount());
    for (int number = 0; number < 2; number++) {
      String address = holders.getAddresses(holders.getHolders(number));
      int node = servers.addresses.indexOf(address);
      assertEquals(
          cluster.nodes.get(node).cluster().localNode(),
          cluster.nodes.get(0).affinity("store-blocks").mapKeyToNode(extent + "/" + number));
    }
  }

  @Test
  public void aListingIsSplitIntoResponsesOfAtMostAThousandFiles() {
    makeDirectory("/many");
    ManyFiles.layOut(
        cluster.nodes.get(0),
        cluster.store(0),
        "/many",
        IntStream.range(0, 30_500)
            .mapToObj(i -> "file-" + (100_000 + i))
            .collect(Collectors.toList()));
    List<ListDirectoryResponse> answers = list("/many");
    assertEquals(31, answers.size());
    assertEquals(500, answers.get(30).getFilesCount());
    for (int i = 0; i < 30_500; i++) {
      assertEquals("file-" + (100_000 + i), answers.get(i / 1_000).getFiles(i % 1_000).getPath());
    }
  }

  @Test
  public void errorsArriveWithTheirStatusAndCode() {
    assertRefused(Status.Code.NOT_FOUND, "FILE_NOT_FOUND", () -> list("/none"));
    assertRefused(Status.Code.INVALID_ARGUMENT, "INVALID_REQUEST", () -> list("none"));
    assertRefused(
        Status.Code.ALREADY_EXISTS,
        "FILE_EXISTS",
        () -> files().makeDirectory(making("/").build()));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "IS_A_DIRECTORY",
        () -> files().beginWrite(beginning("/").build()));
    assertRefused(
        Status.Code.ABORTED,
        "FILE_CHANGED",
        () -> files().reserveBlocks(ReserveBlocksRequest.newBuilder().setExtentId("none").build()));
  }

  private static List<ListDirectoryResponse> list(String path) {
    List<ListDirectoryResponse> answers = new ArrayList<>();
    files()
        .listDirectory(ListDirectoryRequest.newBuilder().setPath(path).build())
        .forEachRemaining(answers::add);
    return answers;
  }

  private static FileServiceGrpc.FileServiceBlockingStub files() {
    return servers.calls(0);
  }
}
