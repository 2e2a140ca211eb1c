import { ServiceError } from '@switchyard/contracts';
import { misuseError } from '../../port/store-misuse.ts';

/** A store URL, read: where the server is, and how its databases are named. */
export interface StoreUrl {
  /** For the driver. Holds the password. */
  url: string;
  /** What the names of the databases begin with. */
  prefix: string;
}

const PARTS = /^(mongodb(?:\+srv)?):\/\/([^/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const PREFIX = /^[A-Za-z][A-Za-z0-9-]{0,29}$/;
const DEFAULT_PREFIX = 'switchyard';
const MAX_NAME_LENGTH = 63;

/** The path of the URL begins the names of databases, `switchyard` unless said. Users are those of `authSource`, `admin` unless said. */
export function parseStoreUrl(text: string): StoreUrl {
  const [, scheme, hosts, path = '', query = ''] = PARTS.exec(text) ?? [];
  if (scheme === undefined || hosts === undefined) throw invalidUrl('is not a URL of MongoDB');
  const prefix = path === '' ? DEFAULT_PREFIX : path;
  if (!PREFIX.test(prefix)) throw invalidUrl('has a path that cannot begin the name of a database (up to 30 letters, digits and -)');
  return { url: `${scheme.toLowerCase()}://${hosts}/${query === '' ? '' : `?${query}`}`, prefix };
}

/** The database of a service. */
export function buildDatabaseName({ prefix }: StoreUrl, service: string): string {
  const name = `${prefix}_${service}`;
  if (name.length > MAX_NAME_LENGTH)
    throw misuseError(service, `its database would be named ${name}, which is longer than ${MAX_NAME_LENGTH}`);
  return name;
}

/** Never repeats the URL, which may hold a password. */
export function invalidUrl(what: string): ServiceError {
  const message = `the store URL ${what}; write mongodb://user:password@host:port/name, with what is not a letter or a digit of the password as %XX`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'STORE_URL' } });
}
