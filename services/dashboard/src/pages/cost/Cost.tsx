import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { PeriodSelect } from '../../parts/PeriodSelect.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { AgentCosts } from './AgentCosts.tsx';
import { HourlyTokens } from './HourlyTokens.tsx';

const DAY_MS = 86_400_000;
const PERIODS: Readonly<Record<string, [name: string, sinceMs: number | undefined]>> = {
  '': ['since the beginning', undefined],
  '1': ['of the last day', DAY_MS],
  '7': ['of the last seven days', 7 * DAY_MS],
  '30': ['of the last thirty days', 30 * DAY_MS],
};

/** What the model calls cost: in total, by provider and model, by agent, and by hour. */
export function Cost() {
  const [days, setDays] = useSearchText('days');
  const sinceMs = PERIODS[days]?.[1];
  const params = sinceMs === undefined ? {} : { sinceMs };
  const total = useCall('obs.billing.total', params, ['observability:token_usage']);
  const providers = useCall('obs.billing.byProvider', params, ['observability:token_usage']);
  return (
    <>
      <PeriodSelect label="Calls" value={days} periods={PERIODS} onChange={setDays} />
      <Loaded query={total}>
        {({ totalCost, totalTokens, callCount, totalCacheSaved, unknownCalls = 0, unpricedCalls = 0 }) => (
          <Facts
            facts={{
              Cost: formatUsd(totalCost),
              Tokens: formatCount(totalTokens),
              Calls: formatCount(callCount),
              'Saved by prompt caching': formatUsd(totalCacheSaved),
              'Calls without reported usage': unknownCalls > 0 ? formatCount(unknownCalls) : undefined,
              'Calls without a list price, counted as 0': unpricedCalls > 0 ? formatCount(unpricedCalls) : undefined,
            }}
          />
        )}
      </Loaded>
      <CopyAs method="obs.billing.total" params={params} />
      <Section title="Providers and models" needs={['obs.billing.byProvider']}>
        <Loaded query={providers}>
          {({ providers: all }) => (
            <DataTable
              label="models"
              columns={['provider', 'model', 'calls', 'tokens', 'cost']}
              rows={all.flatMap(({ provider, models, estimatedCostUsd, inputTokens, outputTokens, callCount }) =>
                (models ?? [{ model: 'all', cost: estimatedCostUsd, tokens: inputTokens + outputTokens, calls: callCount ?? 0 }]).map(
                  ({ model, cost, tokens, calls }) => ({
                    provider,
                    model,
                    calls: formatCount(calls),
                    tokens: formatCount(tokens),
                    cost: formatUsd(cost),
                  }),
                ),
              )}
            />
          )}
        </Loaded>
      </Section>
      <AgentCosts params={params} />
      <HourlyTokens />
      <PromptCache />
    </>
  );
}

function PromptCache() {
  const stats = useCall('obs.getCacheStats', {}, ['observability:token_usage']);
  return (
    <Section title="Prompt cache" needs={['obs.getCacheStats']}>
      <Loaded query={stats}>
        {({ totalHits, totalMisses, hitRate, estimatedSavingsUsd }) => (
          <Facts
            facts={{
              'Calls with cached tokens': `${formatCount(totalHits)} of ${formatCount(totalHits + totalMisses)} (${Math.round(hitRate * 100)} %)`,
              'Saved, estimated': formatUsd(estimatedSavingsUsd),
            }}
          />
        )}
      </Loaded>
    </Section>
  );
}
