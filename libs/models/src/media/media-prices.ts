import type { PriceSource } from '@switchyard/contracts';
import type { ModelRef } from '../model/model.ts';

/** The units that providers of speech and images bill. */
export type BilledUnit = 'second' | 'character' | 'megapixel' | 'textToken' | 'audioToken' | 'outputToken';
export type BilledAmounts = Readonly<Partial<Record<BilledUnit, number>>>;

interface ListPrice {
  /** The price is that of the provider itself. A server at another address has its own. */
  origin: string;
  /** US dollars for one unit. The prices of several units are added. */
  usd: BilledAmounts;
  /** A shorter sound is billed as one of this length. */
  minSeconds?: number;
  source: PriceSource;
}

const MILLION = 1_000_000;
const [MINUTE, HOUR] = [60, 3_600];
const OPENAI = { origin: 'https://api.openai.com', source: { url: 'https://developers.openai.com/api/docs/pricing', checked: null } };
const GROQ = {
  origin: 'https://api.groq.com',
  source: { url: 'https://console.groq.com/docs/speech-text', checked: null },
  minSeconds: 10,
};
const FAL = { origin: 'https://fal.run', source: { url: 'https://fal.ai/pricing', checked: null } };

/**
 * List prices. A price that is compared with its page gets the day of the comparison. Models are missing whose price depends on the plan or on the language, such as those of ElevenLabs and
 * Deepgram: the cost of their calls is unknown.
 */
const PRICES: Readonly<Record<string, ListPrice>> = {
  'openai/whisper-1': { ...OPENAI, usd: { second: 0.006 / MINUTE } },
  'openai/gpt-4o-transcribe': { ...OPENAI, usd: { textToken: 2.5 / MILLION, audioToken: 6 / MILLION, outputToken: 10 / MILLION } },
  'openai/gpt-4o-mini-transcribe': { ...OPENAI, usd: { textToken: 1.25 / MILLION, audioToken: 3 / MILLION, outputToken: 5 / MILLION } },
  'openai/tts-1': { ...OPENAI, usd: { character: 15 / MILLION } },
  'openai/tts-1-hd': { ...OPENAI, usd: { character: 30 / MILLION } },
  'openai/gpt-image-1': { ...OPENAI, usd: { textToken: 5 / MILLION, outputToken: 40 / MILLION } },
  'groq/whisper-large-v3': { ...GROQ, usd: { second: 0.111 / HOUR } },
  'groq/whisper-large-v3-turbo': { ...GROQ, usd: { second: 0.04 / HOUR } },
  'fal/fal-ai/flux/schnell': { ...FAL, usd: { megapixel: 0.003 } },
};

/** Lists the sources of the prices by model. */
export function listMediaPriceSources(): (PriceSource & { model: string })[] {
  return Object.entries(PRICES).map(([model, { source }]) => ({ model, ...source }));
}

/** Returns the cost in US dollars; undefined if the model, the address or a billed amount is unknown. */
export function calculateMediaCost({ provider, modelId }: ModelRef, baseUrl: string, amounts: BilledAmounts): number | undefined {
  const name = `${provider}/${modelId}`;
  const price = Object.hasOwn(PRICES, name) ? PRICES[name] : undefined;
  if (price === undefined || new URL(baseUrl).origin !== price.origin) return undefined;
  const costs = Object.entries(price.usd).map(([unit, usd]) => {
    const amount = amounts[unit as BilledUnit];
    return amount === undefined ? undefined : usd * Math.max(amount, unit === 'second' ? (price.minSeconds ?? 0) : 0);
  });
  return costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0);
}
