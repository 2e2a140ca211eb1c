import type { PriceSource } from '@switchyard/contracts';

/** Published facts about a model: context and output tokens, and prices in USD per million tokens. */
export interface Published {
  provider: string;
  modelId: string;
  displayName: string;
  contextWindow: number;
  maxTokens: number;
  reasoning: boolean;
  image: boolean;
  /** input, output, cache read, cache write */
  cost: readonly [number, number, number, number];
  source: PriceSource;
}

/** Pages of the prices, and the last day on which they are known to have shown them (docs/decisions/0041). */
const OPENAI: PriceSource = { url: 'https://developers.openai.com/api/docs/pricing', checked: '2026-10-03' };
const ANTHROPIC: PriceSource = { url: 'https://platform.claude.com/docs/en/about-claude/pricing', checked: '2026-10-24' };
const DEEPSEEK: PriceSource = { url: 'https://api-docs.deepseek.com/quick_start/pricing', checked: '2026-11-15' };
const GROQ: PriceSource = { url: 'https://groq.com/pricing', checked: '2026-06-04' };

type OpenAiModel = Omit<Published, 'provider' | 'modelId' | 'displayName' | 'image' | 'source'>;

function openai(modelId: string, displayName: string, rest: OpenAiModel): Published {
  return { provider: 'openai', modelId, displayName, image: true, source: OPENAI, ...rest };
}

type AnthropicLimits = Pick<Published, 'contextWindow' | 'maxTokens'>;
const LARGE: AnthropicLimits = { contextWindow: 1_000_000, maxTokens: 128_000 };
const SMALL: AnthropicLimits = { contextWindow: 200_000, maxTokens: 64_000 };

function anthropic(modelId: string, displayName: string, limits: AnthropicLimits, cost: Published['cost']): Published {
  return { provider: 'anthropic', modelId, displayName, ...limits, reasoning: true, image: true, cost, source: ANTHROPIC };
}

function google(modelId: string, displayName: string, checked: string, cost: Published['cost']): Published {
  const model = { provider: 'google', modelId, displayName, contextWindow: 1_048_576, maxTokens: 65_536, reasoning: true, image: true };
  return { ...model, cost, source: { url: 'https://ai.google.dev/gemini-api/docs/pricing', checked } };
}

/**
 * Well-known models and their list prices. The first of a provider is its default. A model has one price:
 * - of short prompts. GPT-5.4 with more than 272,000 tokens of input and Gemini 2.5 Pro with more than 200,000 cost up to twice as much, so the
 *   reported cost is a lower bound there;
 * - of standard processing and of cache entries that live 5 minutes. Other service tiers, regions and lifetimes have other prices;
 * - of peak hours at DeepSeek. The other hours cost half, so the reported cost is an upper bound.
 *
 * OpenAI’s models after GPT-5.4 are missing: in chat completions they refuse tools unless reasoning is off.
 */
export const PUBLISHED: readonly Published[] = [
  openai('gpt-5.4-mini', 'GPT-5.4 mini', { contextWindow: 400_000, maxTokens: 128_000, reasoning: true, cost: [0.75, 4.5, 0.075, 0] }),
  openai('gpt-5.4', 'GPT-5.4', { contextWindow: 1_050_000, maxTokens: 128_000, reasoning: true, cost: [2.5, 15, 0.25, 0] }),
  openai('gpt-5', 'GPT-5', { contextWindow: 400_000, maxTokens: 128_000, reasoning: true, cost: [1.25, 10, 0.125, 0] }),
  openai('gpt-5-mini', 'GPT-5 mini', { contextWindow: 400_000, maxTokens: 128_000, reasoning: true, cost: [0.25, 2, 0.025, 0] }),
  openai('gpt-4.1', 'GPT-4.1', { contextWindow: 1_047_576, maxTokens: 32_768, reasoning: false, cost: [2, 8, 0.5, 0] }),
  openai('gpt-4.1-mini', 'GPT-4.1 mini', { contextWindow: 1_047_576, maxTokens: 32_768, reasoning: false, cost: [0.4, 1.6, 0.1, 0] }),
  openai('gpt-4o', 'GPT-4o', { contextWindow: 128_000, maxTokens: 16_384, reasoning: false, cost: [2.5, 10, 1.25, 0] }),
  openai('gpt-4o-mini', 'GPT-4o mini', { contextWindow: 128_000, maxTokens: 16_384, reasoning: false, cost: [0.15, 0.6, 0.075, 0] }),
  anthropic('claude-sonnet-4-6', 'Claude Sonnet 4.6', LARGE, [3, 15, 0.3, 3.75]),
  anthropic('claude-opus-4-6', 'Claude Opus 4.6', LARGE, [5, 25, 0.5, 6.25]),
  anthropic('claude-sonnet-5-5', 'Claude Sonnet 5.5', LARGE, [2, 10, 0.1, 2.5]),
  anthropic('claude-opus-5-5', 'Claude Opus 5.5', LARGE, [4, 20, 0.2, 5]),
  anthropic('claude-sonnet-4-5', 'Claude Sonnet 4.5', SMALL, [3, 15, 0.3, 3.75]),
  anthropic('claude-haiku-4-5', 'Claude Haiku 4.5', SMALL, [1, 5, 0.1, 1.25]),
  google('gemini-3.5-flash-lite', 'Gemini 3.5 Flash-Lite', '2026-10-03', [0.3, 2.5, 0.03, 0]),
  google('gemini-2.5-flash', 'Gemini 2.5 Flash', '2026-10-08', [0.3, 2.5, 0.03, 0]),
  google('gemini-2.5-pro', 'Gemini 2.5 Pro', '2026-10-03', [1.25, 10, 0.125, 0]),
  google('gemini-2.5-flash-lite', 'Gemini 2.5 Flash-Lite', '2026-10-08', [0.1, 0.4, 0.01, 0]),
  {
    provider: 'deepseek',
    modelId: 'deepseek-flash',
    displayName: 'DeepSeek Flash',
    contextWindow: 1_000_000,
    maxTokens: 384_000,
    reasoning: true,
    image: true,
    cost: [0.3, 1.2, 0.006, 0],
    source: DEEPSEEK,
  },
  {
    provider: 'groq',
    modelId: 'openai/gpt-oss-120b',
    displayName: 'GPT-OSS 120B',
    contextWindow: 131_072,
    maxTokens: 65_536,
    reasoning: true,
    image: false,
    cost: [0.15, 0.6, 0.075, 0],
    source: GROQ,
  },
];
