import { resolve } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store, StoreOptions } from './port/store.ts';

/** Opens one service's documents behind a URL: `sqlite:DIR`, or `mongodb://…` for a server that is there. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const [scheme, rest] = splitUrl(url);
  if (scheme === 'sqlite' && rest !== '') return openSqliteStore(resolve(rest), options);
  if (scheme === 'mongodb' || scheme === 'mongodb+srv') {
    // Loaded when needed: a process that keeps its documents in files never touches it.
    const { openMongoStore } = await import('./mongodb/mongo-store.ts');
    return openMongoStore(url, options);
  }
  const message =
    scheme === 'sqlite'
      ? 'the store URL sqlite: names no directory; write sqlite:DIR'
      : `there is no store for ${scheme === '' ? 'a URL without a scheme' : `${scheme}:`}; write sqlite:DIR or mongodb://host:port`;
  throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'STORE_URL' } });
}

/** Only the scheme is ever repeated: the rest of a URL may hold a password. */
function splitUrl(url: string): [scheme: string, rest: string] {
  const colon = url.indexOf(':');
  return colon === -1 ? ['', url] : [url.slice(0, colon).toLowerCase(), url.slice(colon + 1)];
}
