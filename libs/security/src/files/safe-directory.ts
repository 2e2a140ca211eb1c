import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { splitRelativePath, UnsafePathError } from './relative-path.ts';

const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

const NEW_FILE_MODE = 0o600;

/** A directory whose files are opened by names from outside. */
export interface SafeDirectory extends Disposable {
  /**
   * Opens a regular file and returns its descriptor, which the caller closes. `flags` are those of `fs.constants`; the default is
   * `O_RDONLY`. Throws an `UnsafePathError` for a path that leads outside, for links, and for anything but a regular file. Other errors,
   * such as ENOENT, are those of `fs.openSync`.
   */
  open(path: string, flags?: number, mode?: number): number;
}

/**
 * Opens a directory. Links in the path of the directory itself are followed, because the operator sets it. On Linux each segment is
 * opened relative to the handle of its parent, so that a directory that another process replaces by a link is never followed.
 */
export function openSafeDirectory(directory: string): SafeDirectory {
  const root = openSync(directory, O_RDONLY | O_DIRECTORY);
  return {
    open(path, flags = O_RDONLY, mode = NEW_FILE_MODE) {
      const segments = splitRelativePath(path);
      const name = segments.pop() ?? '';
      let parent: Parent = { descriptor: root, path: directory };
      try {
        for (const segment of segments) {
          const child = join(parent, segment);
          const descriptor = openEntry(child, O_RDONLY | O_DIRECTORY);
          if (parent.descriptor !== root) closeSync(parent.descriptor);
          parent = { descriptor, path: child };
        }
        return openRegularFile(join(parent, name), flags, mode);
      } finally {
        if (parent.descriptor !== root) closeSync(parent.descriptor);
      }
    },
    [Symbol.dispose]: () => closeSync(root),
  };
}

interface Parent {
  descriptor: number;
  path: string;
}

/** Names an entry of an open directory. Systems without `/proc` resolve the parent again. */
function join({ descriptor, path }: Parent, segment: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${descriptor}/${segment}` : `${path}/${segment}`;
}

/** `O_NONBLOCK`: a pipe must not block the process. `O_TRUNC` has an effect on regular files only, which `O_NOFOLLOW` keeps inside. */
function openRegularFile(path: string, flags: number, mode: number): number {
  const descriptor = openEntry(path, flags | O_NONBLOCK, flags & O_CREAT ? mode : undefined);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new UnsafePathError('names no regular file');
}

function openEntry(path: string, flags: number, mode?: number): number {
  try {
    return openSync(path, flags | O_NOFOLLOW, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ELOOP and ENOTDIR: a link, or a file in the place of a directory. ENXIO and EISDIR: a pipe or socket, or a directory.
    if (code === 'ELOOP' || code === 'ENOTDIR' || code === 'ENXIO' || code === 'EISDIR') {
      throw new UnsafePathError('leads through a link, or names no regular file', error);
    }
    throw error;
  }
}
