import { closeSync, constants, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const { O_CREAT, O_SYNC, O_TRUNC, O_WRONLY } = constants;
const PRIVATE = 0o600;

/** Writes a file atomically with mode 0600. After a crash it has the new content on disk, or the old one. */
export function keepFile(file: string, text: string): void {
  const next = `${file}.new`;
  rmSync(next, { force: true });
  // O_SYNC instead of fsync, because Node's permission model does not allow fsync.
  const fd = openSync(next, O_WRONLY | O_CREAT | O_TRUNC | O_SYNC, PRIVATE);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
  renameSync(next, file);
}
