import { z } from 'zod';
import { MAX, boundedString } from '../values/sizes.ts';

/** The permitted use of a secret. A secret with one purpose is refused for all others. */
export const SecretPurpose = z.enum(['provider', 'webhook', 'signing', 'tool', 'browser']);
export type SecretPurpose = z.infer<typeof SecretPurpose>;

/** Plain HTTP is allowed only within the machine, for local models. */
export const SecretOrigin = boundedString(MAX.name)
  .refine(isBindable, 'expected an https:// origin without a path, such as https://models.example')
  .describe('https origin; http only for localhost, 127.0.0.1 and [::1]');

/** The published origins of known providers by the prefix of their key names. */
const PUBLISHED_ORIGINS: Readonly<Record<string, string>> = {
  OPENAI: 'https://api.openai.com',
  ANTHROPIC: 'https://api.anthropic.com',
  GEMINI: 'https://generativelanguage.googleapis.com',
  GOOGLE: 'https://generativelanguage.googleapis.com',
  DEEPSEEK: 'https://api.deepseek.com',
  GROQ: 'https://api.groq.com',
};
const PROVIDER_KEY_NAME = /_(KEY|API_TOKEN|OAUTH_TOKEN)(_[0-9]+)?$/;

/** Returns the published origin of the provider whose key the name belongs to, such as `ANTHROPIC_API_KEY`. */
export function findPublishedOrigin(name: string): string | undefined {
  const [prefix = ''] = name.split('_', 1);
  return PROVIDER_KEY_NAME.test(name) && Object.hasOwn(PUBLISHED_ORIGINS, prefix) ? PUBLISHED_ORIGINS[prefix] : undefined;
}

function isBindable(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, hostname } = new URL(text);
  if (origin !== text) return false;
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}
