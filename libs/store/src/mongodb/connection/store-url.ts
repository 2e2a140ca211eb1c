import { ServiceError } from '@switchyard/contracts';
import { misuseError } from '../../port/store-misuse.ts';

/** A parsed store URL. */
export interface StoreUrl {
  /** The URL for the driver. Contains the password. */
  url: string;
  /** Prefix of the database names. */
  prefix: string;
}

const PARTS = /^(mongodb(?:\+srv)?):\/\/([^/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const PREFIX = /^[A-Za-z][A-Za-z0-9-]{0,29}$/;
const DEFAULT_PREFIX = 'switchyard';
const MAX_NAME_LENGTH = 63;

/** The path of the URL is the prefix of the database names (default `switchyard`). `authSource` is the database of the user (default `admin`). */
export function parseStoreUrl(text: string): StoreUrl {
  const [, scheme, hosts, path = '', query = ''] = PARTS.exec(text) ?? [];
  if (scheme === undefined || hosts === undefined) throw invalidUrl('is not a URL of MongoDB');
  const prefix = path === '' ? DEFAULT_PREFIX : path;
  if (!PREFIX.test(prefix)) throw invalidUrl('has a path that is not a valid prefix of a database name (up to 30 letters, digits and -)');
  return { url: `${scheme.toLowerCase()}://${hosts}/${query === '' ? '' : `?${query}`}`, prefix };
}

/** Returns the name of a service's database. */
export function buildDatabaseName({ prefix }: StoreUrl, service: string): string {
  const name = `${prefix}_${service}`;
  if (name.length > MAX_NAME_LENGTH)
    throw misuseError(service, `its database would be named ${name}, which is longer than ${MAX_NAME_LENGTH}`);
  return name;
}

/** The message does not contain the URL, which may have a password. */
export function invalidUrl(description: string): ServiceError {
  const message = `the store URL ${description}; use mongodb://user:password@host:port/name and percent-encode special characters of the password`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'STORE_URL' } });
}
