import { resolve } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store, StoreOptions } from './port/store.ts';

/** Opens the document store of a service: `sqlite:DIR` or `mongodb://…`. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const [scheme, rest] = splitUrl(url);
  if (scheme === 'sqlite' && rest !== '') return openSqliteStore(resolve(rest), options);
  if (scheme === 'mongodb' || scheme === 'mongodb+srv') {
    // The driver is loaded on demand.
    const { openMongoStore } = await import('./mongodb/mongo-store.ts');
    return openMongoStore(url, options);
  }
  const message =
    scheme === 'sqlite'
      ? 'the store URL sqlite: names no directory; write sqlite:DIR'
      : `no store supports ${scheme === '' ? 'a URL without a scheme' : `${scheme}:`}; write sqlite:DIR or mongodb://host:port`;
  throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'STORE_URL' } });
}

/** Error messages contain only the scheme, because the rest of the URL may contain a password. */
function splitUrl(url: string): [scheme: string, rest: string] {
  const colon = url.indexOf(':');
  return colon === -1 ? ['', url] : [url.slice(0, colon).toLowerCase(), url.slice(colon + 1)];
}
