import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { ServiceError } from '@switchyard/contracts';
import { keepFile } from '@switchyard/service-kit';
import { guessProvider } from './provider-names.ts';
import type { SecretStorage } from './secret-storage.ts';

const HEADER =
  '# Secrets of Switchyard in clear text. env.set rewrites this file. Set SECRETS_MASTER_KEY to store secrets encrypted instead.\n';

/** Stores secrets in a file with mode 0600, for installations without a master key. Only one process may write it. */
export function openEnvFileStorage(path: string): SecretStorage {
  const read = (): Record<string, string | undefined> => parseEnv(readFileOr(path, ''));
  return {
    storage: 'envfile',
    async get(name) {
      const all = read();
      return Object.hasOwn(all, name) ? all[name] || undefined : undefined;
    },
    async set(name, value) {
      const before = read();
      const after = { ...before, [name]: value };
      const text = HEADER + Object.entries(after).map(formatLine).join('');
      if (!isDeepStrictEqual({ ...parseEnv(text) }, after)) throw cannotStore();
      keepFile(path, text);
      return Object.hasOwn(before, name) ? 'updated' : 'created';
    },
    async list() {
      return Object.keys(read()).map((name) => ({ name, source: 'envfile' as const, ...guessProvider(name) }));
    },
  };
}

/** Quotes a value with a mark that it does not contain. */
function formatLine([name, value = '']: [string, string | undefined]): string {
  const quote = ["'", '`', '"'].find((mark) => !value.includes(mark)) ?? "'";
  return `${name}=${quote}${value}${quote}\n`;
}

function cannotStore(): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    'This value cannot be stored in the .env file. Set SECRETS_MASTER_KEY to enable encrypted storage, then restart.',
    {
      details: { reason: 'NO_MASTER_KEY' },
    },
  );
}

function readFileOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
