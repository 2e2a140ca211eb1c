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
const OPENAI = 'https://api.openai.com';
const GROQ = { origin: 'https://api.groq.com', source: source('console.groq.com/docs/speech-to-text', '2026-10-08'), minSeconds: 10 };

/**
 * List prices, each with its page and the last day on which the page is known to have shown it (docs/decisions/0041). Models are missing
 * whose price depends on the plan or on the language, such as those of ElevenLabs and Deepgram: the cost of their calls is unknown.
 */
const PRICES: Readonly<Record<string, ListPrice>> = {
  'openai/whisper-1': { origin: OPENAI, usd: { second: 0.006 / MINUTE }, source: openai('whisper-1', '2026-09-10') },
  'openai/gpt-4o-transcribe': {
    origin: OPENAI,
    usd: { textToken: 2.5 / MILLION, audioToken: 2.5 / MILLION, outputToken: 10 / MILLION },
    source: openai('gpt-4o-transcribe', '2026-08-03'),
  },
  'openai/gpt-4o-mini-transcribe': {
    origin: OPENAI,
    usd: { textToken: 1.25 / MILLION, audioToken: 1.25 / MILLION, outputToken: 5 / MILLION },
    source: openai('gpt-4o-mini-transcribe', '2026-09-10'),
  },
  'openai/tts-1': { origin: OPENAI, usd: { character: 15 / MILLION }, source: openai('tts-1', '2026-05-07') },
  'openai/tts-1-hd': { origin: OPENAI, usd: { character: 30 / MILLION }, source: openai('tts-1-hd', '2026-09-10') },
  'openai/gpt-image-2.6-flare': {
    origin: OPENAI,
    usd: { textToken: 5 / MILLION, outputToken: 30 / MILLION },
    source: openai('gpt-image-2.6-flare', '2026-11-05'),
  },
  'groq/whisper-large-v3': { ...GROQ, usd: { second: 0.111 / HOUR } },
  'groq/whisper-large-v3-turbo': { ...GROQ, usd: { second: 0.04 / HOUR } },
  'fal/fal-ai/flux/schnell': {
    origin: 'https://fal.run',
    usd: { megapixel: 0.003 },
    source: source('fal.ai/models/fal-ai/flux/schnell', '2026-09-20'),
  },
};

function source(page: string, checked: string): PriceSource {
  return { url: `https://${page}`, checked };
}

function openai(modelId: string, checked: string): PriceSource {
  return source(`developers.openai.com/api/docs/models/${modelId}`, checked);
}

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
