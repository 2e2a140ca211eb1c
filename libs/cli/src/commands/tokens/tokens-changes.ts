import type { CallParams } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { wrongUsage } from '../../output/failure.ts';
import { getInstant, getList, getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';

type Budgets = NonNullable<CallParams<'tokens.create'>['budgets']>;

export async function createToken({ call, flags, output }: CommandContext, id: string): Promise<void> {
  const { scopes = 'rpc', own, lenient, agents, expires, budget } = flags;
  const request = {
    id,
    scopes: getList(scopes),
    ...(own === undefined ? {} : { sessions: 'own' }),
    ...(lenient === undefined ? {} : { lenient: true }),
    ...(agents === undefined ? {} : { agents: getList(agents) }),
    ...(expires === undefined ? {} : { expiresAt: new Date(getInstant(expires, 'expires')).toISOString() }),
    ...(budget === undefined ? {} : { budgets: getBudgets(budget) }),
    ...getMcpClient(flags),
    ...getText(flags, 'tenant', 'tenant'),
  };
  const answer = await call('tokens.create', request as CallParams<'tokens.create'>);
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.secret}\n`);
  remark(`Created token ${answer.id} with scopes ${answer.scopes.join(', ')}. Its secret is shown only once:`);
}

export async function rotateToken({ call, flags, output }: CommandContext, id: string): Promise<void> {
  const answer = await call('tokens.rotate', { id, ...getText(flags, 'tenant', 'tenant') });
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.secret}\n`);
  remark(`Rotated token ${answer.id}. The old secret is invalid. The new secret is shown only once:`);
}

export async function revokeToken({ call, flags, output }: CommandContext, id: string): Promise<void> {
  await confirm(`This revokes token ${id}. Its clients lose access immediately.`, flags, `${self()} tokens rotate ${quote(id)}`);
  const answer = await call('tokens.revoke', { id, ...getText(flags, 'tenant', 'tenant') });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.id} is ended\n`);
}

function getMcpClient({ tools, sessions }: CommandContext['flags']): { mcpClient?: object } {
  if (tools === undefined && sessions === undefined) return {};
  return { mcpClient: { allowlist: getList(tools ?? ''), ...(sessions === undefined ? {} : { sessionAllowlist: getList(sessions) }) } };
}

const LIMITS = { hour: { tokens: 'perHour', usd: 'perHourUsd' }, day: { tokens: 'perDay', usd: 'perDayUsd' } } as const;

/** Parses budgets such as `200000/hour,5usd/day`. */
export function getBudgets(text: string): Budgets {
  const budgets: Budgets = {};
  for (const part of getList(text)) {
    const [, amount, money, span] = /^(\d+(?:\.\d+)?)(usd)?\/(hour|day)$/i.exec(part) ?? [];
    const name = span === undefined ? undefined : LIMITS[span.toLowerCase() as 'hour' | 'day'][money === undefined ? 'tokens' : 'usd'];
    if (name === undefined || name in budgets) throw createBudgetError(part);
    budgets[name] = Number(amount);
  }
  return budgets;
}

function createBudgetError(part: string): Error {
  return wrongUsage(`--budget must be like 200000/hour,5usd/day with each unit once, not ${part}.`, `${self()} tokens create --help`);
}
