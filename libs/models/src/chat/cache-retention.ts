import type { ModelRequest, ModelPreferences } from '../model/model.ts';

export type Retention = NonNullable<ModelPreferences['cacheRetention']>;

/** Returns the configured cache retention of a model, else the default of the agent. */
export function getRetention({ preferences = {}, model }: Pick<ModelRequest, 'preferences' | 'model'>): Retention {
  const { cacheRetention = 'none', cacheRetentionOverrides: overrides = {} } = preferences;
  const modelName = [`${model.provider}/${model.modelId}`, model.modelId].find((name) => Object.hasOwn(overrides, name));
  return (modelName === undefined ? undefined : overrides[modelName]) ?? cacheRetention;
}

/** The provider's value for each retention. Caching is automatic, so `none` has no value. */
export type RetentionValues = Readonly<Record<Retention, 'in_memory' | '24h' | undefined>>;

const SHORT_AND_LONG: RetentionValues = { none: undefined, short: 'in_memory', long: '24h' };
const LONG_ONLY: RetentionValues = { none: undefined, short: undefined, long: '24h' };

// As https://developers.openai.com/api/docs/guides/prompt-caching lists them under "Extended prompt cache retention".
// A list and not a pattern: models since gpt-5.6 reject the field.
const OPENAI_MODELS = new Map<string, RetentionValues>([
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
  ].map((modelId) => [modelId, SHORT_AND_LONG] as const),
  // These models reject `in_memory`: "compatible only with 24h extended prompt caching".
  ...['gpt-5.5', 'gpt-5.5-pro'].map((modelId) => [modelId, LONG_ONLY] as const),
]);

/** Returns the retention values of a model: documented ones on OpenAI's own host, else as configured. */
export function getRetentionValues(modelId: string, ownHost: boolean, configured: unknown): RetentionValues | undefined {
  if (configured === false) return undefined;
  const documented = ownHost ? OPENAI_MODELS.get(modelId) : undefined;
  return documented ?? (configured === true ? SHORT_AND_LONG : undefined);
}
