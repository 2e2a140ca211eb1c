import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS } from '../paths.ts';

/** Leaves out the symbols, which halves the programs. */
export const LINK_FLAGS = '-s -w';
/** Paths of this machine in a program would prevent the use of its cache by another folder. */
const GOFLAGS = '-trimpath -buildvcs=false';
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;

/** A program in a Go module. */
export interface GoProgram {
  /** The last part of the package. */
  name: string;
  package: string;
  version: string;
  tags?: string;
  /** The module has replacements, which `go install` refuses. The program is then built as a tool of an empty module. */
  replacements?: boolean;
}

/** Builds a program unless it exists. */
export function buildGoProgram(target: GoProgram): void {
  if (existsSync(join(PROGRAMS, target.name))) return;
  const folder = mkdtempSync(join(PROGRAMS, '.go-program-'));
  try {
    const flags = ['-ldflags', LINK_FLAGS, '-tags', target.tags ?? ''];
    if (target.replacements === true) {
      runGo(['mod', 'init', 'tools'], folder);
      runGo(['get', '-tool', `${target.package}@${target.version}`], folder);
      runGo(['build', ...flags, '-o', target.name, target.package], folder);
    } else {
      runGo(['install', ...flags, `${target.package}@${target.version}`], folder, { GOBIN: folder });
    }
    renameSync(join(folder, target.name), join(PROGRAMS, target.name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs Go and returns its output. An error contains its messages. */
export function runGo(args: readonly string[], folder: string, env: NodeJS.ProcessEnv = {}): string {
  return execFileSync('go', args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, GOFLAGS, ...env },
    maxBuffer: MAX_OUTPUT_BYTES,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
