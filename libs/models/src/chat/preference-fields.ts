import type { ModelRequest } from '../model/model.ts';
import type { Dialect } from './dialect.ts';
import { retentionOf } from './cache-retention.ts';

/** What an agent wishes beside an answer, as this upstream has words for it. What it has none for is not said: it would refuse. */
export function wishesTold(request: Pick<ModelRequest, 'wishes' | 'model'>, dialect: Dialect): object {
  const { wishes } = request;
  if (wishes === undefined) return {};
  const { thinkingLevel, fastMode, storeCompletions } = wishes;
  return {
    ...(thinkingLevel !== undefined && dialect.effort ? { reasoning_effort: thinkingLevel === 'off' ? 'none' : thinkingLevel } : {}),
    ...(fastMode === true && dialect.family === 'openai' ? { service_tier: 'priority' } : {}),
    ...(storeCompletions === true && dialect.store ? { store: true } : {}),
    ...(dialect.retentions === undefined ? {} : { prompt_cache_retention: dialect.retentions[retentionOf(request)] }),
  };
}
