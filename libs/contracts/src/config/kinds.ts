import { z } from 'zod';
import { MAX, boundedString } from '../values/sizes.ts';

/** The longest delay of a timer in milliseconds. A longer one would end at once. No other whole number needs to be larger. */
const MAX_NUMBER = 2_147_483_647;
/** Largest number of tokens of a budget. */
const MAX_TOKENS = 1_000_000_000_000;
/** A whole number above zero, without a default. */
export const Positive = z.int().positive().max(MAX_NUMBER);
/** Tokens of a budget, without a default. */
export const Tokens = z.int().positive().max(MAX_TOKENS);
/** A whole number, zero included, without a default. */
export const Count = z.int().nonnegative().max(MAX_NUMBER);

// Hundreds of settings are of these kinds: of each there is one schema, and only the default is a setting's own.
const Flag = z.boolean();
const Texts = z.array(boundedString(MAX.value)).max(MAX.many);

export const flag = (preset: boolean) => Flag.default(preset);
/** A whole number above zero. */
export const positive = (preset: number) => Positive.default(preset);
/** A whole number, zero included; where it bounds something, zero means no bound. */
export const count = (preset: number) => Count.default(preset);
/** A whole number between two bounds, both included. A number outside is refused, never clamped. */
export const between = (least: number, max: number, preset: number) => z.int().min(least).max(max).default(preset);
export const ratio = (preset: number) => z.number().min(0).max(1).default(preset);
/** A part of something that is shared. Zero would exclude its holder. */
export const share = (preset: number) => z.number().gt(0).max(1).default(preset);
export const percent = (preset: number) => z.number().min(0).max(100).default(preset);
export const port = (preset: number) => z.int().min(1).max(65_535).default(preset);
export const text = (preset = '') => boundedString(MAX.value).default(preset);
/** Where requests are sent; empty is nowhere. */
export const address = () => boundedString(MAX.value).refine(isAddress, 'an http:// or https:// URL').default('');
export const texts = (preset: readonly string[] = []) => Texts.default([...preset]);

export const LogLevel = z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
export const Delivery = z.enum(['allow', 'deny']);
/** Controls spoken replies. `never` and `voice_reply` are aliases of `off` and `inbound`. */
export const SpeechMode = z.enum(['off', 'always', 'inbound', 'tagged', 'never', 'voice_reply']);
export const ToolProfile = z.enum(['minimal', 'coding', 'messaging', 'supervisor', 'full']);

/** Reference to a stored secret, used instead of its value. */
export const SecretLocation = z.strictObject({
  source: z.enum(['env', 'file', 'exec']),
  provider: z.string().min(1).max(MAX.name),
  id: z.string().min(1).max(MAX.id),
});

const secretHelp = 'the value, ${VAR}, or a reference: {source, provider, id}';

/** A secret as the configuration holds it: the value, `${VAR}`, or where it is kept. */
export const SecretRef = z.union([z.string().min(1).max(MAX.value), SecretLocation]).describe(secretHelp);
export type SecretRef = z.infer<typeof SecretRef>;

/** Shown in place of a secret. Writing it back leaves the secret unchanged; it is never used as a value. */
export const REDACTED = '[REDACTED]';

/** A secret that guards a route: too short a value is refused. */
export const LongSecretRef = z
  .union([z.string().min(32).max(MAX.value), SecretLocation, z.literal(REDACTED)])
  .describe(`at least 32 characters: ${secretHelp}`);

export const timezone = () => text().describe("IANA name; empty selects the system's time zone");

function isAddress(url: string): boolean {
  return url === '' || (/^https?:\/\//.test(url) && URL.canParse(url));
}
