import { randomInt } from 'node:crypto';
import { chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type { Browser } from 'playwright-core';
import { registerStyledTargets } from '../sessions/styled-targets.ts';
import { removeDriverFolders } from './driver-folders.ts';
import { listLaunchFlags } from './launch-flags.ts';

const LAUNCH_TIMEOUT_MS = 30_000;
const MEMORY_FOLDER = '/dev/shm';
/** First user id of browsers. If the service runs as root, each browser gets a separate user, because Chromium refuses to sandbox itself as root. */
const FIRST_USER_ID = 63_000;
const USER_IDS = 1_000;
/** Repeated, because helpers of Chromium write files until they end. */
const REMOVE_PROFILE = 'read -r _ <"$0/running"; n=0; until rm -rf "$0" 2>/dev/null || [ $n -ge 100 ]; do n=$((n+1)); sleep 0.1; done';
/**
 * Starts a process that removes the profile after Chromium, and becomes Chromium, which ends when its pipe closes. So nothing is left when
 * the service is killed. The process waits for the end of a named pipe that Chromium holds open. It has its own session, because the
 * driver may kill the process group of Chromium.
 */
const SCRIPT = `chromium="$1"; folder="$2"; shift 2
mkfifo "$folder/running" || exit 1
setsid sh -c '${REMOVE_PROFILE}' "$folder" 3<&- 4>&- &
exec 9>"$folder/running"
exec "$chromium" "$@"`;

export interface LaunchOptions {
  program: string;
  /** URL of the forward proxy, the only way out. */
  proxy: string;
}

/** Starts one Chromium over a pipe, sandboxed, with an empty environment and a profile that only it can read. */
export async function launchChromium({ program, proxy }: LaunchOptions): Promise<Browser> {
  checkPermissions();
  const { chromium, selectors } = await import('playwright-core');
  await registerStyledTargets(selectors);
  const parent = (await isFolder(MEMORY_FOLDER)) ? MEMORY_FOLDER : tmpdir();
  const folder = await mkdtemp(join(parent, 'switchyard-browser-')); // mode 0700
  try {
    const isRoot = process.getuid?.() === 0;
    const userId = FIRST_USER_ID + randomInt(USER_IDS);
    if (isRoot) await chown(folder, userId, userId);
    const shell = ['/bin/sh', '-c', SCRIPT, 'browser', program, folder, ...listLaunchFlags(join(folder, 'profile'), proxy)];
    const asUser = ['setpriv', `--reuid=${userId}`, `--regid=${userId}`, '--clear-groups', '--no-new-privs', '--', ...shell];
    const [command = '', ...args] = isRoot ? ['/usr/bin/env', ...asUser] : shell;
    const browser = await chromium.launch({
      executablePath: command,
      args,
      ignoreDefaultArgs: true,
      chromiumSandbox: true,
      artifactsDir: folder,
      env: { HOME: folder, TMPDIR: folder, PATH: '/usr/bin:/bin' },
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: LAUNCH_TIMEOUT_MS,
    });
    await removeDriverFolders();
    return browser;
  } catch (error) {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    throw explainLaunchFailure(error);
  }
}

function checkPermissions(): void {
  if (process.permission === undefined || process.permission.has('child')) return;
  throw new ServiceError(
    'FAILED_PRECONDITION',
    'security.permission.enableNodePermissions forbids child processes, and a browser is one. Turn the setting off, or use no browser.',
  );
}

function explainLaunchFailure(error: unknown): ServiceError {
  const text = error instanceof Error ? error.message : String(error);
  if (/sandbox|namespace/i.test(text) && /no usable sandbox|zygote|clone/i.test(text)) {
    const message =
      'Chromium found no usable sandbox. Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile); the browser does not start without a sandbox.';
    return new ServiceError('FAILED_PRECONDITION', message, { cause: error, details: { reason: 'SANDBOX_UNAVAILABLE' } });
  }
  const firstLine = text.split('\n', 1)[0] ?? '';
  return new ServiceError('UNAVAILABLE', `Chromium did not start: ${firstLine.slice(0, 300)}`, { cause: error });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}
