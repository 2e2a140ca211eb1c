import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { ServiceError } from '@switchyard/contracts';
import { keepFile } from '@switchyard/service-kit';
import { providerOf } from './provider-names.ts';
import type { Values } from './secret-storage.ts';

const HEAD = '# Secrets of Switchyard, in clear text. env.set writes this file anew; set SECRETS_MASTER_KEY to have them sealed instead.\n';

/** In a file that this user alone may read, for whoever has no master key. Its process is the only one that writes it. */
export function openEnvFile(path: string): Values {
  const read = (): Record<string, string | undefined> => parseEnv(readOr(path, ''));
  return {
    storage: 'envfile',
    async get(name) {
      const all = read();
      return Object.hasOwn(all, name) ? all[name] || undefined : undefined;
    },
    async set(name, value) {
      const before = read();
      const after = { ...before, [name]: value };
      const text = HEAD + Object.entries(after).map(line).join('');
      if (!isDeepStrictEqual({ ...parseEnv(text) }, after)) throw unfit();
      keepFile(path, text);
      return Object.hasOwn(before, name) ? 'updated' : 'created';
    },
    async list() {
      return Object.keys(read()).map((name) => ({ name, source: 'envfile' as const, ...providerOf(name) }));
    },
  };
}

/** In whichever quotes do not stand in it. */
function line([name, value = '']: [string, string | undefined]): string {
  const quote = ["'", '`', '"'].find((mark) => !value.includes(mark)) ?? "'";
  return `${name}=${quote}${value}${quote}\n`;
}

function unfit(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', 'A file of variables cannot hold this value: set SECRETS_MASTER_KEY and start again.', {
    details: { reason: 'NO_MASTER_KEY' },
  });
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
