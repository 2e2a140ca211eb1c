import { BUILT_IN, type BuiltIn } from '../catalogue/built-in.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Allowed names of provider keys. */
const KEY_NAME = /_(KEY|API_TOKEN|OAUTH_TOKEN)$|^HF_TOKEN$/;
/** Names of other secrets, which are never sent to a provider. */
const OTHER_KEYS = /^(SWITCHYARD|SECRETS)_|_(MASTER|ACCESS|PRIVATE|SIGNING|ENCRYPTION|SECRET|SSH|DEPLOY)_KEY$/;

/**
 * Explains why a key must not be sent to an address; undefined if it may be sent. The person who configures a provider chooses both
 * key name and address. Therefore the name must be that of a provider key, and the key of a known provider is only sent to that
 * provider, or to the address set in the environment.
 */
export function explainKeyRefusal(keyName: string, baseUrl: string, env: Env): string | undefined {
  if (!KEY_NAME.test(keyName) || OTHER_KEYS.test(keyName)) {
    return `${keyName} is not the name of a provider key: store the key under a name that ends in _API_KEY and use that name`;
  }
  const owners = findKeyOwners(keyName);
  if (owners.length === 0) return undefined;
  const allowedUrls = [...owners.map((owner) => owner.baseUrl), keyName === 'OPENAI_API_KEY' ? (env['OPENAI_BASE_URL'] ?? '') : ''];
  if (allowedUrls.some((allowedUrl) => isWithinHost(baseUrl, allowedUrl))) return undefined;
  return `${keyName} is only sent to ${parseHost(owners[0]?.baseUrl ?? '')}: store the key under another name and use that name`;
}

/** Returns whether the key name belongs to a built-in provider. */
export function hasOwner(keyName: string): boolean {
  return findKeyOwners(keyName).length > 0;
}

function findKeyOwners(keyName: string): BuiltIn[] {
  return Object.values(BUILT_IN).filter((one) => one.keyName === keyName);
}

/** Returns whether an address is on a host or its subdomain: `eu.api.openai.com` is within `api.openai.com`. */
function isWithinHost(address: string, allowedUrl: string): boolean {
  if (!URL.canParse(address) || !URL.canParse(allowedUrl)) return false;
  const [at, of] = [new URL(address), new URL(allowedUrl)];
  if (at.protocol !== of.protocol || at.port !== of.port) return false;
  return at.hostname === of.hostname || at.hostname.endsWith(`.${of.hostname}`);
}

function parseHost(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
