import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
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
  /**
   * Modules that take the place of others, as in the go.mod of the program. `go install` refuses a module with replacements, so the
   * program is then built as a tool of an empty module, which keeps only those that are listed here.
   */
  replacements?: readonly string[];
  /** Name of the file, where it differs from the package. */
  file?: string;
}

/** Builds a program into a folder, unless it exists there. Returns its path. */
export function buildGoProgram(target: GoProgram, programs: string = PROGRAMS): string {
  const path = join(programs, target.file ?? target.name);
  if (existsSync(path)) return path;
  mkdirSync(programs, { recursive: true });
  const folder = mkdtempSync(join(programs, '.go-program-'));
  try {
    const flags = ['-ldflags', LINK_FLAGS, '-tags', target.tags ?? ''];
    if (target.replacements === undefined) {
      runGo(['install', ...flags, `${target.package}@${target.version}`], folder, { GOBIN: folder });
    } else {
      runGo(['mod', 'init', 'tools'], folder);
      for (const replacement of target.replacements) runGo(['mod', 'edit', '-replace', replacement], folder);
      runGo(['get', '-tool', `${target.package}@${target.version}`], folder);
      runGo(['build', ...flags, '-o', target.name, target.package], folder);
    }
    renameSync(join(folder, target.name), path);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return path;
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
