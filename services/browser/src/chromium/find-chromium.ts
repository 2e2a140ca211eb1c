import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Debian's `chromium` is a shell script, which needs the environment of a desktop; the program lies beside its resources. */
const DEBIAN_PROGRAM = '/usr/lib/chromium/chromium';

/** Finds Chromium: `browser.chromePath`, otherwise on the PATH. */
export async function findChromium(configured: string | undefined, path: string): Promise<string> {
  const candidates =
    configured === undefined ? NAMES.flatMap((name) => path.split(delimiter).map((folder) => join(folder, name))) : [configured];
  for (const candidate of candidates) {
    if (!(await isExecutable(candidate))) continue;
    const program = await realpath(candidate);
    return dirname(program) === '/usr/bin' && program.endsWith('/chromium') && (await isExecutable(DEBIAN_PROGRAM))
      ? DEBIAN_PROGRAM
      : program;
  }
  const looked = configured === undefined ? 'Chromium is not on the PATH' : `browser.chromePath is not an executable file: ${configured}`;
  throw new ServiceError('FAILED_PRECONDITION', `${looked}. Install it (sudo apt-get install chromium) or set browser.chromePath.`, {
    details: { reason: 'CHROMIUM_MISSING' },
  });
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
