import type { CountedUsage } from '../model/adapter.ts';
import { amountOf, membersOf } from '../http/json-fields.ts';

/** What an upstream counted. The names beside the standard ones are those of upstreams that have words of their own for it. */
export function readUsage(said: unknown): CountedUsage {
  const usage = membersOf(said);
  const details = membersOf(usage['prompt_tokens_details']);
  const counted: CountedUsage = {};
  const put = (name: keyof CountedUsage, value: number | undefined): void => {
    if (value !== undefined) counted[name] = value;
  };
  put('input', amountOf(usage['prompt_tokens']));
  put('output', amountOf(usage['completion_tokens']));
  put('cacheRead', amountOf(details['cached_tokens']) ?? amountOf(usage['prompt_cache_hit_tokens']) ?? amountOf(usage['cached_tokens']));
  put('cacheWrite', amountOf(details['cache_write_tokens']) ?? amountOf(usage['cache_creation_input_tokens']));
  put('costUsd', costOf(usage['cost']));
  return counted;
}

/** USD, as one number or as the sum of several. */
function costOf(cost: unknown): number | undefined {
  return amountOf(cost) ?? amountOf(membersOf(cost)['total_cost']);
}
