import type { ModelRequest, Wishes } from '../model/model.ts';

export type Retention = NonNullable<Wishes['cacheRetention']>;

/** For how long an upstream is to keep what it read: as is said for this model, else for all. */
export function retentionOf({ wishes = {}, model }: Pick<ModelRequest, 'wishes' | 'model'>): Retention {
  const { cacheRetention = 'none', cacheRetentionOverrides: overrides = {} } = wishes;
  const named = [`${model.provider}/${model.modelId}`, model.modelId].find((name) => Object.hasOwn(overrides, name));
  return (named === undefined ? undefined : overrides[named]) ?? cacheRetention;
}

/** The word for each retention, where an upstream has one. It keeps what it read by itself, so that `none` says nothing. */
export type RetentionWords = Readonly<Record<Retention, 'in_memory' | '24h' | undefined>>;

const SAYS_BOTH: RetentionWords = { none: undefined, short: 'in_memory', long: '24h' };
const SAYS_LONG_ONLY: RetentionWords = { none: undefined, short: undefined, long: '24h' };

// As https://developers.openai.com/api/docs/guides/prompt-caching lists them under "Extended prompt cache retention".
// Names, not a pattern: models since gpt-5.6 no longer know the field, and one that does not know it refuses the request.
const OPENAI_MODELS = new Map<string, RetentionWords>([
  ...[
    'gpt-5.4',
    'gpt-5.2',
    'gpt-5.1-codex-max',
    'gpt-5.1',
    'gpt-5.1-codex',
    'gpt-5.1-codex-mini',
    'gpt-5.1-chat-latest',
    'gpt-5',
    'gpt-5-codex',
    'gpt-4.1',
  ].map((modelId) => [modelId, SAYS_BOTH] as const),
  // These refuse `in_memory`: "compatible only with 24h extended prompt caching".
  ...['gpt-5.5', 'gpt-5.5-pro'].map((modelId) => [modelId, SAYS_LONG_ONLY] as const),
]);

/** What a model can be told about keeping: by the documentation of OpenAI at its own host, elsewhere and otherwise as its entry says. */
export function retentionWords(modelId: string, ownHost: boolean, saidOfModel: unknown): RetentionWords | undefined {
  if (saidOfModel === false) return undefined;
  const documented = ownHost ? OPENAI_MODELS.get(modelId) : undefined;
  return documented ?? (saidOfModel === true ? SAYS_BOTH : undefined);
}
