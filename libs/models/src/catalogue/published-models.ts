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

/** Pages of the prices. A price that is compared with its page gets the day of the comparison. */
const OPENAI: PriceSource = { url: 'https://developers.openai.com/api/docs/pricing', checked: null };
const ANTHROPIC: PriceSource = { url: 'https://platform.claude.com/docs/en/about-claude/pricing', checked: null };
const GOOGLE: PriceSource = { url: 'https://ai.google.dev/gemini-api/docs/pricing', checked: null };
const DEEPSEEK: PriceSource = { url: 'https://api-docs.deepseek.com/quick_start/pricing', checked: null };
const GROQ: PriceSource = { url: 'https://groq.com/pricing', checked: null };

type OpenAiModel = Omit<Published, 'provider' | 'modelId' | 'displayName' | 'image' | 'source'>;

function openai(modelId: string, displayName: string, rest: OpenAiModel): Published {
  return { provider: 'openai', modelId, displayName, image: true, source: OPENAI, ...rest };
}

function anthropic(modelId: string, displayName: string, maxTokens: number, cost: Published['cost']): Published {
  const model = { provider: 'anthropic', modelId, displayName, contextWindow: 200_000, maxTokens, reasoning: true, image: true };
  return { ...model, cost, source: ANTHROPIC };
}

function google(modelId: string, displayName: string, cost: Published['cost']): Published {
  const model = { provider: 'google', modelId, displayName, contextWindow: 1_048_576, maxTokens: 65_536, reasoning: true, image: true };
  return { ...model, cost, source: GOOGLE };
}

/** Well-known models and their list prices. The first of a provider is its default. */
export const PUBLISHED: readonly Published[] = [
  openai('gpt-5.4-mini', 'GPT-5.4 mini', { contextWindow: 400_000, maxTokens: 128_000, reasoning: true, cost: [0.75, 4.5, 0.075, 0] }),
  openai('gpt-5.4', 'GPT-5.4', { contextWindow: 1_050_000, maxTokens: 128_000, reasoning: true, cost: [2.5, 15, 0.25, 0] }),
  openai('gpt-5', 'GPT-5', { contextWindow: 400_000, maxTokens: 128_000, reasoning: true, cost: [1.25, 10, 0.125, 0] }),
  openai('gpt-5-mini', 'GPT-5 mini', { contextWindow: 400_000, maxTokens: 128_000, reasoning: true, cost: [0.25, 2, 0.025, 0] }),
  openai('gpt-4.1', 'GPT-4.1', { contextWindow: 1_047_576, maxTokens: 32_768, reasoning: false, cost: [2, 8, 0.5, 0] }),
  openai('gpt-4.1-mini', 'GPT-4.1 mini', { contextWindow: 1_047_576, maxTokens: 32_768, reasoning: false, cost: [0.4, 1.6, 0.1, 0] }),
  openai('gpt-4o', 'GPT-4o', { contextWindow: 128_000, maxTokens: 16_384, reasoning: false, cost: [2.5, 10, 1.25, 0] }),
  openai('gpt-4o-mini', 'GPT-4o mini', { contextWindow: 128_000, maxTokens: 16_384, reasoning: false, cost: [0.15, 0.6, 0.075, 0] }),
  anthropic('claude-sonnet-4-6', 'Claude Sonnet 4.6', 64_000, [3, 15, 0.3, 3.75]),
  anthropic('claude-opus-4-6', 'Claude Opus 4.6', 64_000, [5, 25, 0.5, 6.25]),
  anthropic('claude-sonnet-4-5', 'Claude Sonnet 4.5', 64_000, [3, 15, 0.3, 3.75]),
  anthropic('claude-haiku-4-5', 'Claude Haiku 4.5', 64_000, [1, 5, 0.1, 1.25]),
  google('gemini-2.5-flash', 'Gemini 2.5 Flash', [0.3, 2.5, 0.03, 0]),
  google('gemini-2.5-pro', 'Gemini 2.5 Pro', [1.25, 10, 0.125, 0]),
  google('gemini-2.5-flash-lite', 'Gemini 2.5 Flash-Lite', [0.1, 0.4, 0.01, 0]),
  {
    provider: 'deepseek',
    modelId: 'deepseek-chat',
    displayName: 'DeepSeek Chat',
    contextWindow: 128_000,
    maxTokens: 8_192,
    reasoning: false,
    image: false,
    cost: [0.28, 0.42, 0.028, 0],
    source: DEEPSEEK,
  },
  {
    provider: 'groq',
    modelId: 'llama-3.3-70b-versatile',
    displayName: 'Llama 3.3 70B',
    contextWindow: 131_072,
    maxTokens: 32_768,
    reasoning: false,
    image: false,
    cost: [0.59, 0.79, 0, 0],
    source: GROQ,
  },
];
