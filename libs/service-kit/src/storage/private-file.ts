import { closeSync, constants, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const { O_CREAT, O_SYNC, O_TRUNC, O_WRONLY } = constants;
const PRIVATE = 0o600;

/** For this user alone. The file is whole and on the disk, or as it was before. */
export function keepFile(file: string, text: string): void {
  const next = `${file}.new`;
  rmSync(next, { force: true });
  // Each write waits for the disk: asking for it afterwards is taken away where a process may reach some files only.
  const fd = openSync(next, O_WRONLY | O_CREAT | O_TRUNC | O_SYNC, PRIVATE);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
  renameSync(next, file);
}
