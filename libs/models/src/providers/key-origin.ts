import { BUILT_IN, type BuiltIn } from '../catalogue/built-in.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What providers' keys are called. */
const KEY_NAME = /_(KEY|API_TOKEN|OAUTH_TOKEN)$|^HF_TOKEN$/;
/** What other keys are called, and what is the house's own. */
const OTHER_KEYS = /^(SWITCHYARD|SECRETS)_|_(MASTER|ACCESS|PRIVATE|SIGNING|ENCRYPTION|SECRET|SSH|DEPLOY)_KEY$/;

/**
 * Why what is kept under this name is not sent to this address; undefined when it may be. Whoever may configure a provider chooses
 * both, so the name says that it is a provider's key and no other secret, and a key that everybody knows the owner of goes to
 * its owner alone, or to where the environment says that it is.
 */
export function whyNotSent(keyName: string, baseUrl: string, env: Env): string | undefined {
  if (!KEY_NAME.test(keyName) || OTHER_KEYS.test(keyName)) {
    return `${keyName} is not the name of a provider's key: keep the key under a name that ends in _API_KEY, and name that`;
  }
  const owners = ownersOf(keyName);
  if (owners.length === 0) return undefined;
  const homes = [...owners.map((owner) => owner.baseUrl), keyName === 'OPENAI_API_KEY' ? (env['OPENAI_BASE_URL'] ?? '') : ''];
  if (homes.some((home) => isAt(baseUrl, home))) return undefined;
  return `${keyName} is sent to ${hostOf(owners[0]?.baseUrl ?? '')} only: keep the key under a name of its own, and name that`;
}

/** Whether everybody knows whose key is called so. */
export function hasOwner(keyName: string): boolean {
  return ownersOf(keyName).length > 0;
}

function ownersOf(keyName: string): BuiltIn[] {
  return Object.values(BUILT_IN).filter((one) => one.keyName === keyName);
}

/** Whether an address is that of a home, or of a part of it: `eu.api.openai.com` belongs to `api.openai.com`. */
function isAt(address: string, home: string): boolean {
  if (!URL.canParse(address) || !URL.canParse(home)) return false;
  const [at, of] = [new URL(address), new URL(home)];
  if (at.protocol !== of.protocol || at.port !== of.port) return false;
  return at.hostname === of.hostname || at.hostname.endsWith(`.${of.hostname}`);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
