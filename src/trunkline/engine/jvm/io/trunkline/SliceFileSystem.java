package io.trunkline;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A part of an object as a file: tlslice:///offset-length/object/name, where `object` is the
 * object's URI in hexadecimal. Small files of a lake are kept in packs; this reads them in place.
 */
public class SliceFileSystem extends FileSystem {
    private static final URI ROOT = URI.create("tlslice:///");

    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        setConf(conf);
    }

    public String getScheme() {
        return "tlslice";
    }

    public URI getUri() {
        return ROOT;
    }

    private static String[] parts(Path path) throws IOException {
        String[] parts = path.toUri().getPath().split("/");
        if (parts.length != 4 || parts[1].indexOf('-') < 0) {
            throw new FileNotFoundException(path + " is not a part of an object");
        }
        return parts;
    }

    private static long offset(String[] parts) {
        return Long.parseLong(parts[1].substring(0, parts[1].indexOf('-')));
    }

    private static long length(String[] parts) {
        return Long.parseLong(parts[1].substring(parts[1].indexOf('-') + 1));
    }

    private static Path object(String[] parts) {
        String hex = parts[2];
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        String uri = new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
        return new Path(URI.create(uri.startsWith("s3://") ? "s3a" + uri.substring(2) : uri));
    }

    public FSDataInputStream open(Path path, int buffer) throws IOException {
        String[] parts = parts(path);
        Path object = object(parts);
        FSDataInputStream whole = object.getFileSystem(getConf()).open(object, buffer);
        return new FSDataInputStream(new Slice(whole, offset(parts), length(parts)));
    }

    public FileStatus getFileStatus(Path path) throws IOException {
        return new FileStatus(length(parts(path)), false, 1, 128L << 20, 0L, path);
    }

    public FileStatus[] listStatus(Path path) throws IOException {
        return new FileStatus[] {getFileStatus(path)};
    }

    public FSDataOutputStream create(
            Path path, FsPermission permission, boolean overwrite, int buffer, short replication,
            long block, Progressable progress) throws IOException {
        throw new IOException("A lake's objects never change.");
    }

    public FSDataOutputStream append(Path path, int buffer, Progressable progress) throws IOException {
        throw new IOException("A lake's objects never change.");
    }

    public boolean rename(Path from, Path to) throws IOException {
        throw new IOException("A lake's objects never change.");
    }

    public boolean delete(Path path, boolean recursive) throws IOException {
        throw new IOException("A lake's objects never change.");
    }

    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        throw new IOException("A lake's objects never change.");
    }

    public void setWorkingDirectory(Path path) {}

    public Path getWorkingDirectory() {
        return new Path(ROOT);
    }

    /** The bytes from `start` on, `length` of them. */
    public static class Slice extends FSInputStream {
        private final FSDataInputStream whole;
        private final long start;
        private final long length;
        private long position = 0;

        public Slice(FSDataInputStream whole, long start, long length) throws IOException {
            this.whole = whole;
            this.start = start;
            this.length = length;
            whole.seek(start);
        }

        public void seek(long to) throws IOException {
            if (to < 0 || to > length) {
                throw new EOFException("Cannot seek to " + to + " of " + length);
            }
            whole.seek(start + to);
            position = to;
        }

        public long getPos() {
            return position;
        }

        public boolean seekToNewSource(long to) {
            return false;
        }

        public int available() {
            return (int) Math.min(length - position, Integer.MAX_VALUE);
        }

        public int read() throws IOException {
            if (position >= length) {
                return -1;
            }
            int found = whole.read();
            if (found >= 0) {
                position++;
            }
            return found;
        }

        public int read(byte[] into, int offset, int most) throws IOException {
            if (most == 0) {
                return 0;
            }
            if (position >= length) {
                return -1;
            }
            int found = whole.read(into, offset, (int) Math.min(most, length - position));
            if (found > 0) {
                position += found;
            }
            return found;
        }

        public void close() throws IOException {
            whole.close();
        }
    }
}
