import type { CallResult } from '@switchyard/client';
import { print, printAs, remark, table } from '../../output/output.ts';
import { dollars, parsePeriod, reportCommand } from './report-command.ts';

type Provider = CallResult<'obs.billing.byProvider'>['providers'][number];
type Model = NonNullable<Provider['models']>[number];

export const cost = reportCommand({
  name: 'cost',
  about: 'Shows usage and estimated cost by provider and model. --csv prints one line per model, to compare with an invoice.',
  flags: [['since', 'period', 'window such as 24h or 30d; default: all that is stored']],
  switches: [['csv', 'comma-separated values']],
  examples: ['cost', 'cost --since 30d --csv'],
  async run(call, { flags, output }) {
    const since = flags['since'];
    const answer = await call('obs.billing.byProvider', since === undefined ? {} : { sinceMs: parsePeriod(since, 'since') });
    if (flags['csv'] !== undefined) return print(toCsv(answer.providers));
    if (output !== 'table') return printAs(output, answer);
    if (answer.providers.length === 0) return remark('No model was called.');
    const lines = answer.providers.flatMap((provider) => (provider.models ?? []).map((model) => toLine(provider, model)));
    print(table(['PROVIDER', 'MODEL', 'CALLS', 'TOKENS', 'COST', 'PRICE CHECKED'], lines));
    for (const gap of describeGaps(answer.providers)) remark(gap);
  },
});

function toLine({ provider }: Provider, { model, calls, tokens, cost: usd, priceSource }: Model): string[] {
  return [provider, model, String(calls), String(tokens), dollars(usd), priceSource?.checked ?? ''];
}

function describeGaps(providers: readonly Provider[]): string[] {
  const sum = (field: 'unknownCalls' | 'unpricedCalls'): number => providers.reduce((total, row) => total + (row[field] ?? 0), 0);
  const [unknown, unpriced] = [sum('unknownCalls'), sum('unpricedCalls')];
  return [
    ...(unknown > 0 ? [`${unknown} calls reported no usage; the invoice may be higher.`] : []),
    ...(unpriced > 0 ? [`${unpriced} calls used models without a list price; their cost is unknown and not included.`] : []),
  ];
}

/** Columns of the CSV output and their fields. */
const COLUMNS = {
  model: 'model',
  calls: 'calls',
  tokens: 'tokens',
  cost_usd: 'cost',
  input_tokens: 'inputTokens',
  output_tokens: 'outputTokens',
  cache_read_tokens: 'cacheReadTokens',
  cache_write_tokens: 'cacheWriteTokens',
  unknown_calls: 'unknownCalls',
  unpriced_calls: 'unpricedCalls',
} as const satisfies Record<string, Exclude<keyof Model, 'priceSource'>>;

/** A cell is empty if the server does not know the column. */
function toCsv(providers: readonly Provider[]): string {
  const lines = providers.flatMap(({ provider, models = [] }) =>
    models.map((model) => [
      provider,
      ...Object.values(COLUMNS).map((field) => String(model[field] ?? '')),
      model.priceSource?.url ?? '',
      model.priceSource?.checked ?? '',
    ]),
  );
  return [['provider', ...Object.keys(COLUMNS), 'price_source', 'price_checked'], ...lines]
    .map((line) => `${line.map(quote).join(',')}\n`)
    .join('');
}

/** Quotes a cell (RFC 4180). A leading formula character is escaped, because names come from the configuration. */
function quote(cell: string): string {
  const safe = /^[=+@-]/.test(cell) && Number.isNaN(Number(cell)) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
