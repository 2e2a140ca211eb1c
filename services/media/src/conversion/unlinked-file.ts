import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, write as writeToFile } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const write = promisify(writeToFile);

/** A file without a name. The kernel frees it with its last descriptor, also when this process is killed, so that no sweep is needed. */
export interface UnlinkedFile extends Disposable {
  /** At the start of the file. */
  descriptor: number;
}

/** Writes bytes to a file that a child can seek in. */
export async function writeUnlinkedFile(bytes: Uint8Array): Promise<UnlinkedFile> {
  const path = join(tmpdir(), `switchyard-media-${randomUUID()}`);
  const descriptor = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  const file = { descriptor, [Symbol.dispose]: () => closeSync(descriptor) };
  try {
    for (let at = 0; at < bytes.length;) at += (await write(descriptor, bytes, at, bytes.length - at, at)).bytesWritten;
    return file;
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}
