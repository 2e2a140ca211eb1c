import type { CallParams, CallResult } from '@switchyard/client';
import { getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark, table } from '../../output/output.ts';
import { minute } from '../../output/times.ts';

type Token = CallResult<'tokens.list'>['tokens'][number];
type Budgets = NonNullable<Token['budgets']>;

export async function listTokens({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('tokens.list', getText(flags, 'tenant', 'tenant') as CallParams<'tokens.list'>);
  if (output !== 'table') return printAs(output, answer);
  if (answer.tokens.length === 0) return remark('No active tokens.');
  const lines = answer.tokens.map((token) => [
    token.id,
    token.scopes.join(','),
    minute(token.createdAt),
    ends(token),
    limits(token).join('; '),
  ]);
  print(table(['TOKEN', 'SCOPES', 'MADE', 'ENDS', 'HELD TO'], lines));
}

function ends({ expiresAt }: Token): string {
  return expiresAt === undefined ? 'never' : minute(expiresAt);
}

/** Lists the restrictions of a token. */
function limits({ sessions, lenient, agents, budgets, mcpClient, declared }: Token): string[] {
  return [
    ...(sessions === 'own' ? ['its own sessions'] : []),
    ...(agents === undefined ? [] : [`agents ${agents.join(', ')}`]),
    ...(budgets === undefined ? [] : [describeBudgets(budgets)]),
    ...(mcpClient === undefined ? [] : [`tools ${mcpClient.allowlist.join(', ') || 'none'}`]),
    ...(lenient ? ['lenient'] : []),
    ...(declared === undefined ? [] : [`declared in ${declared}`]),
  ];
}

export function describeBudgets({ perHour, perDay, perHourUsd, perDayUsd }: Budgets): string {
  const parts: [number | undefined, string][] = [
    [perHour, ' tokens an hour'],
    [perDay, ' tokens a day'],
    [perHourUsd, ' US dollars an hour'],
    [perDayUsd, ' US dollars a day'],
  ];
  return parts.flatMap(([limit, description]) => (limit === undefined ? [] : [`${limit}${description}`])).join(', ');
}
