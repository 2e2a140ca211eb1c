import { execFile } from 'node:child_process';
import { chownSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bad, good, note, type Check } from './check.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
/** Debian's `chromium` is a shell script, which needs the environment of a desktop. */
const PROGRAMS = ['/usr/lib/chromium/chromium', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** The service gives each browser another user if it runs as root, because Chromium does not sandbox itself as root. */
const TEST_USER = 62_999;
const FLAGS = ['--headless', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--dump-dom'];

/** Starts Chromium once with its sandbox and reads an empty page. */
export async function checkBrowser(programs: readonly string[] = PROGRAMS): Promise<Check> {
  const program = await findProgram(programs);
  if (program === undefined) return note('browser', 'no Chromium: browser.* needs it', 'apt-get install chromium');
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'switchyard-doctor-'));
  try {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(folder, TEST_USER, TEST_USER);
    const command = [program, ...FLAGS, `--user-data-dir=${join(folder, 'profile')}`, 'about:blank'];
    const user = isRoot ? ['setpriv', `--reuid=${TEST_USER}`, `--regid=${TEST_USER}`, '--clear-groups', '--no-new-privs', '--'] : [];
    const [first = program, ...args] = [...user, ...command];
    const { stdout } = await run(first, args, { timeout: TIMEOUT_MS, env: { HOME: folder, TMPDIR: folder, PATH: '/usr/bin:/bin' } });
    if (stdout.includes('<html')) return good('browser', `${program} starts with its sandbox`);
    return bad('browser', `${program} showed no page`, 'apt-get install --reinstall chromium');
  } catch (error) {
    return explain(program, error as { killed?: boolean; stderr?: string });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function findProgram(programs: readonly string[]): Promise<string | undefined> {
  for (const program of programs) {
    const found = await run(program, ['--version'], { timeout: 5_000 }).catch(() => undefined);
    if (found) return program;
  }
  return undefined;
}

function explain(program: string, { killed = false, stderr = '' }: { killed?: boolean; stderr?: string }): Check {
  if (/sandbox|namespace/i.test(stderr))
    return bad('browser', `${program} finds no usable sandbox`, 'sysctl -w kernel.unprivileged_userns_clone=1');
  const library = /error while loading shared libraries: ([^\s:]+)/.exec(stderr)?.[1];
  if (library !== undefined) return bad('browser', `${program} lacks ${library}`, 'apt-get install --reinstall chromium');
  const reason = killed ? `did not start within ${TIMEOUT_MS / 1_000} s` : (stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? 'ended');
  return bad('browser', `${program}: ${reason}`, 'apt-get install --reinstall chromium');
}
